import { CelBox } from './box.ts'
import { CelDouble, CelUint, isJsonMap, type CelValue, type JsonMap } from './values.ts'

type Key = string | boolean | number | bigint

/** A map built by an expression: keys may be ints, uints, bools and strings; 1, 1u and 1.0 find the same entry. */
export class CelMap extends CelBox {
  /** By the key in the form in which equal keys are identical. */
  readonly #entries = new Map<Key, readonly [key: CelValue, value: CelValue]>()

  get size(): number {
    return this.#entries.size
  }

  /** Adds an entry; false when the key is there already. */
  add(key: CelValue, value: CelValue): boolean {
    const form = keyForm(key)
    if (form === undefined || this.#entries.has(form)) return false
    this.#entries.set(form, [key, value])
    return true
  }

  get(key: CelValue): CelValue | undefined {
    const form = keyForm(key)
    return form === undefined ? undefined : this.#entries.get(form)?.[1]
  }

  entries(): IterableIterator<readonly [key: CelValue, value: CelValue]> {
    return this.#entries.values()
  }
}

export type AnyMap = JsonMap | CelMap

/** Whether this is a map of either sort. */
export function isMap(value: CelValue): value is AnyMap {
  return value instanceof CelMap || isJsonMap(value)
}

/** Whether this may be a key of a map literal; a double may look up, never be stored. */
export function isKey(value: CelValue): boolean {
  return !(value instanceof CelDouble) && keyForm(value) !== undefined
}

/** The entry's value, `undefined` when there is none. Never finds what an object merely inherits. */
export function lookup(map: AnyMap, key: CelValue): CelValue | undefined {
  if (map instanceof CelMap) return map.get(key)
  return typeof key === 'string' && Object.hasOwn(map, key) ? map[key] : undefined
}

/** Number of entries, which takes time in proportion to it for JSON objects. */
export function sizeOf(map: AnyMap): number {
  return map instanceof CelMap ? map.size : Object.keys(map).length
}

export function keysOf(map: AnyMap): CelValue[] {
  return map instanceof CelMap ? Array.from(map.entries(), ([key]) => key) : Object.keys(map)
}

export function entriesOf(map: AnyMap): Iterable<readonly [CelValue, CelValue]> {
  return map instanceof CelMap ? map.entries() : Object.entries(map)
}

function keyForm(key: CelValue): Key | undefined {
  switch (typeof key) {
    case 'string':
    case 'boolean':
      return key
    case 'number':
      return Number.isInteger(key) ? integerForm(key) : undefined
    case 'bigint':
      return integerForm(key)
    default:
      if (key instanceof CelUint) return integerForm(key.value)
      return key instanceof CelDouble ? integerForm(key.value) : undefined
  }
}

function integerForm(value: number | bigint): number | bigint {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : BigInt(value)
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}
