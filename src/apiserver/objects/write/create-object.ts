import type { KubeObject } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { invalid } from '../../schema/types/field-error.ts'
import { trackUpdate } from '../../schema/managed-fields/track-update.ts'
import type { Decision, View } from '../../store/store.ts'
import { mutate, sharedByAttempts, validate, type Review } from '../contract/admission.ts'
import { alreadyExists, badRequest } from '../contract/failures.ts'
import { generateName, newMetadata, withRequestNamespace } from '../contract/metadata.ts'
import { requireNamespace } from '../admission/namespace-lifecycle.ts'
import type { User, WriteResult } from '../contract/request.ts'
import { isTerminating } from '../contract/terminating.ts'
import { changeTo, unstored, type WritePorts } from '../contract/write-object.ts'
import type { WriteOptions } from '../contract/write-options.ts'

/** A decoded create request. */
export interface Creation {
  readonly type: ServedKind
  readonly namespace: string
  readonly object: KubeObject
  readonly user: User
  readonly options: WriteOptions
  readonly warnings: readonly string[]
  /** Set by server-side apply, which has set managedFields already. */
  readonly isApplied?: boolean
}

/** As many as kube-apiserver tries. */
const nameAttempts = 8

/** Decides a create inside a store transaction: namespace, name, defaults, managedFields, admission, validation. */
export function decideCreate(ports: WritePorts, view: View, creation: Creation): Decision<WriteResult> {
  const { type, namespace, options } = creation
  const placed = withRequestNamespace(type, creation.object, namespace)
  requireNamespace({ type, namespace, name: placed.metadata.name ?? '', view })
  if (isTerminating(type, view))
    throw new StatusError('MethodNotAllowed', 'create not allowed while custom resource definition is terminating')
  const named = withName(ports, view, creation, placed)
  const prepared = prepare(ports, { ...creation, object: named }, view)
  const { resourceVersion } = creation.object.metadata
  // As in kube-apiserver, it is the storage that refuses it: after validation, and not in a dry run.
  if (resourceVersion && !options.isDryRun)
    throw badRequest('resourceVersion should not be set on objects to be created')
  const name = prepared.object.metadata.name ?? ''
  const existing = view.get({ resource: type.resource, namespace: type.namespaced ? namespace : '', name })
  if (existing) throw alreadyExists(type, name, existing.document.value.metadata.deletionTimestamp !== undefined)
  const answer = { created: true, warnings: [...creation.warnings, ...prepared.warnings] }
  if (options.isDryRun) {
    const { metadata } = prepared.object
    const object = resourceVersion
      ? { ...prepared.object, metadata: { ...metadata, resourceVersion } }
      : prepared.object
    return { answer: { ...answer, document: unstored(object) }, changes: [] }
  }
  const { change, document } = changeTo(type, prepared.object, { kind: 'create', revision: view.nextRevision })
  return { answer: { ...answer, document }, changes: [change] }
}

/** Resolves generateName; gives up with AlreadyExists when all random names are taken. */
function withName(ports: WritePorts, view: View, { type, namespace }: Creation, object: KubeObject): KubeObject {
  const { name, generateName: prefix } = object.metadata
  if (name || !prefix) return object
  for (let attempt = 0; attempt < nameAttempts; attempt++) {
    const candidate = sharedByAttempts(view, `name ${attempt}`, () => generateName(prefix, ports.random))
    if (view.get({ resource: type.resource, namespace: type.namespaced ? namespace : '', name: candidate })) continue
    return { ...object, metadata: { ...object.metadata, name: candidate } }
  }
  throw alreadyExists(type, prefix)
}

function prepare(
  ports: WritePorts,
  creation: Creation,
  view: View,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { type, namespace, user, options } = creation
  const { rules } = type
  const now = sharedByAttempts(view, 'now', () => formatTime(ports.clock.now()))
  const uid = sharedByAttempts(view, 'uid', () => ports.uid())
  const generation = rules.hasGeneration ? 1 : undefined
  const withMetadata = {
    ...creation.object,
    metadata: newMetadata(creation.object.metadata, { uid, now, generation }),
  }
  const shaped = rules.hasStatus ? withoutStatus(type, withMetadata) : withMetadata
  const defaulted = type.default(shaped, { isApplied: creation.isApplied === true })
  // Tracked before admission: fields belong to the client that sent them, not to the server's mutations.
  const tracked = ports.tracksFields ? track(creation, defaulted, now) : defaulted
  const review: Review & { object: KubeObject } = {
    operation: 'CREATE',
    type,
    namespace,
    name: tracked.metadata.name ?? '',
    subresource: '',
    user,
    isDryRun: options.isDryRun,
    object: tracked,
    old: undefined,
    view,
  }
  const admitted = mutate(ports.hooks, review)
  const object = rules.prepareCreate?.(admitted, { uid, now }) ?? admitted
  const errors = [...type.validateCreate(object), ...(rules.validate?.(object, undefined) ?? [])]
  if (errors.length > 0) throw invalid(type, object.metadata.name ?? object.metadata.generateName ?? '', errors)
  const warnings = validate(ports.hooks, { ...review, object })
  return { object, warnings }
}

function track({ type, options, isApplied = false }: Creation, object: KubeObject, now: string): KubeObject {
  if (isApplied) return object
  const { schema, rules } = type
  const resetFields = rules.hasStatus ? ['status'] : []
  return trackUpdate({
    schema,
    live: undefined,
    object,
    manager: options.manager,
    now,
    resetFields,
    schemaOf: type.schemaOf,
  })
}

/** Drops the status that a client sent with a create; built-in kinds get their empty status. */
function withoutStatus(type: ServedKind, object: KubeObject): KubeObject {
  const { status: _status, ...rest } = object
  if (type.custom) return rest as KubeObject
  const { status } = type.decode({ apiVersion: object.apiVersion, kind: object.kind, metadata: {} }).object
  return (status === undefined ? rest : { ...rest, status }) as KubeObject
}
