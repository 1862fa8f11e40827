import { bond, type Bond } from '../../apis/bond.ts'
import type { Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, parseApiVersion, refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { matches, requirementsOf } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { RecordIndex } from './restore-set.ts'
import type { PageLine } from '../records/pages.ts'

/** Existing Bonds that a restore affects. */
export interface BondsAround {
  /** Bonds pinned to the old uid of an object that is restored. */
  readonly pinned: readonly Bond[]
  /** Restored objects that a Bond would delete again at once. */
  readonly problems: readonly string[]
}

export interface BondsAroundOptions {
  readonly record: Departure
  readonly lines: readonly PageLine[]
  readonly index: RecordIndex
}

/** Checks the Bonds of all namespaces, or of the record's namespace if the caller may not list more. */
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
 * Clears the uid that Bonds are pinned to, so that they find the restored dependency and pin that. Until then they delete no dependents. A Bond that the
 * caller may not write is skipped, with a note, if none of its dependents is restored.
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
      await client.merge(bond.type, { name, namespace }, { status }, { subresource: 'status' })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) continue
      if (!isStatusError(error, 'Forbidden') || lines.some(({ manifest }) => speaksFor(each, manifest))) throw error
      notes.push(
        `${describeRef(refOf(each))} does not protect the restored object, and you may not change it: create the Bond again`,
      )
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

/** Restored objects that a Bond would delete at once, because its dependency is gone. */
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
      ? `restore ${record.name} instead, which includes it`
      : 'delete the Bond first'
  return dependents.map(
    ({ manifest }) =>
      `${describeRef(refOf(self))} would delete ${describeRef(refOf(manifest))} again, because its dependency ${kind} ${name} is gone: ${remedy}`,
  )
}

function speaksFor({ spec, metadata }: Bond, manifest: KubeObject): boolean {
  const { apiVersion, kind, name, selector } = spec.dependent
  if (manifest.kind.toLowerCase() !== kind.toLowerCase()) return false
  if (parseApiVersion(manifest.apiVersion).group !== parseApiVersion(apiVersion).group) return false
  // Only a Bond in our namespace may have a cluster-scoped dependent.
  if ((manifest.metadata.namespace ?? sojournNamespace) !== metadata.namespace) return false
  if (name !== undefined) return manifest.metadata.name === name
  try {
    return selector !== undefined && matches(requirementsOf(selector), manifest.metadata.labels)
  } catch (error) {
    // A Bond with an invalid selector deletes nothing.
    if (isStatusError(error)) return false
    throw error
  }
}

/** Whether the object that a Bond is pinned to exists and is not being deleted. True if it cannot be read. */
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
