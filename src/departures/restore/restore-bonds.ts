import { bond, type Bond } from '../../apis/bond.ts'
import type { Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, parseApiVersion, refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { matches, requirementsOf } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { RecordIndex } from './restore-set.ts'
import type { PageLine } from '../records/pages.ts'

/** What Bonds that are there have to do with what comes back. */
export interface BondsAround {
  /** Pinned to something that comes back, as another one. */
  readonly pinned: readonly Bond[]
  /** What they would let leave again at once. */
  readonly problems: readonly string[]
}

export interface BondsAroundOptions {
  readonly record: Departure
  readonly lines: readonly PageLine[]
  readonly index: RecordIndex
}

/** Looks at the Bonds of all namespaces, or of the record's for who may not look at more. */
export async function bondsAround(client: Client, options: BondsAroundOptions): Promise<BondsAround> {
  const { record, lines } = options
  const coming = new Set(lines.map(({ uid }) => uid))
  const { cluster = '' } = record.spec.object
  const pinned: Bond[] = []
  const problems: string[] = []
  for (const each of await bondsOf(client, record.metadata.namespace ?? '')) {
    const { spec, status, metadata } = each
    const uid = spec.dependency.uid ?? status?.dependencyUid
    if (uid === undefined || metadata.deletionTimestamp) continue
    const isComing = coming.has(uid) && (spec.dependency.cluster ?? '') === cluster
    if (isComing && spec.dependency.uid === undefined) pinned.push(each)
    // Dependents are in the Bond's own cluster.
    else if (cluster === '') problems.push(...(await takenAgain(client, { ...options, self: each, uid })))
  }
  return { pinned, problems }
}

/**
 * Lets Bonds forget what they were pinned to: the one that comes back is found and pinned as any other. Meanwhile they take nobody along. One that is not
 * ours to write stays as it is where it has nobody to take; a note says so.
 */
export async function unpin(
  client: Client,
  bonds: readonly Bond[],
  lines: readonly PageLine[],
): Promise<readonly string[]> {
  const notes: string[] = []
  const status = { phase: 'Pending', dependencyUid: null, dependencyNamespace: null }
  for (const each of bonds) {
    const { name, namespace = '' } = each.metadata
    try {
      await client.patch(bond.type, { name, namespace }, { type: 'merge', body: { status } }, { subresource: 'status' })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) continue
      if (!isStatusError(error, 'Forbidden') || lines.some(({ manifest }) => speaksFor(each, manifest))) throw error
      notes.push(`${describeRef(refOf(each))} does not bind what is back, and you may not change that: make it anew`)
    }
  }
  return notes
}

async function bondsOf(client: Client, namespace: string): Promise<readonly Bond[]> {
  const found: Bond[] = []
  try {
    for await (const { items } of client.listAll<Bond>(bond.type)) found.push(...items)
    return found
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return []
    if (!isStatusError(error, 'Forbidden')) throw error
  }
  for await (const { items } of client.listAll<Bond>(bond.type, { namespace })) found.push(...items)
  return found
}

/** What a Bond would let leave as soon as it is back, because what it needs is not. */
async function takenAgain(
  client: Client,
  { self, uid, lines, index }: BondsAroundOptions & { readonly self: Bond; readonly uid: string },
): Promise<readonly string[]> {
  const { dependency, onDelete } = self.spec
  if (onDelete !== 'Cascade' || dependency.cluster) return []
  const dependents = lines.filter(({ manifest }) => speaksFor(self, manifest))
  if (dependents.length === 0 || (await isThere(client, self, uid))) return []
  const { apiVersion, kind, name, namespace = self.metadata.namespace ?? '' } = dependency
  const record = index.find('', { uid, manifest: { apiVersion, kind, metadata: { name, namespace } } })
  const remedy =
    record && dependency.uid === undefined
      ? `restore ${record.name}, with which it comes back, too`
      : 'delete the Bond first'
  return dependents.map(
    ({ manifest }) =>
      `${describeRef(refOf(self))} would let ${describeRef(refOf(manifest))} leave again, for the ${kind} ${name} that it needs is gone: ${remedy}`,
  )
}

function speaksFor({ spec, metadata }: Bond, manifest: KubeObject): boolean {
  const { apiVersion, kind, name, selector } = spec.dependent
  if (manifest.kind.toLowerCase() !== kind.toLowerCase()) return false
  if (parseApiVersion(manifest.apiVersion).group !== parseApiVersion(apiVersion).group) return false
  // For what has no namespace only a Bond in ours may speak.
  if ((manifest.metadata.namespace ?? sojournNamespace) !== metadata.namespace) return false
  if (name !== undefined) return manifest.metadata.name === name
  try {
    return selector !== undefined && matches(requirementsOf(selector), manifest.metadata.labels)
  } catch (error) {
    // By a selector that cannot be read nobody is taken along.
    if (isStatusError(error)) return false
    throw error
  }
}

/** Whether the very object that a Bond is pinned to is there to stay; what cannot be read is taken for it. */
async function isThere(client: Client, { spec, metadata }: Bond, uid: string): Promise<boolean> {
  const { name, namespace = metadata.namespace ?? '' } = spec.dependency
  try {
    const type = await client.discovery.typeOf(spec.dependency)
    if (!type) return true
    const place = { name, ...(type.namespaced ? { namespace } : {}) }
    const found = await client.get<StoredObject>(type, place, { metadataOnly: true })
    return found.metadata.uid === uid && found.metadata.deletionTimestamp === undefined
  } catch (error) {
    if (!isStatusError(error)) throw error
    return error.reason !== 'NotFound'
  }
}
