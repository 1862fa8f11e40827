import { apiVersionOf, type GroupVersionKind } from '../../../kube/object.ts'
import type { StructuralSchema } from './structural-schema.ts'
import type { SchemaNode } from './schema-node.ts'
import { structNode } from './struct-node.ts'
import { structOfKind, type StructType } from './type-table.ts'

/** The schema of one kind in one version. */
export interface ObjectSchema {
  readonly gvk: GroupVersionKind
  /** The object as merging and field ownership see it. */
  readonly root: SchemaNode
  /** Of a built-in kind. */
  readonly struct?: StructType
  /** Of a custom resource; missing when its CRD has none for this version. */
  readonly structural?: StructuralSchema
}

/** The schema of a built-in kind, options and subresource bodies included; undefined for all others. */
export function builtinSchema(gvk: GroupVersionKind): ObjectSchema | undefined {
  const key = `${apiVersionOf(gvk)}/${gvk.kind}`
  const known = schemas.get(key)
  if (known) return known
  const struct = structOfKind(gvk)
  if (!struct) return undefined
  const { group, version, kind } = gvk
  const schema = { gvk: { group, version, kind }, root: structNode(struct), struct }
  // Option kinds are known in every group, so their keys are the client's to invent: those are not kept.
  if (!struct.id.startsWith('meta/')) schemas.set(key, schema)
  return schema
}

const schemas = new Map<string, ObjectSchema>()
