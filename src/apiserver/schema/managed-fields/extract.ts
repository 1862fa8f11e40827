import { childNode, resolveNode, type ListNode, type MapNode, type SchemaNode } from '../schema-node.ts'
import { isRecord, setOwn } from '../set-own.ts'
import { FieldSetBuilder, type FieldSet } from './field-set.ts'
import { itemElement, type PathElement } from './path-element.ts'

/** The paths a configuration mentions: leaves, list items, map entries and empty objects. */
export function fieldSetOf(value: unknown, node: SchemaNode): FieldSet {
  const builder = new FieldSetBuilder()
  collect(value, node, [], builder)
  return builder.set
}

/** The value without what is in the set; undefined when nothing is left. A field whose value became empty is null. */
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

function collect(value: unknown, node: SchemaNode, path: PathElement[], builder: FieldSetBuilder): void {
  const shape = resolveNode(node, value)
  switch (shape.is) {
    case 'scalar':
      return builder.insert(path)
    case 'map':
      if (shape.isAtomic) return builder.insert(path)
      if (isRecord(value)) collectFields(value, shape, path, builder)
      return
    case 'list':
      if (shape.relation === 'atomic') return builder.insert(path)
      if (Array.isArray(value)) collectItems(value, shape, path, builder)
  }
}

function collectFields(
  value: Record<string, unknown>,
  node: MapNode,
  path: PathElement[],
  builder: FieldSetBuilder,
): void {
  for (const name of Object.keys(value)) {
    const inner = value[name]
    path.push(`f:${name}`)
    collect(inner, childNode(node, name), path, builder)
    const isBare = inner === null || (isRecord(inner) && Object.keys(inner).length === 0)
    if (isBare || !node.field(name)) builder.insert(path)
    path.pop()
  }
}

function collectItems(value: readonly unknown[], node: ListNode, path: PathElement[], builder: FieldSetBuilder): void {
  const elements = value.map((item) => itemElement(node, item))
  const once = new Set<PathElement>()
  const repeated = new Set<PathElement>()
  for (const element of elements) (once.has(element) ? repeated : once).add(element)
  elements.forEach((element, index) => {
    path.push(element)
    if (!repeated.has(element)) collect(value[index], node.element, path, builder)
    builder.insert(path)
    path.pop()
  })
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
