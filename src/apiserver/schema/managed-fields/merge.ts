import { childNode, resolveNode, type ListNode, type MapNode, type SchemaNode } from '../types/schema-node.ts'
import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import { itemElement, ItemError, type PathElement } from './path-element.ts'

/** Merges an applied configuration into a live value: applied fields win, unmentioned fields stay. */
export function merge(live: unknown, applied: unknown, node: SchemaNode): unknown {
  if (applied === undefined) return live
  if (live === undefined) return applied
  const shape = resolveNode(node, applied ?? live)
  if (shape.is === 'map' && !shape.isAtomic && isRecord(live) && isRecord(applied))
    return mergeFields(live, applied, shape)
  if (shape.is === 'list' && shape.relation !== 'atomic' && Array.isArray(live) && Array.isArray(applied)) {
    return live.length === 0 && applied.length === 0 ? applied : mergeItems(live, applied, shape)
  }
  return keepsLive(live, applied, shape) ? live : applied
}

/** A null for a granular map or list does not remove its content. */
function keepsLive(live: unknown, applied: unknown, shape: SchemaNode): boolean {
  if (shape.is === 'map') return !shape.isAtomic && applied === null && isRecord(live) && Object.keys(live).length > 0
  if (shape.is === 'list')
    return shape.relation !== 'atomic' && applied === null && Array.isArray(live) && live.length > 0
  return false
}

function mergeFields(live: Record<string, unknown>, applied: Record<string, unknown>, node: MapNode): unknown {
  const result: Record<string, unknown> = { ...live }
  for (const name of Object.keys(applied)) {
    const before = Object.hasOwn(live, name) ? live[name] : undefined
    setOwn(result, name, merge(before, applied[name], childNode(node, name)))
  }
  return result
}

/**
 * Shared items get the applied order; items that only the live list has keep their position among their neighbours. A
 * live list may repeat an identity: such items are replaced, not merged.
 */
function mergeItems(live: readonly unknown[], applied: readonly unknown[], node: ListNode): unknown[] {
  const left = live.map((item) => itemElement(node, item))
  const right = applied.map((item) => itemElement(node, item))
  const rightAt = indexOnce(right)
  const leftAt = new Map<PathElement, number | undefined>()
  left.forEach((element, index) => leftAt.set(element, leftAt.has(element) ? undefined : index))
  const shared = right.filter((element) => leftAt.has(element))
  const done = new Set<PathElement>()
  const result: unknown[] = []
  let next = 0
  const take = (element: PathElement, rightIndex: number): void => {
    const leftIndex = leftAt.get(element)
    done.add(element)
    result.push(merge(leftIndex === undefined ? undefined : live[leftIndex], applied[rightIndex], node.element))
    if (shared[next] === element) next++
  }
  for (let l = 0, r = 0; l < left.length || r < right.length;) {
    const mine = left[l]
    const theirs = right[r]
    if (mine !== undefined && mine === theirs) {
      take(mine, r)
      l++
      r++
    } else if (
      mine !== undefined &&
      theirs !== undefined &&
      rightAt.has(mine) &&
      shared[next] !== mine &&
      next < shared.length
    ) {
      l++
    } else if (mine !== undefined && !rightAt.has(mine)) {
      result.push(live[l])
      l++
    } else {
      if (mine !== undefined && done.has(mine)) l++
      if (theirs !== undefined) {
        take(theirs, r)
        r++
      }
    }
  }
  return result
}

function indexOnce(elements: readonly PathElement[]): Map<PathElement, number> {
  const index = new Map<PathElement, number>()
  elements.forEach((element, position) => {
    if (index.has(element)) throw new ItemError(`duplicate entries for key ${element.slice(2)}`)
    index.set(element, position)
  })
  return index
}
