import { StatusError } from '../../../kube/status-error.ts'
import { goPrint, goType } from './go-print.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { identityOf, orderItems, placesIn } from './patch-order.ts'
import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import type { Field, StructType, TypeExpression } from '../types/type-table.ts'

type JsonMap = Record<string, unknown>

const setOrder = '$setElementOrder/'
const deleteFromList = '$deleteFromPrimitiveList/'
const retainKeys = '$retainKeys'

/**
 * Applies a strategic merge patch to an object of a built-in kind. The result shares unchanged parts with the
 * original; decode it before use, like any body. Throws BadRequest for invalid directives.
 */
export function strategicMergePatch({ struct }: ObjectSchema, original: unknown, patch: unknown): unknown {
  if (!struct) throw badPatch('strategic merge patch format is not supported')
  if (!isRecord(patch)) throw badPatch('invalid JSON document')
  return mergeMap(isRecord(original) ? original : {}, patch, { is: 'struct', struct })
}

function mergeMap(original: JsonMap, patch: JsonMap, type: TypeExpression): JsonMap {
  if ('$patch' in patch) return replaced(patch)
  const result = retain(original, patch)
  for (const key of Object.keys(patch))
    if (key.startsWith(setOrder)) mergeOrdered(result, patch, key.slice(setOrder.length), type)
  for (const key of Object.keys(patch)) {
    if (key === retainKeys || key.startsWith(setOrder) || `${setOrder}${key}` in patch) continue
    if (key.startsWith(deleteFromList)) removeFromList(result, key.slice(deleteFromList.length), patch[key])
    else mergeKey(result, key, patch[key], type)
  }
  return result
}

/** Handles the directives `$patch: replace` and `$patch: delete` of an object. */
function replaced(patch: JsonMap): JsonMap {
  const { $patch: directive, ...rest } = patch
  if (directive === 'replace') return rest
  if (directive === 'delete') return {}
  throw badPatch(`unknown patch type: ${goPrint(directive)} in map: ${goPrint(patch)}`)
}

/** Copies the original, with only the keys of `$retainKeys` if that directive is present. */
function retain(original: JsonMap, patch: JsonMap): JsonMap {
  const keys = patch[retainKeys]
  if (keys === undefined) return { ...original }
  if (!Array.isArray(keys)) throw badPatch('invalid patch format of retainKeys')
  const retained = new Set<unknown>(keys)
  const isStray = (key: string): boolean => patch[key] !== null && !key.startsWith('$') && !retained.has(key)
  if (Object.keys(patch).some(isStray)) throw badPatch('invalid patch format of retainKeys')
  return Object.fromEntries(Object.entries(original).filter(([key]) => retained.has(key)))
}

function mergeKey(result: JsonMap, key: string, value: unknown, type: TypeExpression): void {
  if (value === null) {
    delete result[key]
    return
  }
  const before = Object.hasOwn(result, key) ? result[key] : undefined
  const { field, inner } = lookup(type, key)
  if (isRecord(before) && isRecord(value)) {
    setOwn(result, key, strategyOf(field) === 'replace' ? value : mergeMap(before, value, inner))
  } else if (Array.isArray(before) && Array.isArray(value)) {
    setOwn(result, key, mergeList(before, value, field, inner))
  } else {
    const plain = withoutDirectives(value)
    if (plain === undefined) delete result[key]
    else setOwn(result, key, plain)
  }
}

/** Merges a list whose order `$setElementOrder` gives. */
function mergeOrdered(result: JsonMap, patch: JsonMap, key: string, type: TypeExpression): void {
  const order = patch[setOrder + key]
  if (!Array.isArray(order)) throw badPatch(`expected a []interface {}, but received a ${goType(order)}`)
  const [live, changes] = [result[key], patch[key]]
  if (
    (live !== undefined && live !== null && !Array.isArray(live)) ||
    (changes !== undefined && changes !== null && !Array.isArray(changes))
  ) {
    throw badPatch('invalid patch format of setElementOrder list')
  }
  if (changes === null) {
    delete result[key]
    return
  }
  if (live == null && changes === undefined) return
  const { field, inner } = lookup(type, key)
  const before = (live ?? []) as unknown[]
  if (changes) checkOrder(changes, order, field?.mergeKey)
  const merged = changes
    ? live == null
      ? withoutDirectives(changes)
      : mergeList(before, changes, field, inner)
    : before
  setOwn(result, key, orderItems(merged as unknown[], order, before, field?.mergeKey))
}

/** The items of a patch must be in the order of its own `$setElementOrder`. */
function checkOrder(changes: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (order.length === 0 || changes.length === 0) return
  const rest = changes.filter((item) => !(isRecord(item) && '$patch' in item))
  let at = 0
  for (const step of order) {
    if (at < rest.length && identityOf(rest[at], mergeKey) === identityOf(step, mergeKey)) at++
  }
  if (at < rest.length) {
    throw badPatch(
      `The order in patch list:\n${goPrint(changes)}\n doesn't match $setElementOrder list:\n${goPrint(order)}\n`,
    )
  }
}

function mergeList(
  live: readonly unknown[],
  changes: readonly unknown[],
  field: Field | undefined,
  inner: TypeExpression,
): unknown[] {
  if (strategyOf(field) !== 'merge') return [...changes]
  if (live.length === 0 && changes.length === 0) return []
  if (!isRecord(live[0] ?? changes[0])) {
    const merged = [...new Set([...live, ...changes])]
    return orderItems(merged, changes, live, undefined)
  }
  const mergeKey = field?.mergeKey
  if (!mergeKey) throw badPatch('cannot merge lists without merge key')
  if (![...live, ...changes].every(isRecord))
    throw badPatch(`list element types are not identical: ${goPrint([live, changes])}`)
  const { kept, rest } = specialItems(live, changes, mergeKey)
  const merged = mergeItems(kept, rest, mergeKey, inner)
  return orderItems(merged, rest, kept, mergeKey)
}

/** Handles `$patch: delete` and `$patch: replace` items; returns the remaining items to merge. */
function specialItems(
  live: readonly unknown[],
  changes: readonly unknown[],
  mergeKey: string,
): { kept: unknown[]; rest: unknown[] } {
  const deleted = new Set<string>()
  let isReplaced = false
  const rest: unknown[] = []
  for (const item of changes) {
    if (!isRecord(item)) continue
    switch (item.$patch) {
      case undefined:
        rest.push(item)
        break
      case 'delete':
        if (!Object.hasOwn(item, mergeKey)) throw missingKey(item, mergeKey)
        deleted.add(identityOf(item, mergeKey))
        break
      case 'replace':
        isReplaced = true
        break
      case 'merge':
        throw badPatch('merging lists cannot yet be specified in the patch')
      default:
        throw badPatch(`unknown patch type: ${goPrint(item.$patch)} in map: ${goPrint(item)}`)
    }
  }
  return isReplaced
    ? { kept: rest, rest: [] }
    : { kept: live.filter((each) => !deleted.has(identityOf(each, mergeKey))), rest }
}

function mergeItems(
  kept: readonly unknown[],
  rest: readonly unknown[],
  mergeKey: string,
  inner: TypeExpression,
): unknown[] {
  const merged = [...kept]
  const places = placesIn(kept, mergeKey)
  for (const item of rest as readonly JsonMap[]) {
    if (!Object.hasOwn(item, mergeKey)) throw missingKey(item, mergeKey)
    const identity = identityOf(item, mergeKey)
    const index = places.get(identity) ?? merged.length
    const before = merged[index]
    merged[index] = isRecord(before) ? mergeMap(before, item, inner) : withoutDirectives(item)
    places.set(identity, index)
  }
  return merged
}

function removeFromList(result: JsonMap, key: string, items: unknown): void {
  const live = result[key]
  if (!Array.isArray(live)) return
  if (!Array.isArray(items)) throw badPatch('invalid patch format of primitive list')
  const removed = new Set<unknown>(items)
  result[key] = live.filter((item) => !removed.has(item))
}

/** Cleans a value that has no counterpart to merge with: drops nulls and directives. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isRecord(value)) return value
  if ('$patch' in value) return undefined
  const result: JsonMap = {}
  for (const key of Object.keys(value)) {
    const inner = value[key] === null || key.startsWith('$') ? undefined : withoutDirectives(value[key])
    if (inner !== undefined) setOwn(result, key, inner)
  }
  return result
}

/** The field of a key and the type of its value, or of its items if it is a list. */
function lookup(type: TypeExpression, key: string): { field: Field | undefined; inner: TypeExpression } {
  if (type.is === 'map') return { field: undefined, inner: elementType(type.of) }
  const field = type.is === 'struct' ? fieldOf(type.struct, key) : undefined
  return { field, inner: field ? elementType(field.type) : opaque }
}

function fieldOf(struct: StructType, key: string): Field | undefined {
  return struct.fields.get(key)
}

function elementType(type: TypeExpression): TypeExpression {
  return type.is === 'list' ? type.of : type
}

const opaque: TypeExpression = { is: 'scalar', scalar: 'JSON' }

function strategyOf(field: Field | undefined): string | undefined {
  return field?.patchStrategies.find((strategy) => strategy !== 'retainKeys')
}

function missingKey(item: JsonMap, mergeKey: string): StatusError {
  return badPatch(`map: ${goPrint(item)} does not contain declared merge key: ${mergeKey}`)
}

function badPatch(message: string): StatusError {
  return new StatusError('BadRequest', message)
}
