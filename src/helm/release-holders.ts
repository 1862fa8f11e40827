import { createHash } from 'node:crypto'
import type { Client } from '../client/client.ts'
import { configMaps, secrets } from '../kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../kube/object.ts'
import type { Actor, Refusal } from '../tenancy/act-as.ts'
import { accessTo } from '../tenancy/confinement.ts'
import type { Release } from './release.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { readRelease, releaseLabels, revisionOf, type ReadRelease, type ReleaseRecord } from './release-record.ts'

/** Where the records of a release are, and who reads them. */
export interface ReleasePlace {
  readonly client: Client
  readonly actor: Actor
  readonly namespace: string
  readonly release: Release
}

/** The records of a release cannot be listed. */
export class RecordsUnavailable extends Error {
  override readonly name = 'RecordsUnavailable'
}

/** Whether any of these releases has a record. A list that fails or is refused counts as a record: unknown means installed. */
export async function isAnyInstalled(
  place: Omit<ReleasePlace, 'release'>,
  releases: readonly Release[],
): Promise<boolean> {
  const found = await Promise.all(
    releases.map(async (release) => {
      const at = { ...place, release }
      return (await refusalToRead(at)) ? undefined : readHolders(at).catch(() => undefined)
    }),
  )
  return found.some((holders) => holders?.length !== 0)
}

/** Why the identity behind the Cleaner may not read the records. */
export async function refusalToRead({ actor, namespace, release }: ReleasePlace): Promise<Refusal | undefined> {
  const type = holderTypes[release.driver]
  for (const verb of ['list', 'get']) {
    const refusal = await actor.refusalOf(accessTo(verb, type, { namespace }))
    if (refusal) return refusal
  }
  return undefined
}

/** All revisions of a release, oldest first. */
export async function readHolders({
  client,
  namespace,
  release,
}: Omit<ReleasePlace, 'actor'>): Promise<readonly StoredObject[]> {
  const type = holderTypes[release.driver]
  const holders: StoredObject[] = []
  try {
    const options = { namespace, labelSelector: releaseLabels(release.name) }
    for await (const page of client.listAll(type, options))
      for (const item of page.items) holders.push({ ...item, apiVersion: 'v1', kind: type.kind })
  } catch (error) {
    throw new RecordsUnavailable((error as Error).message, { cause: error })
  }
  return holders.toSorted((left, right) => revisionOf(left) - revisionOf(right))
}

/** The newest record that can be read and says that it is of this release, or why there is none. */
export async function newestReadable(
  holders: readonly StoredObject[],
  { namespace, release }: Pick<ReleasePlace, 'namespace' | 'release'>,
): Promise<{ readonly record?: ReadRelease; readonly fault: string }> {
  const faults: string[] = []
  for (const holder of holders.toReversed()) {
    const refused = (why: string) => faults.push(`${holder.kind} ${holder.metadata.name}: ${why}`)
    try {
      const record = await readRelease(holder)
      if (record.name === release.name && ['', namespace].includes(record.namespace)) return { record, fault: '' }
      refused('it is of another release')
    } catch (error) {
      // Fall back to the next older revision, unless it is only now that this one cannot be read.
      if (!(error instanceof ParseRefusal) || !error.isFinal) throw error
      refused(error.message)
    }
  }
  return { fault: faults[0] ?? 'there is none' }
}

/** What a record asks for, as one short text: an uninstall carries out what was decided, or nothing. Empty without a record. */
export function digestOf(record: ReleaseRecord | undefined): string {
  if (!record) return ''
  const { version, manifest, hooks } = record
  return createHash('sha256')
    .update(JSON.stringify([version, manifest, hooks]))
    .digest('hex')
}

const holderTypes: Readonly<Record<Release['driver'], ResourceType>> = { secret: secrets, configmap: configMaps }

export function typeOfHolder({ kind }: KubeObject): ResourceType {
  return kind === 'Secret' ? holderTypes.secret : holderTypes.configmap
}
