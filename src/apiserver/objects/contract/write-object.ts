import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { StatusError } from '../../../kube/status-error.ts'
import type { Kinds } from '../../kinds/kinds.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Clock } from '../../store/clock.ts'
import { Document, maxObjectSize } from '../../store/document.ts'
import type { Change, Store, View } from '../../store/store.ts'
import type { AdmissionHook } from './admission.ts'
import { ownerEdges } from './metadata.ts'
import type { DeletionRecords } from './deletion-record.ts'

/** What writes need. */
export interface WritePorts {
  readonly store: Store
  /** Carries out a decision on the store; hooks may ask outside in between. */
  readonly write: Store['write']
  readonly kinds: Kinds
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** A new uid. */
  readonly uid: () => string
  /** All admission hooks, the built-in ones first. */
  readonly hooks: readonly AdmissionHook[]
  /** Whether a delete of this object must wait for its dependents: Krake's `cascade_deletion` finalizer. */
  readonly cascades: (object: KubeObject, view: View) => boolean
  /** How deletions are recorded, if they are. */
  readonly deletionRecords: DeletionRecords | undefined
  /** Whether new objects get managedFields. Objects without them are not tracked later either. */
  readonly tracksFields: boolean
}

/** One write: the change to store and the document to answer with. */
export interface Written {
  readonly change: Change
  readonly document: Document
}

/** Turns an object of a served version into a store change. Owner edges are included only when they changed. */
export function changeTo(
  type: ServedKind,
  object: KubeObject,
  { kind, revision, old }: { kind: Change['type']; revision: number; old?: KubeObject | undefined },
): Written {
  const served = withRevision(object, revision)
  const stored = withRevision(type.toStored(object), revision)
  const document = new Document(revision, textOf(stored), stored)
  const { namespace = '', name, uid } = stored.metadata
  const owners = kind === 'delete' ? [] : ownerEdges(stored)
  const isOwnershipChanged = !deepEqual(owners, old ? ownerEdges(old) : [])
  return {
    document: type.storageVersion === served.apiVersion ? document : new Document(revision, textOf(served), served),
    change: {
      type: kind,
      resource: type.resource,
      namespace: type.namespaced ? namespace : '',
      name,
      uid,
      document,
      ...(isOwnershipChanged ? { owners } : {}),
    },
  }
}

/** A document of an answer that is not stored, such as that of a dry run. */
export function unstored(object: KubeObject): Document {
  const { apiVersion, kind, ...rest } = object as StoredObject
  const ordered = { apiVersion, kind, ...rest }
  return new Document(Number(object.metadata.resourceVersion ?? 0), JSON.stringify(ordered), ordered)
}

function withRevision(object: KubeObject, revision: number): StoredObject {
  const { apiVersion, kind, metadata, ...rest } = object
  return { apiVersion, kind, metadata: { ...metadata, resourceVersion: String(revision) }, ...rest } as StoredObject
}

function textOf(object: StoredObject): string {
  const text = JSON.stringify(object)
  if (text.length > maxObjectSize)
    throw new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${maxObjectSize}`)
  return text
}
