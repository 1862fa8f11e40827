import { parseApiVersion, type KubeObject, type OwnerReference } from '../../../../kube/object.ts'
import { deepEqual } from '../../../../kube/patches/patch.ts'
import { invalidValue, required, tooLong, tooMany, type FieldError } from '../../types/field-error.ts'
import { checked } from './checks.ts'
import { labelValueFaults, qualifiedNameFaults, type NameCheck } from '../../../../kube/names.ts'

const annotationBytes = 262_144

/** Faults of the metadata of a new object. */
export function* metadataFaults({ metadata }: KubeObject, nameCheck: NameCheck): Generator<FieldError> {
  const { name = '', generateName = '', labels, annotations, finalizers = [], ownerReferences = [] } = metadata
  if (generateName) {
    const stem = generateName.endsWith('-') ? generateName.slice(0, -1) : generateName
    for (const fault of nameCheck(stem)) yield invalidValue('metadata.generateName', generateName, fault)
  }
  if (!name) yield required('metadata.name', 'name or generateName is required')
  else yield* checked('metadata.name', name, nameCheck)
  yield* labelsFaults('metadata.labels', labels)
  yield* annotationsFaults('metadata.annotations', annotations)
  yield* ownersFaults(ownerReferences)
  for (const [index, finalizer] of finalizers.entries()) yield* finalizerFaults(finalizer, index)
  yield* propagationFaults(finalizers)
}

/** Faults of a change of metadata. Unchanged parts are not validated again. */
export function* metadataChangeFaults(object: KubeObject, old: KubeObject): Generator<FieldError> {
  const { labels, annotations, ownerReferences = [], finalizers = [] } = object.metadata
  if (object.metadata.name !== old.metadata.name) {
    yield invalidValue('metadata.name', object.metadata.name ?? '', 'field is immutable')
  }
  if (object.metadata.namespace !== old.metadata.namespace) {
    yield invalidValue('metadata.namespace', object.metadata.namespace ?? '', 'field is immutable')
  }
  if (!deepEqual(labels, old.metadata.labels)) yield* labelsFaults('metadata.labels', labels)
  if (!deepEqual(annotations, old.metadata.annotations)) yield* annotationsFaults('metadata.annotations', annotations)
  if (!deepEqual(ownerReferences, old.metadata.ownerReferences)) yield* ownersFaults(ownerReferences)
  const known = new Set(old.metadata.finalizers)
  for (const [index, finalizer] of finalizers.entries()) {
    if (!known.has(finalizer)) yield* finalizerFaults(finalizer, index)
  }
  yield* propagationFaults(finalizers)
}

/** Faults of labels. */
export function* labelsFaults(path: string, labels: unknown): Generator<FieldError> {
  for (const [key, value] of Object.entries((labels ?? {}) as Record<string, unknown>)) {
    yield* checked(path, key, qualifiedNameFaults)
    yield* checked(path, value, labelValueFaults)
  }
}

/** Faults of annotations, including their total size. */
export function* annotationsFaults(path: string, annotations: unknown): Generator<FieldError> {
  let bytes = 0
  for (const [key, value] of Object.entries((annotations ?? {}) as Record<string, string>)) {
    for (const fault of qualifiedNameFaults(key.toLowerCase())) yield invalidValue(path, key, fault)
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (bytes > annotationBytes) yield tooLong(path, annotationBytes)
}

function* finalizerFaults(finalizer: string, index: number): Generator<FieldError> {
  yield* checked('metadata.finalizers', finalizer, qualifiedNameFaults)
  if (!finalizer.includes('/') && !standardFinalizers.has(finalizer)) {
    yield invalidValue(
      `metadata.finalizers[${index}]`,
      finalizer,
      'name is neither a standard finalizer name nor is it fully qualified',
    )
  }
}

/** A delete cannot both orphan its dependents and wait for them. */
function* propagationFaults(finalizers: readonly string[]): Generator<FieldError> {
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    yield invalidValue('metadata.finalizers', finalizers, 'finalizer orphan and foregroundDeletion cannot be both set')
}

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

/** Kubernetes has no limit. Every reference costs lookups when an owner is deleted, and real objects have a handful. */
const maxOwners = 100

function* ownersFaults(owners: readonly OwnerReference[]): Generator<FieldError> {
  const path = 'metadata.ownerReferences'
  if (owners.length > maxOwners) return yield tooMany(path, owners.length, maxOwners)
  let controller: OwnerReference | undefined
  for (const owner of owners) {
    const { version, group } = parseApiVersion(owner.apiVersion)
    if (!version || version.includes('/'))
      yield invalidValue(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty')
    for (const field of ['kind', 'name', 'uid'] as const) {
      if (!owner[field]) yield invalidValue(`${path}.${field}`, '', 'must not be empty')
    }
    if (owner.kind === 'Event' && group === '' && version === 'v1') {
      yield invalidValue(path, owner, '/v1, Kind=Event is disallowed from being an owner')
    }
    if (!owner.controller) continue
    if (controller) {
      const found = `${controller.kind}/${controller.name} and ${owner.kind}/${owner.name}`
      yield invalidValue(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${found}`,
      )
    } else controller = owner
  }
}
