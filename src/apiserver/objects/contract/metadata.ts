import type { KubeObject, ObjectMeta, StoredMeta } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { forbidden, invalidValue, type FieldError } from '../../schema/types/field-error.ts'
import type { OwnerEdge } from '../../store/store.ts'
import { badRequest } from './failures.ts'

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5
const maxPrefixLength = 58

/** A name for `generateName`: the prefix and five random characters. */
export function generateName(prefix: string, random: () => number): string {
  const letter = () => suffixLetters[Math.floor(random() * suffixLetters.length)] ?? 'b'
  return prefix.slice(0, maxPrefixLength) + Array.from({ length: suffixLength }, letter).join('')
}

/** Sets the namespace of the URL; throws BadRequest when the body names another. Cluster-scoped objects get none. */
export function withRequestNamespace(type: ServedKind, object: KubeObject, namespace: string): KubeObject {
  const { namespace: given = '', ...metadata } = object.metadata
  if (!type.namespaced) return given ? { ...object, metadata } : object
  if (given && given !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  return given ? object : { ...object, metadata: { ...metadata, namespace } }
}

/** Metadata of a new object: sets the fields that belong to the server and drops what the client sent for them. */
export function newMetadata(
  metadata: ObjectMeta,
  { uid, now, generation }: { readonly uid: string; readonly now: string; readonly generation: number | undefined },
): ObjectMeta {
  const { uid: _uid, resourceVersion: _version, ...rest } = metadata
  const {
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    selfLink: _link,
    ...own
  } = rest as ObjectMeta & {
    selfLink?: string
  }
  return { ...own, uid, creationTimestamp: now, ...(generation === undefined ? {} : { generation }) }
}

/** Metadata of an update: restores the fields that clients cannot change. */
export function withServerMetadata(metadata: ObjectMeta, old: StoredMeta): ObjectMeta {
  const { generation: _generation, deletionTimestamp: _deleted, deletionGracePeriodSeconds: _grace, ...own } = metadata
  const { generation, deletionTimestamp, deletionGracePeriodSeconds } = old
  return {
    ...own,
    uid: old.uid,
    creationTimestamp: old.creationTimestamp,
    resourceVersion: old.resourceVersion,
    ...(generation === undefined ? {} : { generation }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
  }
}

/** Errors for fields that a client may send back unchanged, but not set. */
export function* immutableErrors(proposed: ObjectMeta, old: StoredMeta): Generator<FieldError> {
  const { uid, deletionTimestamp } = proposed
  if (uid && uid !== old.uid) yield invalidValue('metadata.uid', uid, 'field is immutable')
  if (deletionTimestamp && old.deletionTimestamp === undefined)
    yield invalidValue('metadata.deletionTimestamp', deletionTimestamp, 'field is immutable')
}

/** Errors for finalizers added to an object that is being deleted. */
export function* newFinalizerErrors(object: KubeObject, old: KubeObject): Generator<FieldError> {
  if (old.metadata.deletionTimestamp === undefined) return
  const before = new Set(old.metadata.finalizers)
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer))
  if (added.length === 0) return
  const names = added.map((name) => JSON.stringify(name)).join(', ')
  yield forbidden(
    'metadata.finalizers',
    `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`,
  )
}

/** Whether anything changed besides metadata and, for kinds with a status subresource, status. */
export function isSpecChanged(type: ServedKind, object: KubeObject, old: KubeObject): boolean {
  const ignored = new Set(['apiVersion', 'kind', 'metadata', ...(type.rules.hasStatus ? ['status'] : [])])
  const fields = new Set([...Object.keys(object), ...Object.keys(old)])
  return [...fields].some((field) => !ignored.has(field) && !deepEqual(object[field], old[field]))
}

/** The owner references of an object, one per owner uid. */
export function ownerEdges({ metadata }: KubeObject): readonly OwnerEdge[] {
  const edges = new Map<string, OwnerEdge>()
  for (const { uid, blockOwnerDeletion, controller } of metadata.ownerReferences ?? []) {
    const known = edges.get(uid)
    edges.set(uid, {
      ownerUid: uid,
      blocking: blockOwnerDeletion === true || known?.blocking === true,
      controller: controller === true || known?.controller === true,
    })
  }
  return [...edges.values()]
}
