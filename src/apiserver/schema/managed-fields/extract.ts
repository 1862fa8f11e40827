import { childNode, resolveNode, type ListNode, type MapNode, type SchemaNode } from '../types/schema-node.ts'
import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import { FieldSet } from './field-set.ts'
import { itemElement, type PathElement } from './path-element.ts'

/** The paths that a configuration sets: leaves, list items, map entries and empty objects. */
export function fieldSetOf(value: unknown, node: SchemaNode): FieldSet {
  const holder = new FieldSet()
  collect(holder, '', value, node)
  return holder.children.get('') ?? new FieldSet()
}

/** Removes the paths of a set from a value; undefined when nothing is left. A field that became empty is null. */
export function removeFields(value: unknown, toRemove: FieldSet, node: SchemaNode): unknown {
  const shape = resolveNode(node, value)
  if (shape.is === 'map' && isRecord(value)) {
    if (shape.isAtomic) return undefined
    return removeFromMap(value, toRemove, shape)
  }
  if (shape.is === 'list' && Array.isArray(value)) {
    if (shape.relation === 'atomic') return undefined
    return removeFromList(value, toRemove, shape)
  }
  return shape.is === 'scalar' ? value : undefined
}

/** Adds the paths of a value at `element` to `set`. */
function collect(set: FieldSet, element: PathElement, value: unknown, node: SchemaNode): void {
  const shape = resolveNode(node, value)
  if (shape.is === 'map' && !shape.isAtomic) {
    if (isRecord(value)) adopt(set, element, fieldsOf(value, shape))
  } else if (shape.is === 'list' && shape.relation !== 'atomic') {
    if (Array.isArray(value)) adopt(set, element, itemsOf(value, shape))
  } else set.members.add(element)
}

function adopt(set: FieldSet, element: PathElement, child: FieldSet): void {
  if (!child.isEmpty) set.children.set(element, child)
}

function fieldsOf(value: Record<string, unknown>, node: MapNode): FieldSet {
  const set = new FieldSet()
  for (const name of Object.keys(value)) {
    const element = `f:${name}`
    const inner = value[name]
    collect(set, element, inner, childNode(node, name))
    const isBare = inner === null || (isRecord(inner) && Object.keys(inner).length === 0)
    if (isBare || !node.field(name)) set.members.add(element)
  }
  return set
}

/** Items with the same identity are owned as a whole, not field by field. */
function itemsOf(value: readonly unknown[], node: ListNode): FieldSet {
  const set = new FieldSet()
  const repeated = new Set<PathElement>()
  for (const item of value) {
    const element = itemElement(node, item)
    if (set.members.has(element)) {
      repeated.add(element)
      set.children.delete(element)
    } else set.members.add(element)
    if (!repeated.has(element) && node.element.is !== 'scalar') collect(set, element, item, node.element)
  }
  return set
}

function removeFromMap(value: Record<string, unknown>, toRemove: FieldSet, node: MapNode): unknown {
  const result: Record<string, unknown> = {}
  let size = 0
  for (const name of Object.keys(value)) {
    const element = `f:${name}`
    if (toRemove.members.has(element)) continue
    const deeper = toRemove.children.get(element)
    const rest = deeper ? removeFields(value[name], deeper, childNode(node, name)) : value[name]
    setOwn(result, name, rest ?? null)
    size++
  }
  return size > 0 ? result : undefined
}

function removeFromList(value: readonly unknown[], toRemove: FieldSet, node: ListNode): unknown {
  const result: unknown[] = []
  for (const item of value) {
    const element = itemElement(node, item)
    if (toRemove.members.has(element)) continue
    const deeper = toRemove.children.get(element)
    const rest = deeper ? removeFields(item, deeper, node.element) : item
    if (rest !== undefined) result.push(rest)
  }
  return result.length > 0 ? result : undefined
}
