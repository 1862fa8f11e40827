import { departure, type Departure } from '../../apis/departure.ts'
import type { EnvironmentClass } from '../../apis/environment-class.ts'
import type { Environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import { readPages } from '../../departures/records/pages.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Amounts } from '../../kube/basics/requests.ts'
import { pricedParts, type PricedPart } from '../../prices/aws-prices.ts'
import { releasedBy, releasingKinds } from './decision/released.ts'

/** What one record says was deleted, and whose it was. */
export interface Departed {
  readonly items: readonly Item[]
  readonly owner?: string | undefined
  readonly class?: string | undefined
}

interface Item extends Readonly<Record<'uid' | 'kind' | 'namespace' | 'name', string>> {
  readonly amounts: Amounts
  readonly parts: readonly PricedPart[] | undefined
}

/** Reads a record and its pages. */
export async function readDeparted(
  client: Client,
  { metadata, spec }: Departure,
  classOf: (name: string) => EnvironmentClass | undefined,
): Promise<Departed> {
  const { kind, uid } = spec.object
  // Most records are about objects that use nothing.
  if (!spec.pages && !releasingKinds.has(kind)) return { items: [] }
  const { namespace = '', name } = metadata
  const record = await client.get<Departure>(departure.type, { namespace, name })
  const manifest = record.spec.manifest as KubeObject | undefined
  const lines = manifest ? [{ uid, manifest }] : []
  for await (const line of readPages(client, record)) lines.push(line)
  const found = lines.find((line) => line.manifest.kind === 'Environment')?.manifest as Environment | undefined
  const rule = spec.by.object?.kind === 'EnvironmentClass' ? spec.by.object.name : undefined
  const className = found?.spec.className ?? rule
  const { annotation = 'sojourn.dev/owner', default: fallback } = classOf(className ?? '')?.spec.owner ?? {}
  const owner = found?.spec.owner ?? manifest?.metadata.annotations?.[annotation] ?? fallback
  const items = lines.flatMap(({ uid: of, manifest: { metadata: at, ...its } }) => {
    const amounts = releasedBy({ metadata: at, ...its })
    if (!amounts) return []
    const parts = pricedParts(its.kind, its.spec)
    return [{ uid: of, kind: its.kind, namespace: at.namespace ?? '', name: at.name ?? '', amounts, parts }]
  })
  return { items, owner, class: className }
}
