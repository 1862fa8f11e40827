import type { KubeObject, ObjectMeta, StoredObject } from '../../../kube/object.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { withoutFinalizerNameErrors } from '../../kinds/rules/finalizer-name-errors.ts'
import { invalid, invalidValue } from '../../schema/types/field-error.ts'
import { metadataChangeFaults } from '../../schema/validation/parts/metadata.ts'
import { changedOnlyInManagedTimes } from '../../schema/managed-fields/changed-only-in-managed-times.ts'
import { trackUpdate } from '../../schema/managed-fields/track-update.ts'
import type { Document } from '../../store/document.ts'
import type { Change, View } from '../../store/store.ts'
import { mutate, validate, type Review } from '../contract/admission.ts'
import { badRequest, conflict, modifiedMeanwhile, uidMismatch } from '../contract/failures.ts'
import { endsOrphaning, freeDependents } from '../ending/free-dependents.ts'
import { keepNotedRecord, storeDeletionRecord } from '../ending/store-deletion-record.ts'
import {
  immutableErrors,
  isSpecChanged,
  withServerMetadata,
  newFinalizerErrors,
  withRequestNamespace,
} from '../contract/metadata.ts'
import { checkNumber } from '../contract/resource-version.ts'
import { changeTo, unstored, type WritePorts } from '../contract/write-object.ts'
import type { WriteOptions } from '../contract/write-options.ts'

/** A proposed change to an existing object. */
export interface ProposedUpdate extends Pick<Review, 'type' | 'name' | 'namespace' | 'subresource' | 'user'> {
  readonly options: WriteOptions
  /** The stored object, in the version of the request. */
  readonly current: Document
  /** The object as the client wants it. */
  readonly proposed: KubeObject
  /** Whether the client sent a whole object (PUT) instead of a patch. */
  readonly isReplacement: boolean
  /** Set by server-side apply, which has set managedFields already. */
  readonly isApplied?: boolean
}

/**
 * Decides an update inside a store transaction: preconditions, defaults, managedFields, admission, validation,
 * generation. Removes a terminating object once nothing holds it.
 */
export function reviseObject(ports: WritePorts, view: View, update: ProposedUpdate) {
  const { type, options, current } = update
  const old = current.value
  checkIdentity(update)
  const shaped = type.default(shape(ports, update), { isApplied: update.isApplied === true })
  // Tracked before admission: fields belong to the client that sent them, not to the server's mutations.
  const tracked = update.isApplied ? shaped : track(update, shaped, formatTime(ports.clock.now()))
  const { object, warnings } = admit(ports, view, update, tracked)
  if (changedOnlyInManagedTimes(old, object) && !isReadyToRemove(type, object))
    return { document: current, changes: [], warnings }
  if (options.isDryRun) return { document: unstored(object), changes: [], warnings }
  const kind = isReadyToRemove(type, object) ? 'delete' : 'update'
  const before = changesBefore(ports, view, { type, old, object })
  const { document, change } = changeTo(type, object, { kind, revision: view.nextRevision + before.length, old })
  return { document, changes: [...before, change], warnings }
}

/** Changes that precede the update in its transaction: freed dependents, or the record of the deletion. */
function changesBefore(
  ports: WritePorts,
  view: View,
  { type, old, object }: { readonly type: ServedKind; readonly old: StoredObject; readonly object: KubeObject },
): readonly Change[] {
  if (endsOrphaning(old, object)) return freeDependents(ports, view, { type, owner: old })
  return isReadyToRemove(type, object) ? storeDeletionRecord(ports, view, { object: old }) : []
}

/** Whether an object is terminating and nothing holds it: no finalizer, no grace period, no rule of its kind. */
export function isReadyToRemove({ rules }: ServedKind, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined || finalizers.length > 0 || deletionGracePeriodSeconds > 0) return false
  return !(rules.isHeld?.(object) ?? false)
}

function checkIdentity(update: ProposedUpdate): void {
  const { type, name, namespace, subresource, current, proposed, isReplacement } = update
  const { metadata } = withRequestNamespace(type, proposed, namespace)
  const old = current.value.metadata
  if (metadata.name && metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (!metadata.name)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  // In a PUT the uid is a precondition; in a patch it is a change of an immutable field.
  if (isReplacement && metadata.uid && metadata.uid !== old.uid)
    throw uidMismatch(type, { namespace, name }, [metadata.uid, old.uid])
  // As in kube-apiserver, 0 is no version at all.
  const version = metadata.resourceVersion === '0' ? undefined : metadata.resourceVersion
  if (version && version !== old.resourceVersion) {
    checkNumber(version)
    throw conflict(type, name, modifiedMeanwhile)
  }
  if (!version && isReplacement && subresource === '' && !type.rules.allowsUnconditionalUpdate)
    throw invalid({ group: type.group, kind: type.plural }, name, [missingVersion])
}

const missingVersion = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')

/** Takes only the part that the endpoint writes from the proposal, and the rest from the stored object. */
function shape(ports: WritePorts, { type, namespace, subresource, current, proposed }: ProposedUpdate): KubeObject {
  const old = current.value
  const kept = withServerMetadata(withRequestNamespace(type, proposed, namespace).metadata, old.metadata)
  const metadata = keepNotedRecord(ports, kept, old)
  switch (subresource) {
    case '':
      return type.rules.hasStatus ? withStatusOf(old, { ...proposed, metadata }) : { ...proposed, metadata }
    case 'approval':
    case 'status':
      return withStatusOf(proposed, { ...old, metadata: statusMetadata(type, metadata, old) })
    case 'finalize':
      return { ...old, spec: { ...(old.spec as object), finalizers: finalizersOf(proposed) } }
    case 'scale':
      return { ...proposed, metadata }
    default:
      return { ...old, metadata, ...(proposed.spec === undefined ? {} : { spec: proposed.spec }) }
  }
}

function withStatusOf(source: KubeObject, object: KubeObject): KubeObject {
  const { status: _status, ...rest } = object
  return (source.status === undefined ? rest : { ...rest, status: source.status }) as KubeObject
}

/** The metadata that a write of /status may change, by the kind's rule. managedFields are always updated. */
function statusMetadata({ rules }: ServedKind, metadata: ObjectMeta, { metadata: old }: StoredObject): ObjectMeta {
  const { managedFields } = metadata
  switch (rules.statusMetadata) {
    case 'all':
      return metadata
    case 'none':
      return { ...old, ...(managedFields === undefined ? {} : { managedFields }) }
    case 'no labels': {
      const { labels: _labels, ...rest } = metadata
      return old.labels === undefined ? rest : { ...rest, labels: old.labels }
    }
  }
}

/** `spec.finalizers`, which Namespaces have. */
export function finalizersOf({ spec }: KubeObject): readonly string[] {
  return (spec as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? []
}

function admit(
  ports: WritePorts,
  view: View,
  update: ProposedUpdate,
  proposed: KubeObject,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { type, name, namespace, subresource, user, options } = update
  const { rules } = type
  const old = update.current.value
  const review: Review & { object: KubeObject } = {
    operation: 'UPDATE',
    type,
    namespace,
    name,
    subresource,
    user,
    isDryRun: options.isDryRun,
    object: proposed,
    old,
    view,
  }
  const admitted = mutate(ports.hooks, review)
  const prepared = subresource === '' ? (rules.prepareUpdate?.(admitted, old) ?? admitted) : admitted
  const object = withGeneration(type, prepared, old)
  // kube-apiserver reports these errors twice: generically, and in the validation of the kind.
  const identity = [...newFinalizerErrors(object, old), ...immutableErrors(update.proposed.metadata, old.metadata)]
  const errors = [
    ...identity,
    // The generic check knows no domains: only built-in kinds, in their own validation, require a domain in a finalizer.
    ...withoutFinalizerNameErrors([...metadataChangeFaults(object, old)]),
    ...identity,
    ...type.validateUpdate(object, old),
    ...(subresource === '' ? (rules.validate?.(object, old) ?? []) : []),
  ]
  if (errors.length > 0) throw invalid(type, name, errors)
  return { object, warnings: validate(ports.hooks, { ...review, object }) }
}

function withGeneration(type: ServedKind, object: KubeObject, old: StoredObject): KubeObject {
  if (!type.rules.hasGeneration || !isSpecChanged(type, object, old)) return object
  return { ...object, metadata: { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 } }
}

function track({ type, subresource, options, current }: ProposedUpdate, object: KubeObject, now: string): KubeObject {
  return trackUpdate({
    schema: type.schema,
    live: current.value,
    object,
    manager: options.manager,
    now,
    ...(subresource ? { subresource } : {}),
    resetFields: resetFieldsOf(type, subresource),
    schemaOf: type.schemaOf,
  })
}

/** Fields that the endpoint ignores, so that its writers do not become their owners. */
export function resetFieldsOf({ rules }: ServedKind, subresource: string): readonly string[] {
  if (subresource === 'status' || subresource === 'approval') return statusResets[rules.statusMetadata]
  return subresource === '' && rules.hasStatus ? ['status'] : []
}

const statusResets = { all: ['spec'], none: ['spec', 'metadata'], 'no labels': ['spec', 'metadata.labels'] } as const
