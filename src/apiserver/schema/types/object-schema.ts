import { apiVersionOf, type GroupVersionKind } from '../../../kube/object.ts'
import type { StructuralSchema } from './structural-schema.ts'
import type { SchemaNode } from './schema-node.ts'
import { structNode } from './struct-node.ts'
import { structOfKind, type StructType } from './type-table.ts'

/** The schema of one kind in one version. */
export interface ObjectSchema {
  readonly gvk: GroupVersionKind
  /** The schema for merging and field ownership. */
  readonly root: SchemaNode
  /** Set for built-in kinds. */
  readonly struct?: StructType
  /** Set for custom resources. */
  readonly structural?: StructuralSchema
}

/** The schema of a built-in kind, including options and subresource bodies; undefined for all others. */
export function builtinSchema(gvk: GroupVersionKind): ObjectSchema | undefined {
  const key = `${apiVersionOf(gvk)}/${gvk.kind}`
  const known = schemas.get(key)
  if (known) return known
  const struct = structOfKind(gvk)
  if (!struct) return undefined
  const { group, version, kind } = gvk
  const schema = { gvk: { group, version, kind }, root: structNode(struct), struct }
  // Option kinds exist in every group, so clients could invent keys without end: those are not cached.
  if (!struct.id.startsWith('meta/')) schemas.set(key, schema)
  return schema
}

const schemas = new Map<string, ObjectSchema>()
