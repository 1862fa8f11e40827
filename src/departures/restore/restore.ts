import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../kube/object.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { adoptDependents, updateOwnerUids, survivingOwners, neededBy, withOwners } from './adopt.ts'
import { restoreSetOf, RecordIndex, type RestoreSet, wavesOf, type Before } from './restore-set.ts'
import { RestoredKinds, whenServed } from './restored-kinds.ts'
import type { PageLine } from '../records/pages.ts'
import { bondsAround, unpin } from './restore-bonds.ts'
import { addressNotes, restoreNotes } from './restore-notes.ts'
import { isRecreatedFor, rehearse, type Rehearsal } from './restore-rehearsal.ts'
import { giveToHelm, isRestoredFrom, marked } from './manifest-for-create.ts'

export interface RestoreOptions {
  readonly now: number
  /** The cluster to restore into, if it is not the one that holds the record. */
  readonly into?: Client | undefined
  /** Tries everything as a dry run and returns what would be created. Defaults to false. */
  readonly dryRun?: boolean
  /** Changes manifests before they are tried and created. Defaults to none. */
  readonly prepare?: ((manifests: readonly KubeObject[]) => (manifest: KubeObject) => KubeObject) | undefined
  /** `Cleaner/NAME`: restores only what this Cleaner decided, of a record that holds several decisions. Defaults to all. */
  readonly decidedBy?: string | undefined
  /** Called with the progress so far: `done` is from 0 to 1. */
  readonly onProgress?: ((doing: string, done: number) => void) | undefined
}

/** What a restore created, and what the user still has to do. */
export interface Restored {
  /** Created by this call, owners first. */
  readonly objects: readonly StoredObject[]
  /** Created by an earlier restore that was interrupted, or of whose objects some were deleted again. */
  readonly already: readonly StoredObject[]
  readonly notes: readonly string[]
}

/**
 * Restores the objects of a record, and those of other records that were deleted because of them, owners first, with new uids. Every object is first created
 * as a dry run: if one is refused, the restore changes nothing and throws Invalid with the reason for each object. Objects whose CustomResourceDefinition is
 * itself restored can only be tried once that is served. Called again, an interrupted restore continues; a complete one whose objects all still exist throws
 * AlreadyExists.
 */
export async function restore(
  client: Client,
  record: Departure,
  { now, into, dryRun = false, onProgress, prepare, decidedBy }: RestoreOptions,
): Promise<Restored> {
  const target = targetOf(client, record, into)
  const index = await RecordIndex.read(client, record.metadata.namespace ?? '')
  const restoreSet = prepared(await restoreSetOf(client, record, { index, decidedBy }), prepare)
  let lines = [...restoreSet.values()].flat()
  let kinds = await RestoredKinds.read(target, lines)
  const rehearsed = (waves: readonly (readonly PageLine[])[], back: readonly StoredObject[]) => {
    const count = counted('trying', lines.length, onProgress)
    return rehearse(target, { record, kinds, back, inWaves: inWaves(waves, count) })
  }
  const first = await rehearsed(wavesOf(lines, prerequisites(lines, kinds)), [])
  const there = new Map(first.there)
  const { coming, staying, problems } = sorted(record, restoreSet, first)
  lines = [...coming.values()].flat()
  const bonds = await bondsAround(client, { record, lines, index })
  problems.push(...bonds.problems)
  if (problems.length > 0) throw new StatusError('Invalid', `nothing was restored: ${listed(problems)}`)
  if (record.status?.phase === 'Restored' && lines.every(({ uid }) => there.has(uid)))
    throw restoredBefore(record, there)

  if (dryRun) return plannedRestore({ record, lines, there, staying })

  const bondNotes = await unpin(client, bonds.pinned, lines)
  const newUids = new Map(await survivingOwners(target, lines))
  const made = new Map<string, StoredObject>()
  const progress = counted('restoring', lines.length, onProgress)
  const waves = wavesOf(lines, prerequisites(lines, kinds))
  for (const [at, wave] of waves.entries()) {
    if (wave.some(({ manifest }) => kinds.definitionOf(manifest))) {
      kinds = await whenServed(target, lines, wave)
      const second = await rehearsed(waves.slice(at), [...there.values(), ...made.values()])
      if (second.problems.size > 0) throw partlyRestored([...made.values()], [...second.problems.values()])
      for (const [uid, object] of second.there) there.set(uid, object)
    }
    await inWaves(
      [wave],
      progress,
    )(async (line) => {
      const type = kinds.typeOf(line.manifest)
      const found = there.get(line.uid)
      // It may have been deleted with its old owner since the rehearsal.
      const stays = found && (await updateOwnerUids(target, type, { object: found, newUids }))
      const object = stays ?? (await recreate(target, record, { line, type, newUids }))
      if (!stays) made.set(line.uid, object)
      newUids.set(line.uid, object.metadata.uid)
    }).catch((error: unknown) => {
      throw interrupted(error, { made: made.size, all: lines.length })
    })
  }
  const records = [...coming.keys()]
  const adopted = await adoptDependents(target, lines, newUids)
  const later = await recordedSince(client, record)
  // The requested record last: its phase stands for the whole restore.
  if (later.length === 0) for (const each of records.toReversed()) await markRestored(client, each, now)
  const back = lines.filter(({ uid }) => made.has(uid))
  const told = [...restoreNotes(record, back, newUids), ...addressNotes(back, made)]
  const notes = [...told, ...staying, ...bondNotes, ...adopted, ...later]
  return { objects: [...made.values()], already: broughtBack(there), notes }
}

/** What a restore would do. Owners are not checked: their new uids are not known before they are created. */
function plannedRestore({
  record,
  lines,
  there,
  staying,
}: {
  readonly record: Departure
  readonly lines: readonly PageLine[]
  readonly there: Rehearsal['there']
  readonly staying: readonly string[]
}): Restored {
  const coming = lines.filter(({ uid }) => !there.has(uid))
  const uids = new Map(lines.map(({ uid }) => [uid, uid]))
  const objects = coming.map(({ manifest }) => manifest as StoredObject)
  return { objects, already: broughtBack(there), notes: [...restoreNotes(record, coming, uids), ...staying] }
}

function prepared(set: RestoreSet, prepare: RestoreOptions['prepare']): RestoreSet {
  const change = prepare?.([...set.values()].flat().map(({ manifest }) => manifest))
  if (!change) return set
  return new Map(
    [...set].map(([record, lines]) => [record, lines.map((line) => ({ ...line, manifest: change(line.manifest) }))]),
  )
}

/** Splits the records: the requested one is restored completely or not at all; a record that followed it is skipped, with a note, if any object of it is refused. */
function sorted(record: Departure, restoreSet: RestoreSet, { problems: found }: Rehearsal) {
  const coming = new Map<Departure, readonly PageLine[]>()
  const staying: string[] = []
  const problems: string[] = []
  for (const [each, lines] of restoreSet) {
    const against = lines.flatMap(({ uid }) => found.get(uid) ?? [])
    if (each === record) problems.push(...against)
    if (each === record || against.length === 0) coming.set(each, lines)
    else
      staying.push(
        `${describeRef(each.spec.object)}, which was deleted because of it, was not restored: ${listed(against)}`,
      )
  }
  return { coming, staying, problems }
}

/** Where it has to come back: only the one who asks can say which of the clusters they know a record means. */
function targetOf(home: Client, { spec }: Departure, into: Client | undefined): Client {
  const { cluster } = spec.object
  if (cluster && !into)
    throw new StatusError('Invalid', `it left cluster "${cluster}": say by --into-context which of yours that is`)
  if (!cluster && into)
    throw new StatusError('Invalid', 'it left the cluster that its record is in: no other is needed')
  return into ?? home
}

/** What must exist before an object, besides its owners: the restored definition of its kind, its restored Namespace, the dependency that a Bond names by uid. */
function prerequisites(lines: readonly PageLine[], kinds: RestoredKinds): Before {
  const homes = new Map(
    lines.flatMap(({ uid, manifest }) =>
      manifest.kind === 'Namespace' && manifest.apiVersion === 'v1' ? [[manifest.metadata.name, uid]] : [],
    ),
  )
  return ({ manifest }) =>
    [kinds.definitionOf(manifest)?.uid, homes.get(manifest.metadata.namespace), neededBy(manifest)].filter(
      (uid) => uid !== undefined,
    )
}

/** The objects of a record that exist with another uid than before. */
function broughtBack(there: Rehearsal['there']): readonly StoredObject[] {
  return [...there].filter(([uid, { metadata }]) => metadata.uid !== uid).map(([, object]) => object)
}

function restoredBefore({ metadata, status }: Departure, there: Rehearsal['there']): StatusError {
  const when = status?.restoredAt ? ` at ${status.restoredAt}` : ''
  const { name } = metadata
  const message = `nothing was restored: ${name} was restored before${when}, and its objects still exist: ${listed(broughtBack(there).map(described))}`
  return new StatusError('AlreadyExists', message, { details: { name, kind: departure.plural } })
}

function partlyRestored(made: readonly StoredObject[], problems: readonly string[]): StatusError {
  const back = made.length > 0 ? `only ${listed(made.map(described))} was restored` : 'nothing was restored'
  return new StatusError('Invalid', `${back}: ${listed(problems)}`)
}

/** An error that dry runs of single objects cannot foresee, such as a quota for all of them. */
function interrupted(error: unknown, { made, all }: { readonly made: number; readonly all: number }): unknown {
  if (!isStatusError(error) || made === 0) return error
  const { reason, message, details } = error
  const told = `${message}; ${made} of ${all} objects were restored: run the restore again to continue`
  return new StatusError(reason, told, { cause: error, ...(details ? { details } : {}) })
}

function described(object: StoredObject): string {
  return `${describeRef(refOf(object))} (uid ${object.metadata.uid})`
}

type Work = (line: PageLine) => Promise<void>

/** Runs the work for every line, wave after wave, `atOnce` at a time. */
function inWaves(waves: readonly (readonly PageLine[])[], count: () => void): (work: Work) => Promise<void> {
  return async (work) => {
    for (const wave of waves)
      for (let at = 0; at < wave.length; at += atOnce) {
        const done = await Promise.allSettled(wave.slice(at, at + atOnce).map((line) => work(line).then(count)))
        // Only after all of them have ended, so that the error counts every object that was created.
        for (const each of done) if (each.status === 'rejected') throw each.reason
      }
  }
}

const atOnce = 16

function counted(doing: string, all: number, onProgress: RestoreOptions['onProgress']): () => void {
  let done = 0
  return () => onProgress?.(doing, Math.min(1, ++done / all))
}

/** The first `maxProblems` as one text. */
function listed(problems: readonly string[]): string {
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : ''
  return `${problems.slice(0, maxProblems).join('; ')}${more}`
}

const maxProblems = 20

/** Creates an object, or returns the one that another restore, or a controller of its restored owner, has created first. */
async function recreate(
  client: Client,
  record: Departure,
  { line, type, newUids }: { line: PageLine; type: ResourceType; newUids: ReadonlyMap<string, string> },
): Promise<StoredObject> {
  const manifest = withOwners(line.manifest, (owner) => newUids.get(owner))
  try {
    return await giveToHelm(client, type, await client.create<StoredObject>(type, marked(manifest, record, line)))
  } catch (error) {
    const { name = '', namespace } = manifest.metadata
    if (!isStatusError(error, 'AlreadyExists')) throw error
    const found = await client.get<StoredObject>(type, placeOf({ name, namespace }))
    if (!isRestoredFrom(found, line.uid) && !isRecreatedFor(found, new Set(newUids.values()))) throw error
    return found
  }
}

/** A note if the record got more pages during the restore: their objects were not restored. */
async function recordedSince(client: Client, { metadata, spec }: Departure): Promise<readonly string[]> {
  const { namespace = '', name } = metadata
  const now = await client.get<Departure>(departure.type, { namespace, name })
  if ((now.spec.pages ?? 0) <= (spec.pages ?? 0)) return []
  return [`more objects were deleted with it in the meantime: restore ${name} again`]
}

async function markRestored(client: Client, { metadata }: Departure, now: number): Promise<void> {
  const { namespace = '', name } = metadata
  const status = { phase: 'Restored', restoredAt: formatTime(now) }
  await client.merge(departure.type, { namespace, name }, { status }, { subresource: 'status' })
}
