import { add } from '../arithmetic.ts'
import { CelError, noSuchOverload } from '../errors.ts'
import { isEqual } from '../equality.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library } from '../functions.ts'
import { CelDuration } from '../moments.ts'
import { indexValue, isDouble, isInt, type CelInt } from '../numbers.ts'
import { compare } from '../ordering.ts'
import { sortByKeys } from '../sorting.ts'
import { CelDouble, CelUint, type CelValue } from '../values.ts'

type List = readonly CelValue[]

const comparable = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes', 'dyn']

function isSorted(frame: Frame, list: List): CelValue {
  frame.charge(list.length)
  for (let at = 1; at < list.length; at++) {
    const order = compare(frame, list[at - 1]!, list[at]!)
    if (order instanceof CelError) return order
    if (order > 0) return false
  }
  return true
}

function sum(frame: Frame, list: List): CelValue {
  frame.charge(list.length)
  let total: CelValue | undefined
  for (const value of list) {
    if (!isAddend(value)) return noSuchOverload
    total = total === undefined ? value : add(frame, total, value)
    if (total instanceof CelError) return total
  }
  return total ?? 0
}

function isAddend(value: CelValue): boolean {
  return isInt(value) || isDouble(value) || value instanceof CelUint || value instanceof CelDuration
}

/** What the empty list of such elements adds up to. */
const nothing: Readonly<Record<string, CelValue>> = {
  uint: new CelUint(0n),
  double: new CelDouble(0),
  duration: new CelDuration(0, 0),
}

function extreme(frame: Frame, list: List, sign: 1 | -1): CelValue {
  frame.charge(list.length)
  let best = list[0]
  if (best === undefined) return new CelError('min() and max() need a list that is not empty')
  for (const value of list) {
    const order = compare(frame, value, best)
    if (order instanceof CelError) return order
    if (order * sign > 0) best = value
  }
  return best
}

function indexOf(frame: Frame, list: List, element: CelValue): CelValue {
  frame.charge(list.length >> 1)
  return list.findIndex((other) => isEqual(frame, other, element))
}

function lastIndexOf(frame: Frame, list: List, element: CelValue): CelValue {
  frame.charge(list.length >> 1)
  return list.findLastIndex((other) => isEqual(frame, other, element))
}

/** Kubernetes' lists library. */
export const kubernetesListsLibrary: Library = {
  name: 'kubernetes-lists',
  overloads: [
    ...comparable.flatMap((type) => [
      overload(`list(${type}).isSorted() -> bool`, isSorted),
      overload(`list(${type}).min() -> ${type}`, (frame, list: List) => extreme(frame, list, -1)),
      overload(`list(${type}).max() -> ${type}`, (frame, list: List) => extreme(frame, list, 1)),
    ]),
    ...['int', 'uint', 'double', 'duration', 'dyn'].map((type) =>
      overload(`list(${type}).sum() -> ${type}`, (frame, list: List) =>
        list.length ? sum(frame, list) : (nothing[type] ?? 0),
      ),
    ),
    overload('list(A).indexOf(A) -> int', indexOf),
    overload('list(A).lastIndexOf(A) -> int', lastIndexOf),
  ],
}

function slice(frame: Frame, list: List, from: CelInt, to: CelInt): CelValue {
  const start = indexValue(from) ?? -1
  const end = indexValue(to) ?? -1
  if (start < 0 || end < start || end > list.length) {
    return new CelError(`cannot slice from ${from} to ${to}: list has ${list.length} elements`)
  }
  frame.charge((end - start) >> 2)
  return list.slice(start, end)
}

function flatten(frame: Frame, list: List, depth: CelInt = 1): CelValue {
  const levels = indexValue(depth) ?? -1
  if (levels < 0) return new CelError('flatten() needs a depth of at least 0')
  const flat: CelValue[] = []
  const visit = (elements: List, left: number): void => {
    frame.charge(1 + elements.length)
    for (const element of elements) {
      if (Array.isArray(element) && left > 0) visit(element as List, left - 1)
      else flat.push(element)
    }
  }
  visit(list, levels)
  return flat
}

function distinct(frame: Frame, list: List): CelValue {
  const seen = new Set<string>()
  const kept: CelValue[] = []
  for (const element of list) {
    if (typeof element === 'string') {
      frame.charge(1)
      if (seen.has(element)) continue
      seen.add(element)
    } else {
      frame.charge(1 + (kept.length >> 1))
      if (kept.some((other) => isEqual(frame, other, element))) continue
    }
    kept.push(element)
  }
  return kept
}

function range(frame: Frame, count: CelInt): CelValue {
  const length = Math.max(0, indexValue(count) ?? Number.MAX_SAFE_INTEGER)
  frame.charge(1 + length)
  return Array.from({ length }, (_, index) => index)
}

function reversed(frame: Frame, list: List): CelValue {
  frame.charge(list.length >> 2)
  return list.toReversed()
}

/** cel-go's lists extension. */
export const listsLibrary: Library = {
  name: 'lists',
  overloads: [
    overload('list(A).slice(int, int) -> list(A)', slice),
    overload('list(list(A)).flatten() -> list(A)', flatten),
    overload('list(dyn).flatten(int) -> list(dyn)', flatten),
    overload('list(A).distinct() -> list(A)', distinct),
    overload('list(A).reverse() -> list(A)', reversed),
    overload('lists.range(int) -> list(int)', range),
    ...comparable.map((type) =>
      overload(`list(${type}).sort() -> list(${type})`, (frame, list: List) =>
        sortByKeys(
          frame,
          list.map((element) => ({ key: element, element })),
        ),
      ),
    ),
  ],
  macros: ['sortBy'],
}

function contains(frame: Frame, list: List, part: List): boolean {
  frame.charge((list.length * part.length) / 2)
  return part.every((element) => list.some((other) => isEqual(frame, other, element)))
}

/** cel-go's sets extension: lists taken as sets. */
export const setsLibrary: Library = {
  name: 'sets',
  overloads: [
    overload('sets.contains(list(A), list(A)) -> bool', contains),
    overload(
      'sets.equivalent(list(A), list(A)) -> bool',
      (frame, a: List, b: List) => contains(frame, a, b) && contains(frame, b, a),
    ),
    overload('sets.intersects(list(A), list(A)) -> bool', (frame, a: List, b: List) => {
      frame.charge((a.length * b.length) / 2)
      return a.some((element) => b.some((other) => isEqual(frame, other, element)))
    }),
  ],
}
