import { apiVersionOf, type GroupVersionKind, type KubeObject } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { prune } from './prune.ts'
import { DecodeError } from './decode-scalar.ts'
import { decodeStruct } from './decode-struct.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { structType } from '../types/type-table.ts'

/** A decoded object and the paths of the fields that its type does not have. */
export interface Decoded {
  readonly object: KubeObject
  readonly unknown: readonly string[]
}

/**
 * Decodes a body to the object that the server stores: unknown fields are dropped and listed, nulls of built-in kinds
 * are dropped, and structs that Go always writes are added. Throws BadRequest with Go's message for a value of the
 * wrong type.
 */
export function decodeObject(schema: ObjectSchema, value: unknown): Decoded {
  try {
    return schema.struct ? decodeBuiltin(schema, value) : decodeCustom(schema, value)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badBody(schema.gvk, error.message, { cause: error })
  }
}

/** Unknown and duplicate fields of a body. */
export interface StrictFindings {
  /** One sentence each: `unknown field "spec.x"`. */
  readonly warnings: readonly string[]
  /** The same as the text of one error. */
  readonly fault: string
}

/** What strict decoding finds; undefined when there is nothing. `duplicates` are sentences already. */
export function strictFindings(found: {
  readonly unknown: readonly string[]
  readonly duplicates?: readonly string[]
  readonly others?: readonly string[]
}): StrictFindings | undefined {
  const { duplicates = [], others = [] } = found
  const unknown = found.unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
  const isYaml = duplicates[0]?.startsWith('line ') === true
  // Go finds duplicates of YAML in a pass of its own, before it looks at fields.
  const warnings = isYaml ? [...duplicates, ...others, ...unknown] : [...others, ...unknown, ...duplicates]
  if (warnings.length === 0) return undefined
  return { warnings, fault: (isYaml ? [yamlFault(duplicates), ...others, ...unknown] : warnings).join(', ') }
}

/** Duplicate keys of a YAML text, as Go's YAML package reports them. */
export function yamlFault(duplicates: readonly string[]): string {
  return `yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`
}

/** The 400 for unknown and duplicate fields under `fieldValidation=Strict`. */
export function strictError(gvk: GroupVersionKind, { fault }: StrictFindings): StatusError {
  return badBody(gvk, `strict decoding error: ${fault}`)
}

function decodeBuiltin({ struct }: ObjectSchema, value: unknown): Decoded {
  const unknown: string[] = []
  const object = struct ? decodeStruct(value, struct, unknown) : {}
  return { object: object as unknown as KubeObject, unknown }
}

function decodeCustom({ gvk, structural = {} }: ObjectSchema, value: unknown): Decoded {
  if (!isRecord(value))
    throw new DecodeError(`json: cannot unmarshal ${typeof value} into Go value of type map[string]interface {}`)
  const meta = structType('meta/v1.ObjectMeta')
  const unknown: string[] = []
  const metadata =
    meta && value.metadata !== undefined && value.metadata !== null
      ? decodeStruct(value.metadata, meta, unknown, 'metadata')
      : {}
  const pruned = prune(structural, {
    ...value,
    apiVersion: value.apiVersion ?? apiVersionOf(gvk),
    kind: value.kind ?? gvk.kind,
    metadata,
  })
  return { object: pruned.object as unknown as KubeObject, unknown: [...unknown, ...pruned.unknown] }
}

function badBody({ version, kind }: GroupVersionKind, detail: string, options?: ErrorOptions): StatusError {
  return new StatusError(
    'BadRequest',
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${detail}`,
    options,
  )
}
