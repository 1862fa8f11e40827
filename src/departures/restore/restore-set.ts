import { isBond } from '../../apis/bond-guard.ts'
import { cleanerKinds } from '../../apis/cleaner-kinds.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError, StatusError } from '../../kube/status-error.ts'
import { DataOpener, type RestoredLine } from './data-opener.ts'
import { readPages, type PageLine } from '../records/pages.ts'
import { followsLabel, pageLabel, recordName, recordNamespace } from '../records/record.ts'

/** The objects of one restore, by record. The requested record is the first. */
export type RestoreSet = ReadonlyMap<Departure, readonly RestoredLine[]>

/**
 * The objects of a record and, transitively, of the records of objects that were deleted because of them: dependents by owner reference of the objects of a
 * deleted kind, and dependents by Bond. Of several objects that had the same name in turn, only the last is restored.
 */
export async function restoreSetOf(
  client: Client,
  record: Departure,
  { index, decidedBy }: { readonly index: RecordIndex; readonly decidedBy?: string | undefined },
): Promise<RestoreSet> {
  const opener = new DataOpener(client)
  const taken = new Set<string>()
  const found = new Map([[placeOfRecord(record.metadata), record]])
  const restoreSet = new Map<Departure, RestoredLine[]>([[record, []]])
  // Grows while it is gone through.
  for (const each of found.values())
    for (const line of await linesOf(client, each, { opener, isAskedFor: each === record, decidedBy })) {
      const place = placeOf(line)
      if (taken.has(place) || taken.has(line.uid)) continue
      taken.add(place).add(line.uid)
      restoreSet.getOrInsert(each, []).push(line)
      for (const metadata of index.about(record.spec.object.cluster ?? '', line)) {
        const at = placeOfRecord(metadata)
        if (found.has(at)) continue
        const { namespace = '', name } = metadata
        const other = await client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
        if (other && other.status?.phase !== 'Abandoned') found.set(at, other)
      }
    }
  return restoreSet
}

/** The metadata of all readable records. */
export class RecordIndex {
  /** By namespace and name. */
  readonly #byPlace = new Map<string, StoredObject['metadata']>()
  /** By the uid of the dependency that the recorded object followed. */
  readonly #followers = new Map<string, StoredObject['metadata'][]>()

  /** Reads the records of all namespaces, or of one if the caller may not list more. */
  static async read(client: Client, namespace: string): Promise<RecordIndex> {
    const index = new RecordIndex()
    const only = { labelSelector: `!${pageLabel}`, metadataOnly: true }
    try {
      for await (const { items } of client.listAll(departure.type, only)) index.#add(items)
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      for await (const { items } of client.listAll(departure.type, { ...only, namespace })) index.#add(items)
    }
    return index
  }

  /** The record of an object with this uid, in the object's namespace or in ours. A record of that name in another namespace is not trusted. */
  find(cluster: string, { uid, manifest }: PageLine): StoredObject['metadata'] | undefined {
    const name = recordName(cluster, { ...manifest, metadata: { ...manifest.metadata, uid } })
    return [recordNamespace(cluster, manifest), sojournNamespace]
      .map((namespace) => this.#byPlace.get(placeOfRecord({ namespace, name })))
      .find((found) => found !== undefined)
  }

  /** The object's own record, then those of objects that followed it, newest first. */
  about(cluster: string, line: PageLine): readonly StoredObject['metadata'][] {
    const own = this.find(cluster, line)
    const followers = this.#followers.get(line.uid) ?? []
    return [...(own ? [own] : []), ...followers.toSorted(newestFirst)]
  }

  #add(records: readonly StoredObject[]): void {
    for (const { metadata } of records) {
      this.#byPlace.set(placeOfRecord(metadata), metadata)
      const needed = metadata.labels?.[followsLabel]
      if (needed !== undefined) this.#followers.set(needed, [...(this.#followers.get(needed) ?? []), metadata])
    }
  }
}

interface Asked {
  readonly opener: DataOpener
  readonly isAskedFor: boolean
  /** Only what this Cleaner decided, of the record that is asked for. */
  readonly decidedBy?: string | undefined
}

async function linesOf(
  client: Client,
  record: Departure,
  { opener, isAskedFor, decidedBy }: Asked,
): Promise<readonly RestoredLine[]> {
  const { manifest, object, page, sealed } = record.spec
  if (page) throw new StatusError('Invalid', `${record.metadata.name} is a page of ${page.of}: restore that one`)
  if (!manifest && !record.spec.pages && isAskedFor) throw new StatusError('Invalid', 'the record holds no manifest')
  const isAll = decidedBy === undefined || !isAskedFor
  const lines: PageLine[] =
    manifest && (isAll || decidedBy === `${object.kind}/${object.name}`)
      ? [{ uid: object.uid, manifest: manifest as unknown as KubeObject, ...(sealed ? { sealed } : {}) }]
      : []
  for await (const line of readPages(client, record))
    if (!isDecider(record, line) && (isAll || decidedBy === line.decidedBy)) lines.push(line)
  const stray = lines.find((line) => !isAtHome(record, line))
  if (stray && !isAskedFor) return []
  if (stray)
    throw new StatusError(
      'Invalid',
      `nothing was restored: the record is in namespace ${record.metadata.namespace} and may not restore ${describeRef(refOf(stray.manifest))}, which is not`,
    )
  // A writer that crashed may have left a page that was written again later: of two manifests of an object the last counts.
  const byPlace = new Map(lines.map((line) => [placeOf(line), line]))
  const opened = await Promise.all([...byPlace.values()].map((line) => opener.open(line)))
  return opened.map((line) => ({ ...line, manifest: suspended(record, line.manifest) }))
}

/** A Cleaner whose decision was carried out is restored suspended: it would delete the rest again. */
function suspended({ spec }: Departure, manifest: KubeObject): KubeObject {
  const isCleaner = cleanerKinds.some(
    ({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind,
  )
  if (!isCleaner || !isEndedCleaner(spec)) return manifest
  return { ...manifest, spec: { ...(manifest.spec as object), suspend: true } }
}

/** Whether a record is that of a Cleaner which deleted itself: its restore brings its decision's objects back. */
export function isEndedCleaner({ object, by }: Departure['spec']): boolean {
  const isOwn = by.object !== undefined && describeRef(by.object) === describeRef(object)
  return isOwn && by.system === 'cleaner'
}

/** A user who may write records in a namespace must not gain the right to create objects elsewhere by a restore. */
function isAtHome({ metadata, spec }: Departure, { manifest }: PageLine): boolean {
  return (
    metadata.namespace === sojournNamespace ||
    (!spec.object.cluster && manifest.metadata.namespace === metadata.namespace)
  )
}

function placeOfRecord({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace}/${name}`
}

/** Kind, namespace and name: only one object can have them at a time. */
function placeOf({ manifest }: PageLine): string {
  return `${manifest.apiVersion} ${describeRef(refOf(manifest))}`
}

function newestFirst(left: StoredObject['metadata'], right: StoredObject['metadata']): number {
  const byAge = right.creationTimestamp.localeCompare(left.creationTimestamp)
  return byAge === 0 ? Number(right.resourceVersion) - Number(left.resourceVersion) : byAge
}

/** The rule that decided the deletion is not restored: it would delete the objects again. A Bond would not, since its dependency is restored, too. */
function isDecider({ spec }: Departure, { manifest }: PageLine): boolean {
  const rule = spec.by.object
  return rule !== undefined && !isBond(manifest) && describeRef(rule) === describeRef(refOf(manifest))
}

/** The uids of the objects that must exist before a line's object. */
export type Before = (line: PageLine) => readonly string[]

/** Orders lines so that each comes after what it needs; otherwise, and within a cycle, they keep their order. */
function inOrder(lines: readonly PageLine[], before: Before): readonly PageLine[] {
  const byUid = new Map(lines.map((line) => [line.uid, line]))
  const entered = new Set<PageLine>()
  const placed = new Set<PageLine>()
  // Each line is popped twice: first it pushes what it needs, then it is placed.
  const stack = lines.toReversed()
  for (let line = stack.pop(); line; line = stack.pop()) {
    if (entered.has(line)) {
      placed.add(line)
      continue
    }
    entered.add(line)
    stack.push(line)
    for (const uid of before(line)) {
      const earlier = byUid.get(uid)
      if (earlier && !entered.has(earlier)) stack.push(earlier)
    }
  }
  return [...placed]
}

/**
 * Groups lines into waves. The objects of a wave do not need each other and can be created at once, after all earlier waves. Owners come before their
 * dependents, cluster-scoped objects before namespaced ones.
 */
export function wavesOf(lines: readonly PageLine[], before: Before = () => []): readonly (readonly PageLine[])[] {
  const all: Before = (line) => [...ownersOf(line), ...before(line)]
  const depths = new Map<string, number>()
  const ordered = inOrder(lines, all)
  for (const line of ordered) {
    const depthsBefore = all(line).map((uid) => (depths.get(uid) ?? -1) + 1)
    depths.set(line.uid, Math.max(line.manifest.metadata.namespace ? 1 : 0, ...depthsBefore))
  }
  const waves = Map.groupBy(ordered, ({ uid }) => depths.get(uid) ?? 0)
  return [...waves].toSorted(([left], [right]) => left - right).map(([, wave]) => wave)
}

function ownersOf({ manifest }: PageLine): readonly string[] {
  return (manifest.metadata.ownerReferences ?? []).map(({ uid }) => uid)
}
