import type { DeleteOptions } from '../subjects/subject.ts'
import { createHash } from 'node:crypto'
import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { nameFrom } from '../../kube/names.ts'
import type { KubeObject, ObjectRef, StoredObject } from '../../kube/object.ts'
import { isSecret } from '../../kube/redact.ts'
import { isNamespaceTerminating, isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { RecordKeys } from './record-keys.ts'

/** On the pages of a record: their number. Up to version 0.1.0 pages were Departures, too: this label tells them from records. */
export const pageLabel = 'sojourn.dev/page'

/** On the record of an object that was deleted because something it needed was: the uid of that object. */
export const followsLabel = 'sojourn.dev/follows'

/** On the record of a deletion that no budget counts: why not. */
export const budgetLabel = 'sojourn.dev/budget'

/** `itself`: a Cleaner that has done its work. `planned`: a user named the object and its time. `released`: a user closed the breaker that held it. */
export type Unbudgeted = 'itself' | 'planned' | 'released'

/** Who decided the deletion. */
export interface By {
  readonly system: DepartureSpec['by']['system']
  /** The object whose rule decided it, such as a Cleaner or a CleanupPolicy. */
  readonly object?: ObjectRef
}

export interface RecordFacts {
  readonly cluster: string
  readonly object: KubeObject
  /** Why, in the system's own vocabulary. */
  readonly because: string
  /** What else the record and the Event say, in a sentence. */
  readonly note?: string | undefined
  /** What the manifest is made from instead of the object. The caller has left out what must not be kept: it never holds the values of a Secret. */
  readonly recordAs?: KubeObject | undefined
  /** What the encrypted data is made from instead of the object. */
  readonly sealAs?: KubeObject | undefined
  /** Encrypts the data of a Secret. Without, the record keeps none. */
  readonly keys?: RecordKeys | undefined
  readonly by: By
  readonly propagation?: DeleteOptions['propagation']
  /** The uid of the object it needed by Bond and is deleted with; a restore of that one brings it back, too. */
  readonly follows?: string | undefined
  readonly unbudgeted?: Unbudgeted | undefined
  readonly now: number
}

/** The name of an object's record. It follows from cluster and uid, so retries and several writers share one record. */
export function recordName(cluster: string, object: KubeObject): string {
  const { uid = '', name = '' } = object.metadata
  const digest = createHash('sha256').update(`${cluster}/${uid}`).digest('hex').slice(0, 12)
  const readable = nameFrom(`${object.kind}-${name}`).slice(0, 200)
  return readable ? `${readable}-${digest}` : digest
}

/** The object's own namespace; ours for cluster-scoped objects and those of other clusters. */
export function recordNamespace(cluster: string, { metadata }: KubeObject): string {
  return cluster === '' && metadata.namespace ? metadata.namespace : sojournNamespace
}

/** How informers keep records: without pages and manifests, which only a restore needs. Every informer uses this, so that they share one cache. */
export const recordsOnly = { labelSelector: `!${pageLabel}`, trim: withoutManifest } as const

function withoutManifest(record: StoredObject): StoredObject {
  const { manifest: _, sealed: __, ...spec } = (record as unknown as Departure).spec
  return { ...record, spec }
}

/** Whether a record cannot be stored because its namespace or the Departure kind is being deleted, or is not installed: expected, not a failure. */
export function hasNoPlace(error: unknown): boolean {
  return isStatusError(error, 'NotFound', 'MethodNotAllowed') || isNamespaceTerminating(error)
}

/** A record as it is sent to the API. */
export type UnwrittenRecord = KubeObject & { readonly spec: DepartureSpec }

/** The record of an object that is about to be deleted. */
export function departureRecord({
  cluster,
  object,
  because,
  note,
  recordAs,
  sealAs,
  keys,
  by,
  propagation,
  follows,
  unbudgeted,
  now,
}: RecordFacts): UnwrittenRecord {
  const { apiVersion, kind, metadata } = object
  const { name = '', namespace, uid = '', resourceVersion = '' } = metadata
  const sealed = keys?.seal(sealAs ?? object)
  return departure.object(
    {
      name: recordName(cluster, object),
      namespace: recordNamespace(cluster, object),
      labels: {
        'sojourn.dev/system': by.system,
        'sojourn.dev/kind': kind.slice(0, 63),
        ...(follows ? { [followsLabel]: follows } : {}),
        ...(unbudgeted ? { [budgetLabel]: unbudgeted } : {}),
      },
    },
    {
      object: {
        ...(cluster ? { cluster } : {}),
        apiVersion,
        kind,
        ...(namespace ? { namespace } : {}),
        name,
        uid,
        resourceVersion,
      },
      because,
      ...(note === undefined ? {} : { note }),
      by: { system: by.system, ...(by.object ? { object: by.object } : {}) },
      recordedAt: formatTime(now),
      ...(propagation ? { propagation } : {}),
      manifest: recordAs ? withoutServerFields(recordAs) : manifestOf(object),
      ...(sealed ? { sealed } : {}),
    },
  )
}

/** A record in two sizes. */
export interface UserDeletionRecord {
  readonly record: UnwrittenRecord
  /** The same without the manifest, where that is too large to be stored. */
  readonly short: KubeObject
}

/**
 * Builds the Departure for an object a user is deleting; `found` is the record that exists under its name. Undefined when that one stands: the system that
 * wrote it deletes the object.
 */
export function userDeletionRecord(
  object: KubeObject,
  { found, ...facts }: { readonly found: Departure | undefined } & Pick<RecordFacts, 'now' | 'keys'>,
): UserDeletionRecord | undefined {
  if (found && describesDeletion(found, object)) return undefined
  const { metadata, spec } = departureByUser(object, facts)
  const { manifest, sealed, ...rest } = { ...spec, ...pagesOf(found) }
  const status = { phase: 'Gone', goneAt: formatTime(facts.now) }
  const place = found ? { ...metadata, namespace: found.metadata.namespace ?? '' } : metadata
  const common = { apiVersion: departure.apiVersion, kind: departure.kind, metadata: place }
  return {
    record: { ...common, spec: { ...rest, ...(manifest ? { manifest } : {}), ...(sealed ? { sealed } : {}) }, status },
    short: { ...common, spec: rest, status: { ...status, message: tooLarge } },
  }
}

/** The record of an object that a user deletes. */
export function departureByUser(object: KubeObject, facts: Pick<RecordFacts, 'now' | 'keys'>): UnwrittenRecord {
  return departureRecord({ cluster: '', object, because: 'deleted', by: { system: 'user' }, ...facts })
}

/** Whether an existing record is about this deletion: not if it was abandoned, or holds a version that has changed since. */
function describesDeletion({ spec, status }: Departure, { metadata }: KubeObject): boolean {
  switch (status?.phase) {
    case 'Abandoned':
      return false
    case undefined:
    case 'Recorded':
      return spec.object.resourceVersion === metadata.resourceVersion
    case 'Leaving':
    case 'Gone':
    case 'Restored':
      return true
  }
}

/** What a record that replaces another keeps of it: its pages stay. */
export function pagesOf(found: Departure | undefined): Pick<DepartureSpec, 'pages' | 'takes'> {
  const { pages, takes } = found?.spec ?? {}
  return { ...(pages === undefined ? {} : { pages }), ...(takes === undefined ? {} : { takes }) }
}

const tooLarge = 'its own manifest is not recorded: it is too large for a record'

/** What a restore needs: the object without what the server fills in and without Secret values. */
export function manifestOf(object: KubeObject): KubeObject {
  const manifest = withoutServerFields(object)
  if (!isSecret(object)) return manifest
  return { ...manifest, ...blanked(object, 'data'), ...blanked(object, 'stringData') }
}

function withoutServerFields(object: KubeObject): KubeObject {
  const { status: _status, metadata, ...rest } = object
  const {
    managedFields: _fields,
    uid: _uid,
    resourceVersion: _version,
    generation: _generation,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    ...kept
  } = metadata
  const annotations = withoutSecretEcho(object, kept.annotations)
  return { ...rest, metadata: { ...kept, ...(annotations ? { annotations } : {}) } }
}

/** `kubectl apply` keeps the whole Secret in an annotation, values included. */
function withoutSecretEcho(
  object: KubeObject,
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!annotations || !isSecret(object)) return annotations
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations
  return kept
}

/** The keys stay, so that the user knows which values to set after a restore. */
function blanked(object: KubeObject, field: string): Record<string, unknown> {
  const values = object[field]
  if (typeof values !== 'object' || values === null) return {}
  return { [field]: Object.fromEntries(Object.keys(values).map((key) => [key, ''])) }
}
