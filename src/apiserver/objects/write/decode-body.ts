import { apiVersionOf, parseApiVersion, type KubeObject, type OwnerReference } from '../../../kube/object.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { kindOfJson } from '../../schema/decode/decode-scalar.ts'
import { strictError, strictFindings } from '../../schema/decode/decode.ts'
import { invalid, invalidValue } from '../../schema/types/field-error.ts'
import { builtinSchema } from '../../schema/types/object-schema.ts'
import { badRequest, notRegistered } from '../contract/failures.ts'
import type { WriteOptions } from '../contract/write-options.ts'

/** A decoded body with warnings. */
export interface DecodedBody {
  readonly object: KubeObject
  readonly warnings: readonly string[]
}

/**
 * Decodes a body as an object of this kind. Unknown and duplicate fields are warnings, or BadRequest under `Strict`.
 */
export function decodeBody(
  type: ServedKind,
  { body, duplicates = [] }: { readonly body: unknown; readonly duplicates?: readonly string[] },
  { fieldValidation }: Pick<WriteOptions, 'fieldValidation'>,
): DecodedBody {
  const { object: decoded, unknown } = type.decode(withType(type, body))
  const findings = strictFindings({ unknown, duplicates })
  const { object, warnings } = withoutRepeatedOwners(decoded)
  if (!findings || fieldValidation === 'Ignore') return { object, warnings }
  if (fieldValidation === 'Strict') throw strictError(type, findings)
  return { object, warnings: [...findings.warnings, ...warnings] }
}

/** Removes identical owner references, with Kubernetes' warning. */
function withoutRepeatedOwners(object: KubeObject): DecodedBody {
  const { ownerReferences = [] } = object.metadata
  if (ownerReferences.length < 2) return { object, warnings: [] }
  // By a set: comparing every pair of thousands of references would block the server.
  const seen = new Set<string>()
  const repeated: OwnerReference[] = []
  const kept = ownerReferences.filter((owner) => {
    const key = JSON.stringify(Object.entries(owner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
    if (seen.has(key)) repeated.push(owner)
    return seen.size < seen.add(key).size
  })
  if (repeated.length === 0) return { object, warnings: [] }
  const uids = [...new Set(repeated.map(({ uid }) => uid))].join(', ')
  const warning =
    '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, ' +
    `and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`
  return { object: { ...object, metadata: { ...object.metadata, ownerReferences: kept } }, warnings: [warning] }
}

/** Adds the apiVersion and kind of the URL to a body without them; throws when it names others. */
export function withType(type: ServedKind, body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${kindOfJson(body)} into Go value of type struct ` +
        '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    )
  const expected = apiVersionOf(type)
  const { apiVersion = '', kind = '' } = body as { apiVersion?: unknown; kind?: unknown }
  if (typeof apiVersion !== 'string' || typeof kind !== 'string')
    throw badRequest(`couldn't get version/kind; json parse error: apiVersion and kind must be strings`)
  if (type.custom) checkCustomType(type, body, { apiVersion, kind })
  else checkBuiltinType(type, { apiVersion: apiVersion || expected, kind: kind || type.kind })
  return { ...body, apiVersion: expected, kind: type.kind }
}

interface TypeNames {
  readonly apiVersion: string
  readonly kind: string
}

/** Built-in kinds: apiVersion and kind may be omitted; others are refused with Go's conversion error. */
function checkBuiltinType(type: ServedKind, { apiVersion, kind }: TypeNames): void {
  if (apiVersion === apiVersionOf(type) && kind === type.kind) return
  const { version } = parseApiVersion(apiVersion)
  const why = unconvertible(type, { apiVersion, kind })
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${type.kind}: ${why}`)
}

/** Go's error for a body of one kind at the endpoint of another. */
export function unconvertible(type: ServedKind, { apiVersion, kind }: TypeNames): string {
  const { group, version } = parseApiVersion(apiVersion)
  return builtinSchema({ group, version, kind })
    ? `converting (${version}.${kind}) to (${type.group.split('.')[0] || 'core'}.${type.kind}): unknown conversion`
    : notRegistered(kind, apiVersion)
}

/** Custom resources must name their apiVersion and kind. */
function checkCustomType(type: ServedKind, body: object, { apiVersion, kind }: TypeNames): void {
  const expected = apiVersionOf(type)
  if (!kind) {
    const text = JSON.stringify(body)
    throw badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): Object 'Kind' is missing in '${text}' (${text.slice(0, 30)} ...)`,
    )
  }
  if (apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    )
  if (kind === type.kind) return
  const { name = '' } = ((body as { metadata?: unknown }).metadata ?? {}) as { readonly name?: string }
  throw invalid({ group: type.group, kind }, name, [invalidValue('kind', kind, `must be ${type.kind}`)])
}
