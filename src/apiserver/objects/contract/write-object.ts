import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patch.ts'
import { StatusError } from '../../../kube/status-error.ts'
import type { Kinds } from '../../kinds/kinds.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Clock } from '../../store/clock.ts'
import { Document } from '../../store/document.ts'
import type { Change, Store, View } from '../../store/store.ts'
import type { AdmissionHook } from './admission.ts'
import { ownerEdges } from './metadata.ts'
import type { DeletionRecordOf } from './deletion-record.ts'

/** Everything writes need from outside. */
export interface WritePorts {
  readonly store: Store
  readonly kinds: Kinds
  readonly clock: Clock
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number
  /** A new uid. */
  readonly uid: () => string
  /** All policies, the built-in ones first. */
  readonly hooks: readonly AdmissionHook[]
  /** Whether deleting this object has to wait until what depends on it is gone: Krake's `cascade_deletion`. */
  readonly cascades: (object: KubeObject, view: View) => boolean
  /** What is stored together with the removal of an object. */
  readonly recordOf: DeletionRecordOf
  /** Whether new objects say who set which field; those that do not are never followed. */
  readonly tracksFields: boolean
}

/** Kubernetes' limit, which is etcd's. */
const maxObjectSize = 1_572_864

/** One write: what to store, and what to answer. */
export interface Written {
  readonly change: Change
  readonly document: Document
}

/** Makes an object of a served version into a change of the store. */
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

/** An answer that was never stored. */
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
