import { isRecord } from '../../../kube/basics/json.ts'
import { jsonPatch, type JsonPatchOperation } from '../../../kube/patches/json-patch.ts'
import { apiVersionOf } from '../../../kube/object.ts'
import { mergePatch } from '../../../kube/patches/patch.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { kindOfJson } from '../../schema/decode/decode-scalar.ts'
import { strategicMergePatch } from '../../schema/patch/strategic-merge-patch.ts'
import type { ObjectSchema } from '../../schema/types/object-schema.ts'
import { badRequest } from '../contract/failures.ts'
import type { PatchRequest } from '../contract/request.ts'

const maxOperations = 10_000
const operations = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/** Applies a JSON, merge or strategic merge patch. Throws with kube-apiserver's text for malformed patches. */
export function applyPatch(
  schema: ObjectSchema,
  current: unknown,
  { patchType, body }: Pick<PatchRequest, 'patchType' | 'body'>,
): unknown {
  switch (patchType) {
    case 'json':
      return applyOperations(current, operationsOf(body))
    case 'merge':
      return mergePatch(current, recordOf(body, 'error decoding patch: '))
    case 'strategic':
      // apiVersion and kind of a strategic merge patch are ignored.
      return { ...(strategicMergePatch(schema, current, recordOf(body)) as object), ...typeOf(schema) }
    case 'apply':
      throw new Error('an apply is not a patch of the object')
  }
}

/** The fields of an apply configuration; throws BadRequest when it is not an object. */
export function appliedRecord(body: unknown): Record<string, unknown> {
  return recordOf(body ?? {}, 'error decoding YAML: error unmarshaling JSON: while decoding JSON: ')
}

function typeOf({ gvk }: ObjectSchema) {
  return { apiVersion: apiVersionOf(gvk), kind: gvk.kind }
}

/** Warnings about unknown fields in the operations of a JSON patch. */
export function operationFindings({ patchType, body }: PatchRequest): readonly string[] {
  if (patchType !== 'json' || !Array.isArray(body)) return []
  return body.flatMap((operation, index) =>
    Object.keys((operation ?? {}) as object)
      .filter((name) => !['op', 'path', 'from', 'value'].includes(name))
      .map((name) => `json patch unknown field "[${index}].${name}"`),
  )
}

/** Like kube-apiserver, the error does not say which operation failed. */
function applyOperations(current: unknown, patch: readonly JsonPatchOperation[]): unknown {
  try {
    return jsonPatch(current, patch)
  } catch (error) {
    throw rejected(error)
  }
}

function rejected(cause: unknown): StatusError {
  return new StatusError('Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
    cause,
  })
}

function operationsOf(body: unknown): readonly JsonPatchOperation[] {
  if (!Array.isArray(body))
    throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp')
  if (body.length > maxOperations)
    throw new StatusError(
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${body.length}`,
    )
  for (const operation of body as unknown[]) {
    checkOperation(operation)
    if (!isOperation(operation)) throw rejected(new Error(`invalid operation ${JSON.stringify(operation)}`))
  }
  return body as readonly JsonPatchOperation[]
}

/** Throws BadRequest for what Go could not decode as an operation. */
function checkOperation(value: unknown): void {
  const cannot = (given: unknown, into: string) =>
    badRequest(`error decoding patch: json: cannot unmarshal ${kindOfJson(given)} into Go ${into}`)
  if (value === null) return
  if (typeof value !== 'object' || Array.isArray(value)) throw cannot(value, 'value of type handlers.jsonPatchOp')
  for (const [name, text] of Object.entries(value))
    if (['op', 'path', 'from'].includes(name) && typeof text !== 'string' && text !== null)
      throw cannot(text, `struct field jsonPatchOp.${name} of type string`)
}

function isOperation(value: unknown): value is JsonPatchOperation {
  if (value === null) return false
  const { op, path, from } = value as Record<string, unknown>
  if (typeof op !== 'string' || typeof path !== 'string' || !operations.has(op)) return false
  return (op !== 'move' && op !== 'copy') || typeof from === 'string'
}

function recordOf(body: unknown, prefix = ''): Record<string, unknown> {
  if (isRecord(body)) return body
  throw badRequest(`${prefix}json: cannot unmarshal ${kindOfJson(body)} into Go value of type map[string]interface {}`)
}
