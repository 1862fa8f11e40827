import type { ComprehensionMacro } from './ast.ts'
import { CelError, noSuchOverload } from './errors.ts'
import type { Frame, Step } from './frame.ts'
import { asError } from './logical-steps.ts'
import { CelMap, entriesOf, isMap, keysOf } from './maps.ts'
import { sortByKeys } from './sorting.ts'
import type { CelValue } from './values.ts'

/** A comprehension's compiled parts. */
export interface Parts {
  readonly range: Step
  /** Slots of its variables: element or key; or index and element, key and value. */
  readonly first: number
  readonly second: number | undefined
  readonly predicate: Step | undefined
  readonly result: Step | undefined
  /** What one round costs, in proportion to the size of its body. */
  readonly cost: number
}

/** What one round left behind: `undefined` to go on, a value to stop with. */
type Round = (frame: Frame) => CelValue | undefined

const always: Step = () => true

export function comprehensionStep(macro: ComprehensionMacro, parts: Parts): Step {
  const { predicate = always, result = always } = parts
  switch (macro) {
    case 'exists':
      return deciding(true, parts, predicate)
    case 'all':
      return deciding(false, parts, predicate)
    case 'exists_one':
      return existsOne(parts, predicate)
    case 'filter':
      return filter(parts, predicate)
    case 'map':
      return parts.predicate ? gather(parts, predicate, result) : mapAll(parts, result)
    case 'transformList':
      return gather(parts, predicate, result)
    case 'transformMap':
      return transformMap(parts, predicate, result)
    case 'transformMapEntry':
      return transformMapEntry(parts, predicate, result)
    case 'sort_by':
      return sortBy(parts, result)
  }
}

/** `exists` and `all`: the deciding answer ends the loop and wins over every error. */
function deciding(decisive: boolean, parts: Parts, predicate: Step): Step {
  return (frame) => {
    let error: CelError | undefined
    const decided = loop(frame, parts, (inner) => {
      const value = predicate(inner)
      if (value === decisive) return decisive
      if (value !== !decisive) error ??= asError(value)
      return undefined
    })
    return decided ?? error ?? !decisive
  }
}

function existsOne(parts: Parts, predicate: Step): Step {
  return (frame) => {
    let count = 0
    const failed = loop(frame, parts, (inner) => {
      const value = predicate(inner)
      if (value === true) count += 1
      return typeof value === 'boolean' ? undefined : asError(value)
    })
    return failed ?? count === 1
  }
}

function filter(parts: Parts, predicate: Step): Step {
  const { first } = parts
  return (frame) => {
    const kept: CelValue[] = []
    const failed = loop(frame, parts, (inner) => {
      const element = inner.slots[first]!
      const value = predicate(inner)
      if (value === true) kept.push(element)
      return typeof value === 'boolean' ? undefined : asError(value)
    })
    return failed ?? kept
  }
}

function mapAll(parts: Parts, result: Step): Step {
  return (frame) => {
    const made: CelValue[] = []
    const failed = loop(frame, parts, (inner) => {
      const value = result(inner)
      if (value instanceof CelError) return value
      made.push(value)
      return undefined
    })
    return failed ?? made
  }
}

function gather(parts: Parts, predicate: Step, result: Step): Step {
  return (frame) => {
    const made: CelValue[] = []
    const failed = loop(frame, parts, (inner) => {
      const value = chosen(inner, predicate, result)
      if (value === undefined || value instanceof CelError) return value
      made.push(value)
      return undefined
    })
    return failed ?? made
  }
}

function transformMap(parts: Parts, predicate: Step, result: Step): Step {
  const { first } = parts
  return (frame) => {
    const made = new CelMap()
    const failed = loop(frame, parts, (inner) => {
      const key = inner.slots[first]!
      const value = chosen(inner, predicate, result)
      if (value === undefined || value instanceof CelError) return value
      frame.charge(12)
      made.add(key, value)
      return undefined
    })
    return failed ?? made
  }
}

function transformMapEntry(parts: Parts, predicate: Step, result: Step): Step {
  return (frame) => {
    const made = new CelMap()
    const failed = loop(frame, parts, (inner) => {
      const value = chosen(inner, predicate, result)
      if (value === undefined || value instanceof CelError) return value
      return isMap(value) ? addEntries(inner, made, value) : noSuchOverload
    })
    return failed ?? made
  }
}

function addEntries(frame: Frame, made: CelMap, entries: Parameters<typeof entriesOf>[0]): CelError | undefined {
  for (const [key, value] of entriesOf(entries)) {
    frame.charge(12)
    if (!made.add(key, value)) return new CelError('insert failed: key already exists')
  }
  return undefined
}

function sortBy(parts: Parts, result: Step): Step {
  const { first } = parts
  return (frame) => {
    const pairs: { readonly key: CelValue; readonly element: CelValue }[] = []
    const failed = loop(frame, parts, (inner) => {
      const element = inner.slots[first]!
      const key = result(inner)
      if (key instanceof CelError) return key
      pairs.push({ key, element })
      return undefined
    })
    return failed ?? sortByKeys(frame, pairs)
  }
}

/** The result for an element the predicate takes, `undefined` for others. */
function chosen(frame: Frame, predicate: Step, result: Step): CelValue | undefined {
  const value = predicate(frame)
  if (value === true) return result(frame)
  return value === false ? undefined : asError(value)
}

/** Runs a round for each element until one gives a value. */
function loop(frame: Frame, parts: Parts, round: Round): CelValue | undefined {
  const { range, first, second, cost } = parts
  const values = range(frame)
  if (values instanceof CelError) return values
  if (Array.isArray(values)) return loopList(frame, values as readonly CelValue[], parts, round)
  if (!isMap(values)) return noSuchOverload
  if (second === undefined) {
    const keys = keysOf(values)
    frame.charge(keys.length * 2)
    return loopList(frame, keys, parts, round)
  }
  for (const [key, value] of entriesOf(values)) {
    frame.charge(cost)
    frame.slots[first] = key
    frame.slots[second] = value
    const stop = round(frame)
    if (stop !== undefined) return stop
  }
  return undefined
}

function loopList(frame: Frame, values: readonly CelValue[], parts: Parts, round: Round): CelValue | undefined {
  const { first, second, cost } = parts
  const { slots } = frame
  for (let index = 0; index < values.length; index++) {
    frame.charge(cost)
    if (second === undefined) slots[first] = values[index]!
    else {
      slots[first] = index
      slots[second] = values[index]!
    }
    const stop = round(frame)
    if (stop !== undefined) return stop
  }
  return undefined
}
