import { CelError, noSuchOverload } from './errors.ts'
import type { Step } from './frame.ts'
import { CelMap, isKey } from './maps.ts'
import { CelOptional, type CelValue } from './values.ts'

interface ElementStep {
  readonly value: Step
  readonly isOptional: boolean
}

/** `[a, ?b]`. */
export function listStep(elements: readonly ElementStep[]): Step {
  return (frame) => {
    frame.charge(1 + (elements.length >> 1))
    const list: CelValue[] = []
    for (const { value: step, isOptional } of elements) {
      const value = isOptional ? unwrapped(step(frame)) : step(frame)
      if (value instanceof CelError) return value
      if (value !== undefined) list.push(value)
    }
    return list
  }
}

/** `{a: b, ?c: d}`. */
export function mapStep(entries: readonly (ElementStep & { readonly key: Step })[]): Step {
  return (frame) => {
    frame.charge(3 + entries.length * 4)
    const map = new CelMap()
    for (const entry of entries) {
      const key = entry.key(frame)
      if (key instanceof CelError) return key
      const value = entry.isOptional ? unwrapped(entry.value(frame)) : entry.value(frame)
      if (value instanceof CelError) return value
      if (!isKey(key)) return new CelError('unsupported key type')
      if (value !== undefined && !map.add(key, value)) return new CelError('repeated key')
    }
    return map
  }
}

/** The value in an optional, `undefined` when empty; anything else is an error. */
function unwrapped(value: CelValue): CelValue | undefined {
  if (value instanceof CelOptional) return value.value
  return value instanceof CelError ? value : noSuchOverload
}
