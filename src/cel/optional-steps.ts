import { CelError, noSuchOverload } from './errors.ts'
import type { Step } from './frame.ts'
import { CelOptional } from './values.ts'

/** `a.or(b)` and `a.orValue(b)`: the argument is evaluated only when the optional is empty. */
export function otherwiseStep(optional: Step, otherwise: Step, isUnwrapped: boolean): Step {
  return (frame) => {
    const value = optional(frame)
    if (!(value instanceof CelOptional)) return value instanceof CelError ? value : noSuchOverload
    if (value.value === undefined) return otherwise(frame)
    return isUnwrapped ? value.value : value
  }
}

/** `a.optMap(x, body)` and `a.optFlatMap(x, body)`, with the value in a slot while the body is evaluated. */
export function optionalMapStep(optional: Step, body: Step, { slot, isFlat }: { slot: number; isFlat: boolean }): Step {
  return (frame) => {
    const value = optional(frame)
    if (!(value instanceof CelOptional)) return value instanceof CelError ? value : noSuchOverload
    if (value.value === undefined) return value
    frame.slots[slot] = value.value
    const result = body(frame)
    if (result instanceof CelError) return result
    if (!isFlat) return new CelOptional(result)
    return result instanceof CelOptional ? result : noSuchOverload
  }
}
