import { createHash } from 'node:crypto'
import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { parseApiVersion, type KubeObject, type ObjectRef, type StoredObject } from '../../kube/object.ts'
import { isNamespaceTerminating, isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'

/** On the pages of a record: their number. */
export const pageLabel = 'sojourn.dev/page'

/** On the record of what left because something that it needed had to: the uid of that. */
export const followsLabel = 'sojourn.dev/follows'

/** Who decided that something leaves. */
export interface By {
  readonly system: DepartureSpec['by']['system']
  /** The object whose rule decided it. */
  readonly object?: ObjectRef
}

export interface RecordFacts {
  readonly cluster: string
  readonly object: KubeObject
  readonly because: string
  readonly by: By
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** The uid of what it needed and leaves before. */
  readonly follows?: string | undefined
  readonly now: number
}

/** One record per object and cluster, whoever writes it and however often. */
export function recordName(cluster: string, object: KubeObject): string {
  const { uid = '', name = '' } = object.metadata
  const digest = createHash('sha256').update(`${cluster}/${uid}`).digest('hex').slice(0, 12)
  const readable = `${object.kind}-${name}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 200)
  return readable ? `${readable}-${digest}` : digest
}

/** Beside the object it is about, or in our own namespace for what has none here. */
export function recordNamespace(cluster: string, { metadata }: KubeObject): string {
  return cluster === '' && metadata.namespace ? metadata.namespace : sojournNamespace
}

/** How records are kept in memory: no pages, and without what only a restore needs. For all who look at them. */
export const recordsOnly = { labelSelector: `!${pageLabel}`, trim: withoutManifest } as const

function withoutManifest(record: StoredObject): StoredObject {
  const { manifest: _, ...spec } = (record as unknown as Departure).spec
  return { ...record, spec }
}

/** Whether a record cannot be written because its namespace or its very kind goes too, or nobody keeps records: not because something is amiss. */
export function hasNoPlace(error: unknown): boolean {
  return isStatusError(error, 'NotFound', 'MethodNotAllowed') || isNamespaceTerminating(error)
}

/** The record of an object that is about to leave. */
export function departureRecord({
  cluster,
  object,
  because,
  by,
  propagation,
  follows,
  now,
}: RecordFacts): KubeObject & { spec: DepartureSpec } {
  const { apiVersion, kind, metadata } = object
  const { name = '', namespace, uid = '', resourceVersion = '' } = metadata
  return {
    apiVersion: departure.apiVersion,
    kind: departure.kind,
    metadata: {
      name: recordName(cluster, object),
      namespace: recordNamespace(cluster, object),
      labels: {
        'sojourn.dev/system': by.system,
        'sojourn.dev/kind': kind.slice(0, 63),
        ...(follows ? { [followsLabel]: follows } : {}),
      },
    },
    spec: {
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
      by: { system: by.system, ...(by.object ? { object: by.object } : {}) },
      recordedAt: formatTime(now),
      ...(propagation ? { propagation } : {}),
      manifest: manifestOf(object),
    },
  }
}

/** What a restore needs, without what the server fills in, and without secrets. */
export function manifestOf(object: KubeObject): KubeObject {
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
  const manifest: KubeObject = { ...rest, metadata: { ...kept, ...(annotations ? { annotations } : {}) } }
  if (!isSecret(object)) return manifest
  return { ...manifest, ...blanked(object, 'data'), ...blanked(object, 'stringData') }
}

/** Whether a record of this object lacks what a restore would need. */
export function isSecret({ apiVersion, kind }: KubeObject): boolean {
  return kind === 'Secret' && parseApiVersion(apiVersion).group === ''
}

/** kubectl keeps the whole of a Secret in an annotation, values included. */
function withoutSecretEcho(
  object: KubeObject,
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!annotations || !isSecret(object)) return annotations
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...kept } = annotations
  return kept
}

/** The keys stay, so that a person knows what to fill in again. */
function blanked(object: KubeObject, field: string): Record<string, unknown> {
  const values = object[field]
  if (typeof values !== 'object' || values === null) return {}
  return { [field]: Object.fromEntries(Object.keys(values).map((key) => [key, ''])) }
}
