import { apiVersionOf, parseApiVersion } from '../../../kube/object.ts'
import type { StatusError } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { DecodeError } from '../../schema/decode/decode-scalar.ts'
import { decodeObject } from '../../schema/decode/decode.ts'
import { invalid, invalidValue } from '../../schema/types/field-error.ts'
import { goPrint } from '../../schema/patch/go-print.ts'
import { builtinSchema } from '../../schema/types/object-schema.ts'
import { restoreFault } from '../../schema/decode/restore-fault.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import type { StructType, TypeExpression } from '../../schema/types/type-table.ts'
import { unconvertible } from './decode-body.ts'
import type { PatchRequest } from '../contract/request.ts'

/** The 422 for a patch whose result cannot be decoded. It quotes the result, or the patch itself if strategic. */
export function invalidPatch(request: PatchRequest, result: unknown, why: string): StatusError {
  const { type, patchType, body } = request
  const { struct } = type.schema
  const quoted =
    patchType === 'strategic'
      ? goPrint(body)
      : JSON.stringify(inGoOrder(result, struct && typeOf(struct), touched(request)))
  return invalid({ group: '', kind: '' }, '', [invalidValue('patch', quoted, why)])
}

/** Go's error for a patched object that cannot be decoded. */
export function decodeFault({ type, patchType }: PatchRequest, result: unknown, error: StatusError): string {
  const { struct } = type.schema
  if (patchType === 'strategic' && struct) return restoreFault(result, typeOf(struct)) ?? messageOf(error)
  return kindFault(type, result) ?? messageOf(error)
}

/** A patch that changes apiVersion or kind: the result is decoded as the kind it names. */
function kindFault(type: ServedKind, result: unknown): string | undefined {
  if (type.custom || !isRecord(result)) return undefined
  const { apiVersion, kind } = result
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  if (apiVersion === apiVersionOf(type) && kind === type.kind) return undefined
  const schema = builtinSchema({ ...parseApiVersion(apiVersion), kind })
  if (!schema) return unconvertible(type, { apiVersion, kind })
  try {
    decodeObject(schema, result)
    return unconvertible(type, { apiVersion, kind })
  } catch (error) {
    return messageOf(error as Error)
  }
}

function messageOf(error: Error): string {
  return error.cause instanceof DecodeError ? error.cause.message : error.message
}

/** The objects that a patch touches, as nested keys. */
function touched({ patchType, body }: PatchRequest): unknown {
  if (patchType !== 'json' || !Array.isArray(body)) return body
  const root: Record<string, unknown> = {}
  for (const { path, from } of body as readonly { readonly path?: unknown; readonly from?: unknown }[])
    for (const pointer of [path, from]) {
      if (typeof pointer !== 'string') continue
      let at = root
      for (const step of pointer.split('/').slice(1, -1)) at = (at[step] ??= {}) as Record<string, unknown>
    }
  return root
}

/** Orders keys as Go prints them: sorted where the patch touched an object and in maps, else in struct field order. */
function inGoOrder(value: unknown, type: TypeExpression | undefined, patch: unknown): unknown {
  if (Array.isArray(value)) {
    const item = type?.is === 'list' ? type.of : undefined
    return value.map((each, index) => inGoOrder(each, item, isRecord(patch) ? patch[index] : undefined))
  }
  if (!isRecord(value)) return value
  const fields = type?.is === 'struct' ? type.struct.fields : undefined
  const names = Object.keys(value).toSorted()
  const order = fields && !isRecord(patch) ? [...fields.keys()] : []
  const ordered = [
    ...order.filter((name) => Object.hasOwn(value, name)),
    ...names.filter((name) => !order.includes(name)),
  ]
  const typeAt = (name: string) => fields?.get(name)?.type ?? (type?.is === 'map' ? type.of : undefined)
  return Object.fromEntries(
    ordered.map((name) => [name, inGoOrder(value[name], typeAt(name), isRecord(patch) ? patch[name] : undefined)]),
  )
}

function typeOf(struct: StructType): TypeExpression {
  return { is: 'struct', struct }
}
