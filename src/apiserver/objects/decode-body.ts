import { apiVersionOf, type KubeObject } from '../../kube/object.ts'
import type { ServedKind } from '../kinds/served-kind.ts'
import { strictError, strictFindings } from '../schema/decode.ts'
import { badRequest } from './failures.ts'
import type { Manner } from './write-options.ts'

/** A body as its type keeps it, and what to warn of. */
export interface DecodedBody {
  readonly object: KubeObject
  readonly warnings: readonly string[]
}

/** Reads a body as an object of this type; BadRequest when it is none, or says more than it may under `Strict`. */
export function decodeBody(
  type: ServedKind,
  { body, duplicates = [] }: { readonly body: unknown; readonly duplicates?: readonly string[] },
  { fieldValidation }: Pick<Manner, 'fieldValidation'>,
): DecodedBody {
  const { object, unknown } = type.decode(withType(type, body))
  const findings = strictFindings({ unknown, duplicates })
  if (findings.length === 0 || fieldValidation === 'Ignore') return { object, warnings: [] }
  if (fieldValidation === 'Strict') throw strictError(type, findings)
  return { object, warnings: findings }
}

/** The body with the apiVersion and kind of its URL, if it leaves them out; refuses others. */
export function withType(type: ServedKind, body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goName(body)} into Go value of type struct ` +
        '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    )
  const expected = apiVersionOf(type)
  const { apiVersion = expected, kind = type.kind } = body as { apiVersion?: unknown; kind?: unknown }
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw badRequest(`couldn't get version/kind; json parse error: apiVersion and kind must be strings`)
  if ((apiVersion || expected) !== expected)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    )
  if ((kind || type.kind) !== type.kind)
    throw badRequest(
      `${kind} in version "${type.version}" cannot be handled as a ${type.kind}: ` +
        `no conversion from ${kind} to ${type.kind}`,
    )
  return { ...body, apiVersion: expected, kind: type.kind }
}

function goName(body: unknown): string {
  if (Array.isArray(body)) return 'array'
  return body === null || body === undefined ? 'null' : typeof body === 'boolean' ? 'bool' : typeof body
}
