import { deepEqual } from '../../../kube/patches/patch.ts'
import { anyMap, childNode, resolveNode, type ListNode, type MapNode, type SchemaNode } from '../types/schema-node.ts'
import { isRecord, ownOf } from '../../../kube/basics/json.ts'
import { FieldSetBuilder, type FieldSet } from './field-set.ts'
import { itemElement, type PathElement } from './path-element.ts'

/** The differences of two objects, as paths. */
export interface Comparison {
  readonly added: FieldSet
  readonly removed: FieldSet
  readonly modified: FieldSet
}

/** Compares two values of a schema. Atomic parts count as one value. */
export function compare(before: unknown, after: unknown, node: SchemaNode): Comparison {
  const walk = new CompareWalk()
  walk.visit(before, after, node)
  return { added: walk.added.set, removed: walk.removed.set, modified: walk.modified.set }
}

/** Walks two values in parallel and collects the paths that differ. */
class CompareWalk {
  readonly added = new FieldSetBuilder()
  readonly removed = new FieldSetBuilder()
  readonly modified = new FieldSetBuilder()
  readonly #path: PathElement[] = []

  visit(before: unknown, after: unknown, node: SchemaNode): void {
    if (before === after) return
    const shape = resolveNode(node, after ?? before)
    if (node.is === 'any' && before != null && after != null && resolveNode(node, before).is !== shape.is) {
      return this.#reshaped(before, after)
    }
    if (shape.is === 'map' && !shape.isAtomic && (hasFields(before) || hasFields(after))) {
      this.#fields(before, after, shape)
    } else if (shape.is === 'list' && shape.relation !== 'atomic' && (hasItems(before) || hasItems(after))) {
      this.#items(before, after, shape)
    } else return this.#leaf(before, after)
    if (before === undefined) this.added.insert(this.#path)
    else if (after === undefined) this.removed.insert(this.#path)
  }

  /** A value without schema that changed between object and another type. */
  #reshaped(before: unknown, after: unknown): void {
    if (hasFields(before)) this.#fields(before, undefined, anyMap)
    if (hasFields(after)) this.#fields(undefined, after, anyMap)
    if (!hasFields(before) || !hasFields(after)) this.modified.insert(this.#path)
  }

  #leaf(before: unknown, after: unknown): void {
    if (before === undefined) this.added.insert(this.#path)
    else if (after === undefined) this.removed.insert(this.#path)
    else if (!deepEqual(before, after)) this.modified.insert(this.#path)
  }

  #fields(before: unknown, after: unknown, node: MapNode): void {
    const old = isRecord(before) ? before : {}
    const now = isRecord(after) ? after : {}
    for (const name of Object.keys(old)) this.#below(`f:${name}`, old[name], ownOf(now, name), childNode(node, name))
    for (const name of Object.keys(now)) {
      if (!Object.hasOwn(old, name)) this.#below(`f:${name}`, undefined, now[name], childNode(node, name))
    }
  }

  /** Items with the same identity cannot be told apart and are compared as one value. */
  #items(before: unknown, after: unknown, node: ListNode): void {
    const old = itemsByElement(before, node)
    const now = itemsByElement(after, node)
    for (const [element, items] of old) this.#item(element, items, now.get(element) ?? [], node.element)
    for (const [element, items] of now) if (!old.has(element)) this.#item(element, [], items, node.element)
  }

  #item(element: PathElement, old: readonly unknown[], now: readonly unknown[], node: SchemaNode): void {
    if (old.length <= 1 && now.length <= 1) return this.#below(element, old[0], now[0], node)
    const path = [...this.#path, element]
    if (old.length >= 2 && now.length >= 2) {
      if (!deepEqual(old, now)) this.modified.insert(path)
    } else if (old.length >= 2) {
      if (now.length === 1) this.#below(element, undefined, now[0], node)
      this.removed.insert(path)
    } else {
      if (old.length === 1) this.#below(element, old[0], undefined, node)
      this.added.insert(path)
    }
  }

  #below(element: PathElement, before: unknown, after: unknown, node: SchemaNode): void {
    if (before === after) return
    this.#path.push(element)
    this.visit(before, after, node)
    this.#path.pop()
  }
}

function itemsByElement(value: unknown, node: ListNode): Map<PathElement, unknown[]> {
  const items = new Map<PathElement, unknown[]>()
  if (!Array.isArray(value)) return items
  for (const item of value) {
    const element = itemElement(node, item)
    const same = items.get(element)
    if (same) same.push(item)
    else items.set(element, [item])
  }
  return items
}

function hasFields(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length > 0
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
