import { apiVersionOf, type KubeObject } from '../../../kube/object.ts'
import { notFound } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { decodeObject, strictError, strictFindings } from '../../schema/decode/decode.ts'
import { apply } from '../../schema/managed-fields/apply.ts'
import { fromScaleEntries, toScaleEntries } from '../../schema/managed-fields/scale-entries.ts'
import { builtinSchema, type ObjectSchema } from '../../schema/types/object-schema.ts'
import type { Document } from '../../store/document.ts'
import type { Decision, View } from '../../store/store.ts'
import { appliedRecord, applyPatch } from './apply-patch.ts'
import type { Patch } from './patch-object.ts'
import type { PatchRequest, UpdateRequest, WriteResult } from '../contract/request.ts'
import { reviseObject } from './revise-object.ts'
import { withReplicas, scaleOf } from '../read/scale.ts'
import { unstored, type WritePorts } from '../contract/write-object.ts'
import type { WriteOptions } from '../contract/write-options.ts'

/** Decides a PUT of a Scale. */
export function decideScaleUpdate(
  ports: WritePorts,
  view: View,
  { request, options }: { readonly request: UpdateRequest; readonly options: WriteOptions },
): Decision<WriteResult> {
  return replace(ports, view, { request, options, current: currentOf(view, request), body: request.body })
}

/** Decides a PATCH of a Scale, of any patch type. */
export function decideScalePatch(ports: WritePorts, view: View, { request, options }: Patch): Decision<WriteResult> {
  const current = currentOf(view, request)
  if (request.patchType === 'apply') return applyScale(ports, view, { request, options, current })
  const body = applyPatch(scaleSchema(), scaleOf(request.type, current.value), request)
  return replace(ports, view, { request, options, current, body })
}

interface Rescaling {
  readonly request: UpdateRequest | PatchRequest
  readonly options: WriteOptions
  readonly current: Document
}

function replace(
  ports: WritePorts,
  view: View,
  { body, ...rescaling }: Rescaling & { readonly body: unknown },
): Decision<WriteResult> {
  const { request, options, current } = rescaling
  const scale = decodeScale(request.type, body, options)
  const proposed = withIdentity(withReplicas(request.type, current.value, scale), scale)
  return rescale(ports, view, { ...rescaling, proposed })
}

function applyScale(
  ports: WritePorts,
  view: View,
  rescaling: Rescaling & { request: PatchRequest },
): Decision<WriteResult> {
  const { request, options, current } = rescaling
  const { type, force = false } = request
  const object = current.value
  const apiVersion = apiVersionOf(type)
  const mapping = { apiVersion, replicasPaths: { [apiVersion]: type.scale?.specReplicasPath ?? '' } }
  const live = scaleOf(type, object)
  const managedFields = toScaleEntries(object.metadata.managedFields, mapping)
  const result = apply({
    schema: scaleSchema(),
    live: { ...live, metadata: { ...live.metadata, managedFields } },
    // As sent: decoding adds zero values, which the manager did not apply and must not own.
    applied: appliedRecord(request.body) as unknown as KubeObject,
    manager: options.manager,
    force,
    now: formatTime(ports.clock.now()),
    subresource: 'scale',
  })
  decodeScale(type, request.body, options)
  const entries = fromScaleEntries(object.metadata.managedFields, result.metadata.managedFields, mapping)
  const changed = withReplicas(type, object, result)
  const proposed = { ...changed, metadata: { ...changed.metadata, managedFields: entries } }
  return rescale(ports, view, { ...rescaling, proposed, isApplied: true })
}

function rescale(
  ports: WritePorts,
  view: View,
  { request, options, current, proposed, isApplied = false }: Rescaling & { proposed: KubeObject; isApplied?: boolean },
): Decision<WriteResult> {
  const { type, name, namespace = '', user } = request
  const update = {
    type,
    name,
    namespace,
    subresource: 'scale',
    user,
    options,
    current,
    proposed,
    isReplacement: false,
    isApplied,
  }
  const { document, changes, warnings } = reviseObject(ports, view, update)
  const answer = { document: unstored(scaleOf(type, document.value)), created: false, warnings }
  return { answer, changes }
}

function currentOf(view: View, { type, namespace = '', name }: UpdateRequest | PatchRequest): Document {
  const existing = view.get({ resource: type.resource, namespace, name })
  if (!existing) throw notFound(type, name)
  return type.serve(existing.document)
}

function decodeScale(type: ServedKind, body: unknown, { fieldValidation }: WriteOptions): KubeObject {
  const { object, unknown } = decodeObject(scaleSchema(), body)
  const findings = strictFindings({ unknown })
  if (findings && fieldValidation === 'Strict') throw strictError(scaleSchema().gvk, findings)
  return object.metadata ? object : { ...object, apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: {} }
}

/** Copies the preconditions of a Scale (resourceVersion, uid) to its object. */
function withIdentity(object: KubeObject, scale: KubeObject): KubeObject {
  const { resourceVersion, uid, name, namespace } = scale.metadata
  const { resourceVersion: _old, ...metadata } = object.metadata
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(resourceVersion ? { resourceVersion } : {}),
      ...(uid ? { uid } : {}),
      ...(name ? { name } : {}),
      ...(namespace ? { namespace } : {}),
    },
  }
}

function scaleSchema(): ObjectSchema {
  const schema = builtinSchema({ group: 'autoscaling', version: 'v1', kind: 'Scale' })
  if (!schema) throw new Error('no type for Scale')
  return schema
}
