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
import { ownersFirst } from './owners-first.ts'
import { readPages, type PageLine } from './pages.ts'
import { isSecret } from './record.ts'

export interface RestoreOptions {
  readonly now: number
  /** Told of each object that is back, for a progress line. */
  readonly onRestored?: (object: KubeObject) => void
}

/** What is back, and what a person still has to do. */
export interface Restored {
  readonly objects: readonly StoredObject[]
  readonly notes: readonly string[]
}

/** Put on what comes back: the record, and the uid it had. A restore that was cut off finds by it what it has already made. */
const restoredFrom = 'sojourn.dev/restored-from'

/**
 * Brings back what a record holds, owners first, with new uids. Everything is tried as a dry run before anything is created:
 * a restore that cannot be whole changes nothing and throws Invalid, saying why for each object. One that was cut off goes
 * on where it was when it is asked for again.
 */
export async function restore(
  client: Client,
  record: Departure,
  { now, onRestored }: RestoreOptions,
): Promise<Restored> {
  const lines = await linesOf(client, record)
  const types = await typesOf(client, lines)
  const { there, problems } = await rehearse(client, record, lines, types)
  if (problems.length > 0) throw new StatusError('Invalid', `nothing was restored: ${problems.join('; ')}`)

  const newUids = new Map<string, string>()
  const objects: StoredObject[] = []
  for (const line of lines) {
    const { uid, manifest } = line
    const object =
      there.get(uid) ??
      (await client.create<StoredObject>(
        typeFor(types, manifest),
        marked(
          withOwners(manifest, (owner) => newUids.get(owner)),
          markOf(record, line),
        ),
      ))
    newUids.set(uid, object.metadata.uid)
    if (object.metadata.uid === uid) continue
    objects.push(object)
    onRestored?.(object)
  }
  const { namespace = '', name } = record.metadata
  const status = { phase: 'Restored', restoredAt: formatTime(now) }
  await client.patch(
    departure.type,
    { namespace, name },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  )
  return { objects, notes: [...notesOf(lines), ...deciderNote(record)] }
}

async function linesOf(client: Client, record: Departure): Promise<readonly PageLine[]> {
  const { manifest, object, page } = record.spec
  if (page) throw new StatusError('Invalid', `${record.metadata.name} is a page of ${page.of}: restore that one`)
  if (object.cluster) throw new StatusError('Invalid', `it left cluster "${object.cluster}": restore it from there`)
  if (!manifest && !record.spec.pages) throw new StatusError('Invalid', 'the record holds no manifest')
  const lines: PageLine[] = manifest ? [{ uid: object.uid, manifest: manifest as unknown as KubeObject }] : []
  for await (const line of readPages(client, record)) if (!isDecider(record, line)) lines.push(line)
  // A page that was written twice, because the first writer did not live to tell of it, counts once.
  const byUid = new Map(lines.map((line) => [line.uid, line]))
  return ownersFirst([...byUid.values()])
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
  types: ReadonlyMap<string, ResourceType>,
): Promise<Rehearsal> {
  const there = new Map<string, StoredObject>()
  const problems: string[] = []
  const coming = new Set<string | undefined>()
  for (const line of lines) {
    const { uid, manifest } = line
    const isHomeless = coming.has(manifest.metadata.namespace)
    // No owner in the rehearsal: the new uids are not known yet.
    const candidate = withOwners(manifest, () => undefined)
    const problem = await problemOf(client, typeFor(types, manifest), isHomeless ? elsewhere(candidate) : candidate)
    const isTaken = problem?.reason === 'AlreadyExists'
    const found = isTaken && !isHomeless ? await theSame(client, record, line, typeFor(types, manifest)) : undefined
    if (found) there.set(uid, found)
    else if (isNamespace(manifest)) coming.add(manifest.metadata.name)
    if (!problem || found || (isTaken && isHomeless)) continue
    problems.push(isTaken ? `${describeRef(refOf(manifest))} exists` : problem.message)
  }
  return { there, problems }
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
 * What has a line's name, if it is that very object: brought back before this restore was cut off, or from another record (a
 * cascade that went on after a restart may be on two), or on a page and never gone.
 */
async function theSame(
  client: Client,
  record: Departure,
  line: PageLine,
  type: ResourceType,
): Promise<StoredObject | undefined> {
  const { name = '', namespace } = line.manifest.metadata
  const place = { name, ...(namespace ? { namespace } : {}) }
  const found = await client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
  if (!found || found.metadata.deletionTimestamp) return undefined
  const { annotations, uid } = found.metadata
  const isMade = annotations?.[restoredFrom]?.endsWith(`/${line.uid}`)
  const neverLeft = uid === line.uid && uid !== record.spec.object.uid
  return isMade || neverLeft ? found : undefined
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

/** A rehearsal for what has no namespace yet takes place in ours, where only its name may be taken. */
function elsewhere(manifest: KubeObject): KubeObject {
  return { ...manifest, metadata: { ...manifest.metadata, namespace: sojournNamespace } }
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
  const secrets = lines.filter(({ manifest }) => isSecret(manifest))
  return secrets.map(
    ({ manifest }) =>
      `${describeRef(refOf(manifest))} is back without its data, which records do not keep: fill it in again`,
  )
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
