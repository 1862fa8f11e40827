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
import { isStatusError, StatusError } from '../kube/status-error.ts'
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

/**
 * Brings back what a record holds, owners first, with new uids. Everything is tried as a dry run before anything is created:
 * a restore that cannot be whole changes nothing and throws Invalid, saying why for each object.
 */
export async function restore(
  client: Client,
  record: Departure,
  { now, onRestored }: RestoreOptions,
): Promise<Restored> {
  const lines = await linesOf(client, record)
  const types = await typesOf(client, lines)
  await rehearse(client, lines, types)

  const newUids = new Map<string, string>()
  const objects: StoredObject[] = []
  for (const { uid, manifest } of lines) {
    const created = await client.create<StoredObject>(
      typeFor(types, manifest),
      withOwners(manifest, (owner) => newUids.get(owner)),
    )
    newUids.set(uid, created.metadata.uid)
    objects.push(created)
    onRestored?.(created)
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
  return ownersFirst(lines)
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

async function rehearse(
  client: Client,
  lines: readonly PageLine[],
  types: ReadonlyMap<string, ResourceType>,
): Promise<void> {
  const problems: string[] = []
  const coming = new Set(lines.flatMap(({ manifest }) => (isNamespace(manifest) ? [manifest.metadata.name] : [])))
  for (const { manifest } of lines) {
    const isHomeless = coming.has(manifest.metadata.namespace)
    // No owner in the rehearsal: the new uids are not known yet.
    const candidate = withOwners(manifest, () => undefined)
    const attempt = client.create(typeFor(types, manifest), isHomeless ? elsewhere(candidate) : candidate, {
      dryRun: true,
    })
    const problem = await attempt.then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem !== undefined && !isStatusError(problem)) throw problem
    if (!problem || (isHomeless && problem.reason === 'AlreadyExists')) continue
    problems.push(problem.reason === 'AlreadyExists' ? `${describeRef(refOf(manifest))} exists` : problem.message)
  }
  if (problems.length > 0) throw new StatusError('Invalid', `nothing was restored: ${problems.join('; ')}`)
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
