import { jsonPatch, mergePatch, type JsonPatchOperation } from '../../kube/patch.ts'
import { StatusError } from '../../kube/status-error.ts'
import { strategicMergePatch } from '../schema/strategic-merge-patch.ts'
import type { ObjectSchema } from '../schema/object-schema.ts'
import { badRequest } from './failures.ts'
import type { PatchRequest } from './request.ts'

const mostOperations = 10_000
const operations = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/** A value after a patch that is not an apply. Throws in the API's words for patches that are none. */
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
      return strategicMergePatch(schema, current, recordOf(body))
    case 'apply':
      throw new Error('an apply is not a patch of the object')
  }
}

/** The API does not tell which operation failed, nor why. */
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
  if (body.length > mostOperations)
    throw new StatusError(
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${mostOperations}, got ${body.length}`,
    )
  for (const operation of body as unknown[])
    if (!isOperation(operation)) throw rejected(new Error(`invalid operation ${JSON.stringify(operation)}`))
  return body as readonly JsonPatchOperation[]
}

function isOperation(value: unknown): value is JsonPatchOperation {
  if (typeof value !== 'object' || value === null) return false
  const { op, path, from } = value as Record<string, unknown>
  if (typeof op !== 'string' || typeof path !== 'string' || !operations.has(op)) return false
  return (op !== 'move' && op !== 'copy') || typeof from === 'string'
}

function recordOf(body: unknown, prefix = ''): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  throw badRequest(`${prefix}json: cannot unmarshal ${describe(body)} into Go value of type map[string]interface {}`)
}

function describe(body: unknown): string {
  return Array.isArray(body) ? 'array' : body === null ? 'null' : typeof body
}
