import type { SchemaNode } from '../types/schema-node.ts'
import { below, FieldSet } from './field-set.ts'
import type { Managers } from './managers.ts'
import type { SchemaOf } from './ownership.ts'

/**
 * Adapts managers to the current schemas. Entries of versions that are no longer served are dropped; fields below a
 * value that has become atomic are replaced by that value. Changes `managers`.
 */
export function reconcile(managers: Managers, schemaOf: SchemaOf): void {
  for (const [id, manager] of managers) {
    const schema = schemaOf(manager.apiVersion)
    if (!schema) managers.delete(id)
    else if (schema.structural) {
      const fields = collapsed(manager.fields, schema.root)
      if (fields !== manager.fields) managers.set(id, { ...manager, fields })
    }
  }
}

/** Replaces paths below atomic values by those values; returns the same set when there are none. */
function collapsed(set: FieldSet, node: SchemaNode): FieldSet {
  let result = set
  for (const [element, child] of set.children) {
    const inner = below(node, element)
    const isWhole = isAtomic(inner)
    const rest = isWhole ? undefined : collapsed(child, inner)
    if (rest === child) continue
    if (result === set) result = new FieldSet(new Set(set.members), new Map(set.children))
    if (rest) result.children.set(element, rest)
    else {
      result.children.delete(element)
      result.members.add(element)
    }
  }
  return result
}

function isAtomic(node: SchemaNode): boolean {
  return (node.is === 'map' && node.isAtomic) || (node.is === 'list' && node.relation === 'atomic')
}
