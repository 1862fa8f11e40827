import { isRecord } from '../../../kube/basics/json.ts'
import type { ListNode } from '../types/schema-node.ts'

/** One step of a path in FieldsV1: `f:spec`, `k:{"name":"web"}`, `v:"finalizer"`. */
export type PathElement = string

/** Thrown for a list item that has no identity by its schema. */
export class ItemError extends Error {
  override readonly name = 'ItemError'
}

/** The path element of an item of a list of type set or map. */
export function itemElement(list: ListNode, item: unknown): PathElement {
  if (list.relation === 'set') return `v:${setValue(item)}`
  if (!isRecord(item)) {
    throw new ItemError(
      `associative list with keys may not have ${item === null ? 'a null element' : 'non-map elements'}`,
    )
  }
  let text = ''
  for (const key of sortedKeys(list)) {
    const value = item[key] ?? defaultOf(list, key)
    if (value !== undefined) text += `${text ? ',' : ''}${JSON.stringify(key)}:${goJson(value)}`
  }
  if (text === '') {
    const keys = list.keys.map((key) => JSON.stringify(key)).join(' ')
    throw new ItemError(
      `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
    )
  }
  return `k:{${text}}`
}

/** An element as the API prints it: `.spec`, `[name="web"]`, `[="finalizer"]`. */
export function describeElement(element: PathElement): string {
  const rest = element.slice(2)
  if (element.startsWith('f:')) return `.${rest}`
  if (element.startsWith('v:')) return `[=${rest}]`
  if (element.startsWith('i:')) return `[${rest}]`
  const keys = JSON.parse(rest) as Record<string, unknown>
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`
}

/** A path as the API prints it. */
export function describePath(path: readonly PathElement[]): string {
  return path.map(describeElement).join('')
}

/** The API's order of elements: fields, keys, values, indices. */
export function compareElements(a: PathElement, b: PathElement): number {
  const rank = 'fkvi'.indexOf(a[0] ?? '') - 'fkvi'.indexOf(b[0] ?? '')
  return rank !== 0 ? rank : a < b ? -1 : a > b ? 1 : 0
}

function setValue(item: unknown): string {
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null")
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements')
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type")
  return goJson(item)
}

const keyOrders = new WeakMap<ListNode, readonly string[]>()

function sortedKeys(list: ListNode): readonly string[] {
  if (list.keys.length < 2) return list.keys
  const known = keyOrders.get(list)
  if (known) return known
  const sorted = list.keys.toSorted()
  keyOrders.set(list, sorted)
  return sorted
}

function defaultOf({ element }: ListNode, key: string): unknown {
  return element.is === 'map' ? element.field(key)?.default : undefined
}

/**
 * JSON as Go's encoder writes it, with `<`, `>` and `&` escaped: elements must equal those that other writers stored.
 */
function goJson(value: unknown): string {
  const text = JSON.stringify(value)
  return /[<>&]/.test(text) ? text.replaceAll(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`) : text
}
