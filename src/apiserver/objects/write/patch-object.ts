import { apiVersionOf, parseApiVersion, type KubeObject } from '../../../kube/object.ts'
import { isStatusError, notFound, StatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { strictFindings, yamlFault } from '../../schema/decode/decode.ts'
import { apply, checkTyped } from '../../schema/managed-fields/apply.ts'
import type { Document } from '../../store/document.ts'
import type { Decision, View } from '../../store/store.ts'
import { appliedRecord, applyPatch, operationFindings } from './apply-patch.ts'
import { decideCreate } from './create-object.ts'
import { withType } from './decode-body.ts'
import { badRequest, conflict, modifiedMeanwhile } from '../contract/failures.ts'
import { withRequestNamespace } from '../contract/metadata.ts'
import { decodeFault, invalidPatch } from './patch-fault.ts'
import type { PatchRequest, WriteResult } from '../contract/request.ts'
import { resetFieldsOf, reviseObject } from './revise-object.ts'
import { decideScalePatch } from './scale-object.ts'
import type { WritePorts } from '../contract/write-object.ts'
import { parsePatchOptions, type WriteOptions } from '../contract/write-options.ts'

/** Applies one of the four kinds of patch. Only server-side apply creates a missing object. */
export async function patchObject(ports: WritePorts, request: PatchRequest): Promise<WriteResult> {
  const options = parsePatchOptions(request)
  if (request.patchType === 'strategic' && request.type.custom)
    throw new StatusError(
      'UnsupportedMediaType',
      'the body of the request was in an unknown format - accepted media types include: ' +
        'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    )
  const decide = request.subresource === 'scale' ? decideScalePatch : decidePatch
  return ports.write((view) => decide(ports, view, { request, options }))
}

/** A patch with validated options. */
export interface Patch {
  readonly request: PatchRequest
  readonly options: WriteOptions
}

function decidePatch(ports: WritePorts, view: View, patch: Patch): Decision<WriteResult> {
  const { request, options } = patch
  const { type, name, namespace = '', subresource = '', user } = request
  if (request.isRefused?.(view)) throw conflict(type, name, modifiedMeanwhile)
  const existing = view.get({ resource: type.resource, namespace, name })
  const now = formatTime(ports.clock.now())
  if (!existing) {
    if (request.patchType !== 'apply' || subresource) throw notFound(type, name)
    const { object: made, warnings } = proposeApply(patch, undefined, now)
    const { resourceVersion: _version, ...metadata } = made.metadata
    if (metadata.uid)
      throw conflict(
        type,
        name,
        `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`,
      )
    const object = { ...made, metadata }
    return decideCreate(ports, view, { type, namespace, object, user, options, warnings, isApplied: true })
  }
  const current = type.serve(existing.document)
  const proposal = request.patchType === 'apply' ? proposeApply(patch, current, now) : proposePatch(patch, current)
  const { document, changes, warnings } = reviseObject(ports, view, {
    type,
    name,
    namespace,
    subresource,
    user,
    options,
    current,
    proposed: proposal.object,
    isReplacement: false,
    isApplied: request.patchType === 'apply',
  })
  return {
    answer: { document, created: false, warnings: [...proposal.warnings, ...warnings] },
    changes,
  }
}

interface Proposal {
  readonly object: KubeObject
  readonly warnings: readonly string[]
}

function proposePatch({ request, options }: Patch, current: Document): Proposal {
  const { type, duplicates = [] } = request
  const result = applyPatch(type.schema, current.value, request)
  const { object, unknown } = decodePatched(request, result)
  const findings = strictFindings({ unknown, duplicates, others: operationFindings(request) })
  if (!findings || options.fieldValidation === 'Ignore') return { object, warnings: [] }
  if (options.fieldValidation === 'Warn') return { object, warnings: findings.warnings }
  throw invalidPatch(request, result, `strict decoding error: ${findings.fault}`)
}

/** Decodes the patched object; a result that cannot be decoded is the patch's fault (422). */
function decodePatched(request: PatchRequest, result: unknown) {
  const { type } = request
  try {
    return type.decode(withType(type, result))
  } catch (error) {
    if (!isStatusError(error, 'BadRequest')) throw error
    throw invalidPatch(request, result, decodeFault(request, result, error))
  }
}

function proposeApply({ request, options }: Patch, current: Document | undefined, now: string): Proposal {
  const { type, name, namespace = '', subresource = '', force = false, duplicates = [] } = request
  checkApplied(request)
  const { object, unknown } = decodeApplied(request)
  const { metadata } = object
  if (!metadata.name && !current)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name && metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (unknown.length > 0) throw undeclaredFieldsError(request, object, unknown)
  if (duplicates.length > 0 && options.fieldValidation === 'Strict')
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${yamlFault(duplicates)}`)
  const merged = apply({
    schema: type.schema,
    live: current?.value,
    // As sent: decoding adds zero values, which the manager did not apply and must not own.
    applied: withMetadata(withType(type, request.body)),
    manager: options.manager,
    force,
    now,
    ...(subresource ? { subresource } : {}),
    resetFields: resetFieldsOf(type, subresource),
    schemaOf: type.schemaOf,
  })
  const version = current && metadata.resourceVersion ? { resourceVersion: metadata.resourceVersion } : {}
  return {
    object: withRequestNamespace(type, { ...merged, metadata: { ...merged.metadata, ...version } }, namespace),
    warnings: options.fieldValidation === 'Warn' ? duplicates : [],
  }
}

function withMetadata(body: Record<string, unknown>): KubeObject {
  return { ...body, metadata: body['metadata'] ?? {} } as KubeObject
}

/** Schema errors of a configuration are reported before decoding errors. */
function decodeApplied({ type, body }: PatchRequest) {
  try {
    return type.decode(withType(type, body))
  } catch (error) {
    checkTyped(type.schema, body as KubeObject)
    throw error
  }
}

/** An apply configuration must name its apiVersion and kind. */
function checkApplied({ type, body }: PatchRequest): void {
  const { apiVersion = '', kind = '' } = appliedRecord(body) as {
    readonly apiVersion?: unknown
    readonly kind?: unknown
  }
  if (apiVersion === apiVersionOf(type) && kind === type.kind) return
  const { group, version } = parseApiVersion(String(apiVersion))
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${String(kind)}`)
}

/** The 400 for fields that the schema does not declare: no manager can own them. */
function undeclaredFieldsError(
  { type }: PatchRequest,
  { metadata }: KubeObject,
  unknown: readonly string[],
): StatusError {
  const { group, version, kind } = type
  const lines = unknown.map((path) => `.${path}: field not declared in schema`)
  const what = lines.length === 1 ? lines[0] : `errors:\n${lines.map((line) => `  ${line}`).join('\n')}`
  return badRequest(
    `failed to create typed patch object (${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${group}/${version}, Kind=${kind}): ${what}`,
  )
}
