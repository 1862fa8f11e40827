import { departurePage, type DeparturePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, parseApiVersion, refOf, type ObjectRef } from '../../kube/object.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'
import { linesOn } from '../records/pages.ts'

/** The record of a deleted object. */
export interface FoundRecord {
  readonly record: Departure
  /** `Cleaner/NAME`: the decision that deleted it, where the record holds several. */
  readonly decidedBy?: string
}

/** A deleted object as a user names it. */
export interface DeletedObject {
  readonly kind: string
  /** Any, if the user named none. */
  readonly group?: string
  readonly namespace?: string
  readonly name: string
}

/** The newest record that a restore of this object needs. Throws NotFound where there is none, and Invalid where it can only come back with its owner. */
export async function findRecord(client: Client, wanted: DeletedObject): Promise<FoundRecord> {
  const found: FoundRecord[] = []
  const together: FoundRecord[] = []
  for (const namespace of new Set([wanted.namespace ?? sojournNamespace, sojournNamespace])) {
    const records = new Map<string, Departure>()
    for await (const record of all<Departure>(client, departure.type, namespace)) {
      const { object, because } = record.spec
      if (record.status?.phase === 'Abandoned' || record.spec.page) continue
      records.set(record.metadata.name, record)
      if (!object.cluster && isSame(object, wanted))
        found.push({
          record,
          ...(because === 'expired-together' ? { decidedBy: `${object.kind}/${object.name}` } : {}),
        })
    }
    for await (const { spec } of all<DeparturePage>(client, departurePage.type, namespace)) {
      const line = (await linesOn(spec.manifests)).find(({ manifest }) => isSame(refOf(manifest), wanted))
      const record = records.get(spec.of)
      if (!line || !record) continue
      if (line.decidedBy === undefined) together.push({ record })
      else found.push({ record, decidedBy: line.decidedBy })
    }
  }
  const [newest] = found.toSorted(newestFirst)
  if (newest) return newest
  const [other] = together.toSorted(newestFirst)
  if (!other) throw new StatusError('NotFound', `no deletion of ${nameOf(wanted)} is recorded`)
  const { metadata, spec } = other.record
  const told = `${nameOf(wanted)} was deleted with ${describeRef(spec.object)}: run "sojourn restore ${metadata.name} -n ${metadata.namespace}", which restores all of it`
  throw new StatusError('Invalid', told)
}

async function* all<T>(client: Client, type: Parameters<Client['list']>[0], namespace: string): AsyncGenerator<T> {
  try {
    for await (const { items } of client.listAll(type, { namespace })) yield* items as unknown as T[]
  } catch (error) {
    // Records of namespaces and their contents are for those who may read them.
    if (namespace !== sojournNamespace) throw error
    ignoring('Forbidden')(error)
  }
}

function isSame(found: ObjectRef, wanted: DeletedObject): boolean {
  const { group = parseApiVersion(found.apiVersion).group } = wanted
  return parseApiVersion(found.apiVersion).group === group && nameOf(found) === nameOf(wanted)
}

function nameOf({ kind, namespace, name }: DeletedObject): string {
  return namespace === undefined ? `${kind}/${name}` : `${kind}/${namespace}/${name}`
}

function newestFirst(left: FoundRecord, right: FoundRecord): number {
  const at = ({ record }: FoundRecord) => parseTime(record.spec.recordedAt) ?? 0
  return at(right) - at(left)
}
