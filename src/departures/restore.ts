import { departure, type Departure } from '../apis/departure.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { Client } from '../client/client.ts'
import {
  describeRef,
  refOf,
  type KubeObject,
  type OwnerReference,
  type ResourceType,
  type StoredObject,
} from '../kube/object.ts'
import { ignoring, isStatusError, StatusError } from '../kube/status-error.ts'
import { formatTime } from '../kube/time.ts'
import { asNew } from './as-new.ts'
import { livingOwners } from './living-owners.ts'
import { wavesOf } from './owners-first.ts'
import { readPages, type PageLine } from './pages.ts'
import { isSecret } from './record.ts'

export interface RestoreOptions {
  readonly now: number
  /** The cluster that it left, where that is another than the one with its record. */
  readonly into?: Client | undefined
  /** Told how far it is: `done` is from 0 to 1. */
  readonly onProgress?: ((doing: string, done: number) => void) | undefined
}

/** What is back, and what a person still has to do. */
export interface Restored {
  /** Made now, owners first. */
  readonly objects: readonly StoredObject[]
  /** What an earlier restore that was cut off, or whose work somebody deleted in part, had brought back. */
  readonly already: readonly StoredObject[]
  readonly notes: readonly string[]
}

/** Put on what comes back: the record, and the uid it had. A restore that was cut off finds by it what it has already made. */
const restoredFrom = 'sojourn.dev/restored-from'

/**
 * Brings back what a record holds, owners first, with new uids. Everything is tried as a dry run before anything is created:
 * a restore that cannot be whole changes nothing and throws Invalid, saying why for each object. One that was cut off goes
 * on where it was when it is asked for again; one that was not, and of which everything is still there, throws AlreadyExists.
 */
export async function restore(
  client: Client,
  record: Departure,
  { now, into, onProgress }: RestoreOptions,
): Promise<Restored> {
  const target = targetOf(client, record, into)
  const lines = await linesOf(client, record)
  const types = await typesOf(target, lines)
  const { there, problems } = await rehearse(target, record, lines, { types, onProgress })
  if (problems.length > 0) throw new StatusError('Invalid', `nothing was restored: ${listed(problems)}`)

  if (record.status?.phase === 'Restored' && lines.every(({ uid }) => there.has(uid)))
    throw restoredBefore(record, there)

  const living = await livingOwners(target, lines)
  const newUids = new Map([...living].map((uid) => [uid, uid]))
  const made = new Map<string, StoredObject>()
  await inWaves(lines, async (line) => {
    const { uid, manifest } = line
    const found = there.get(uid)
    const object = found ?? (await bringBack(target, record, { line, type: typeFor(types, manifest), newUids }))
    if (!found) made.set(uid, object)
    newUids.set(uid, object.metadata.uid)
    onProgress?.('restoring', (newUids.size - living.size) / lines.length)
  })
  const { namespace = '', name } = record.metadata
  const status = { phase: 'Restored', restoredAt: formatTime(now) }
  await client.patch(
    departure.type,
    { namespace, name },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  )
  const back = lines.filter(({ uid }) => made.has(uid))
  const notes = [...rootNote(record), ...notesOf(back), ...ownerNotes(record, back, newUids), ...deciderNote(record)]
  return { objects: [...made.values()], already: broughtBack(there), notes }
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

/** Those of a record's objects that are there with another uid than they had. */
function broughtBack(there: Rehearsal['there']): readonly StoredObject[] {
  return [...there].filter(([uid, { metadata }]) => metadata.uid !== uid).map(([, object]) => object)
}

function restoredBefore({ metadata, status }: Departure, there: Rehearsal['there']): StatusError {
  const back = broughtBack(there).map((object) => `${describeRef(refOf(object))} (uid ${object.metadata.uid})`)
  const when = status?.restoredAt ? ` at ${status.restoredAt}` : ''
  const { name } = metadata
  const message = `nothing was restored: ${name} was restored before${when}, and what it holds is still there: ${listed(back)}`
  return new StatusError('AlreadyExists', message, { details: { name, kind: departure.plural } })
}

/** Does something for every line, owners before what they own, several at once. */
async function inWaves(lines: readonly PageLine[], work: (line: PageLine) => Promise<void>): Promise<void> {
  for (const wave of wavesOf(lines))
    for (let at = 0; at < wave.length; at += atOnce) await Promise.all(wave.slice(at, at + atOnce).map(work))
}

const atOnce = 16

/** The first few of many. */
function listed(problems: readonly string[]): string {
  const more = problems.length > mostProblems ? `; and ${problems.length - mostProblems} more` : ''
  return `${problems.slice(0, mostProblems).join('; ')}${more}`
}

const mostProblems = 20

/** Creates one object again, or finds what another restore, or a controller for its owner, which is back already, was quicker to make. */
async function bringBack(
  client: Client,
  record: Departure,
  { line, type, newUids }: { line: PageLine; type: ResourceType; newUids: ReadonlyMap<string, string> },
): Promise<StoredObject> {
  const manifest = withOwners(line.manifest, (owner) => newUids.get(owner))
  try {
    return await client.create<StoredObject>(type, marked(manifest, markOf(record, line)))
  } catch (error) {
    const { name = '', namespace } = manifest.metadata
    if (!isStatusError(error, 'AlreadyExists')) throw error
    const found = await client.get<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) })
    if (!isBroughtBack(found, line) && !isRemadeFor(found, new Set(newUids.values()))) throw error
    return found
  }
}

/** Whether something is what a restore has made of a line. */
function isBroughtBack({ metadata }: StoredObject, line: PageLine): boolean {
  return metadata.annotations?.[restoredFrom]?.endsWith(`/${line.uid}`) ?? false
}

/** Whether something is the work of a controller for an owner that is back. */
function isRemadeFor({ metadata }: StoredObject, back: ReadonlySet<string>): boolean {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller)
  return controller !== undefined && back.has(controller.uid)
}

async function linesOf(client: Client, record: Departure): Promise<readonly PageLine[]> {
  const { manifest, object, page } = record.spec
  if (page) throw new StatusError('Invalid', `${record.metadata.name} is a page of ${page.of}: restore that one`)
  if (!manifest && !record.spec.pages) throw new StatusError('Invalid', 'the record holds no manifest')
  const lines: PageLine[] = manifest ? [{ uid: object.uid, manifest: manifest as unknown as KubeObject }] : []
  for await (const line of readPages(client, record)) if (!isDecider(record, line)) lines.push(line)
  // A page that was written twice, because the first writer did not live to tell of it, counts once.
  const byUid = new Map(lines.map((line) => [line.uid, { ...line, manifest: asNew(line.manifest) }]))
  return [...byUid.values()]
}

/** The rule that let everything leave must not come back along with it: it would do so again. */
function isDecider({ spec }: Departure, { manifest }: PageLine): boolean {
  const rule = spec.by.object
  return rule !== undefined && describeRef(rule) === describeRef(refOf(manifest))
}

async function typesOf(client: Client, lines: readonly PageLine[]): Promise<ReadonlyMap<string, ResourceType>> {
  const types = new Map<string, ResourceType>()
  for (const { manifest } of lines) {
    if (types.has(kindName(manifest))) continue
    const type = await client.discovery.typeOf(manifest)
    if (!type)
      throw new StatusError(
        'Invalid',
        `${kindName(manifest)} is not served any more: install its CustomResourceDefinition first`,
      )
    types.set(kindName(manifest), type)
  }
  return types
}

/** What of a restore is there already, by the uids of the record, and what speaks against the rest. */
interface Rehearsal {
  readonly there: ReadonlyMap<string, StoredObject>
  readonly problems: readonly string[]
}

async function rehearse(
  client: Client,
  record: Departure,
  lines: readonly PageLine[],
  { types, onProgress }: { types: ReadonlyMap<string, ResourceType> } & Pick<RestoreOptions, 'onProgress'>,
): Promise<Rehearsal> {
  const there = new Map<string, StoredObject>()
  const problems: string[] = []
  const coming = new Set<string | undefined>()
  let done = 0
  await inWaves(lines, async (line) => {
    const { uid, manifest } = line
    onProgress?.('trying', done++ / lines.length)
    const isHomeless = coming.has(manifest.metadata.namespace)
    // No owner in the rehearsal: the new uids are not known yet.
    const candidate = withOwners(manifest, () => undefined)
    const problem = await problemOf(
      client,
      typeFor(types, manifest),
      isHomeless ? elsewhere(record, candidate) : candidate,
    )
    const isTaken = problem?.reason === 'AlreadyExists'
    const found =
      isTaken && !isHomeless
        ? await theSame(client, record, { line, type: typeFor(types, manifest), there })
        : undefined
    if (found) there.set(uid, found)
    else if (isNamespace(manifest)) coming.add(manifest.metadata.name)
    if (!problem || found || (isTaken && isHomeless)) return
    problems.push(isTaken ? await taken(client, typeFor(types, manifest), manifest) : problem.message)
  })
  return { there, problems }
}

/** Who has an object's name. */
async function taken(client: Client, type: ResourceType, manifest: KubeObject): Promise<string> {
  const { name = '', namespace } = manifest.metadata
  const place = { name, ...(namespace ? { namespace } : {}) }
  const ref = describeRef(refOf(manifest))
  const found = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
  if (!found) return `${ref} exists`
  const { uid, deletionTimestamp, finalizers = [] } = found.metadata
  if (!deletionTimestamp) return `${ref} exists (uid ${uid})`
  return `${ref} is still leaving (uid ${uid}${finalizers.length > 0 ? `, held by ${finalizers.join(', ')}` : ''})`
}

/** What the server says against creating an object. */
async function problemOf(client: Client, type: ResourceType, object: KubeObject): Promise<StatusError | undefined> {
  try {
    await client.create(type, object, { dryRun: true })
    return undefined
  } catch (error) {
    if (isStatusError(error)) return error
    throw error
  }
}

/**
 * What has a line's name, if it is that very object: brought back before this restore was cut off, or on a page and never gone; or if a controller
 * has made it anew for its owner, which is back.
 */
async function theSame(
  client: Client,
  record: Departure,
  { line, type, there }: { line: PageLine; type: ResourceType; there: ReadonlyMap<string, StoredObject> },
): Promise<StoredObject | undefined> {
  const { name = '', namespace } = line.manifest.metadata
  const place = { name, ...(namespace ? { namespace } : {}) }
  const found = await client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
  if (!found || found.metadata.deletionTimestamp) return undefined
  const { uid } = found.metadata
  const neverLeft = uid === line.uid && uid !== record.spec.object.uid
  if (isBroughtBack(found, line) || neverLeft) return found
  const back = new Set([...there.values()].map(({ metadata }) => metadata.uid))
  return isRemadeFor(found, back) ? found : undefined
}

function markOf({ metadata }: Departure, { uid }: PageLine): string {
  return `${metadata.name}/${uid}`
}

function marked(manifest: KubeObject, mark: string): KubeObject {
  const annotations = { ...manifest.metadata.annotations, [restoredFrom]: mark }
  return { ...manifest, metadata: { ...manifest.metadata, annotations } }
}

function isNamespace({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === 'v1' && kind === 'Namespace'
}

/** A rehearsal for what has no namespace yet takes place in ours, where only its name may be taken; another cluster may have none of ours. */
function elsewhere({ spec }: Departure, manifest: KubeObject): KubeObject {
  const namespace = spec.object.cluster ? 'default' : sojournNamespace
  return { ...manifest, metadata: { ...manifest.metadata, namespace } }
}

/** The manifest as it may be created: its owners by their new uids, none whose new uid is unknown, no finalizers of a deletion. */
function withOwners(manifest: KubeObject, newUid: (uid: string) => string | undefined): KubeObject {
  const { ownerReferences = [], finalizers = [], ...metadata } = manifest.metadata
  const owners = ownerReferences.flatMap((owner): OwnerReference[] => {
    const uid = newUid(owner.uid)
    return uid === undefined ? [] : [{ ...owner, uid }]
  })
  const kept = finalizers.filter((finalizer) => !deletionFinalizers.has(finalizer))
  return {
    ...manifest,
    metadata: {
      ...metadata,
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
      ...(kept.length > 0 ? { finalizers: kept } : {}),
    },
  }
}

const deletionFinalizers = new Set(['foregroundDeletion', 'orphan', 'cascade_deletion'])

function notesOf(lines: readonly PageLine[]): readonly string[] {
  return lines.flatMap(({ manifest }) => {
    const ref = describeRef(refOf(manifest))
    if (isSecret(manifest)) return `${ref} is back without its data, which records do not keep: fill it in again`
    const { volumeName } = (manifest.spec ?? {}) as { readonly volumeName?: string }
    if (manifest.kind !== 'PersistentVolumeClaim' || !volumeName) return []
    return `${ref} asks for PersistentVolume ${volumeName}, which it had: if that waits as Released, take spec.claimRef off it; if it is gone, make the claim again without spec.volumeName`
  })
}

/** What was somebody's who has gone since stays as nobody's. */
function ownerNotes(
  { spec }: Departure,
  lines: readonly PageLine[],
  newUids: ReadonlyMap<string, string>,
): readonly string[] {
  return lines.flatMap(({ manifest }) => {
    const isGone = ({ uid }: OwnerReference) => uid !== spec.object.uid && !newUids.has(uid)
    const gone = (manifest.metadata.ownerReferences ?? []).filter(isGone)
    if (gone.length === 0) return []
    const owners = gone.map(({ kind, name }) => `${kind} ${name}`).join(', ')
    return `${describeRef(refOf(manifest))} is back without its owner ${owners}, which is not there any more`
  })
}

function rootNote({ spec }: Departure): readonly string[] {
  if (spec.manifest) return []
  return [
    `${describeRef(spec.object)} itself is not back, its manifest is not in the record: what it owned is back without it as an owner`,
  ]
}

function deciderNote({ spec }: Departure): readonly string[] {
  const { object: rule } = spec.by
  const went = rule?.namespace === spec.object.name && spec.object.kind === 'Namespace'
  return rule && went ? [`${describeRef(rule)}, which let it leave, is not back: apply it again when it shall be`] : []
}

function kindName({ apiVersion, kind }: KubeObject): string {
  return `${apiVersion} ${kind}`
}

function typeFor(types: ReadonlyMap<string, ResourceType>, manifest: KubeObject): ResourceType {
  const type = types.get(kindName(manifest))
  if (!type) throw new Error(`no type for ${kindName(manifest)}`)
  return type
}
