import { DecodeError } from './decode-scalar.ts'
import { decodeStruct } from './decode-struct.ts'
import { isRecord, setOwn, ownOf } from '../../../kube/basics/json.ts'
import { structType } from '../types/type-table.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** A pruned object and the paths that were dropped. */
export interface Pruned<T> {
  readonly object: T
  readonly unknown: readonly string[]
}

/**
 * Drops the fields that a schema does not specify, unless it preserves them. apiVersion, kind and metadata are kept.
 */
export function prune<T>(schema: StructuralSchema, object: T): Pruned<T> {
  const unknown: string[] = []
  const root = { ...schema, 'x-kubernetes-embedded-resource': true }
  const pruned = pruneValue(object, root, '', unknown) as T
  return { object: pruned, unknown: unknown.toSorted() }
}

function pruneValue(value: unknown, schema: StructuralSchema | undefined, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const items = schema?.items
    if (schema?.['x-kubernetes-preserve-unknown-fields'] && !items) return value
    return value.map((item, index) => pruneValue(item, items, `${path}[${index}]`, unknown))
  }
  return isRecord(value) ? pruneFields(value, schema, path, unknown) : value
}

function pruneFields(
  value: Record<string, unknown>,
  schema: StructuralSchema | undefined,
  path: string,
  unknown: string[],
): unknown {
  const result: Record<string, unknown> = {}
  const keepsUnknown = schema?.['x-kubernetes-preserve-unknown-fields'] === true
  const additional = schema?.additionalProperties
  for (const name of Object.keys(value)) {
    const inner = value[name]
    const at = path ? `${path}.${name}` : name
    const property = ownOf(schema?.properties ?? {}, name)
    if (schema?.['x-kubernetes-embedded-resource'] && metaFields.has(name)) {
      setOwn(result, name, name === 'metadata' && path ? embeddedMetadata(inner, at, unknown) : inner)
    } else if (property) setOwn(result, name, pruneValue(inner, property, at, unknown))
    else if (additional !== undefined && additional !== false) {
      setOwn(result, name, pruneValue(inner, additional === true ? undefined : additional, at, unknown))
    } else if (keepsUnknown) setOwn(result, name, inner)
    else unknown.push(at)
  }
  return result
}

/** Prunes the metadata of an embedded resource. Metadata of the wrong type is left to validation. */
function embeddedMetadata(value: unknown, path: string, unknown: string[]): unknown {
  const meta = structType('meta/v1.ObjectMeta')
  if (!meta || !isRecord(value)) return value
  try {
    return decodeStruct(value, meta, unknown, path)
  } catch (error) {
    if (error instanceof DecodeError) return value
    throw error
  }
}

const metaFields = new Set(['apiVersion', 'kind', 'metadata'])
