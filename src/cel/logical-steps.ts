import { CelError, noSuchOverload } from './errors.ts'
import type { Step } from './frame.ts'
import type { CelValue } from './values.ts'

/** The error of a value that should have been a bool. */
export function asError(value: CelValue): CelError {
  return value instanceof CelError ? value : noSuchOverload
}

/** `a && b && …` and `a || b || …`: a deciding term wins over errors before and after it. */
export function logicalStep(operator: '&&' | '||', terms: readonly Step[]): Step {
  const decisive = operator === '||'
  const [first, second] = terms
  if (terms.length === 2 && first && second) return pairStep(decisive, first, second)
  return (frame) => {
    let error: CelError | undefined
    for (const term of terms) {
      const value = term(frame)
      if (value === decisive) return decisive
      if (value !== !decisive) error ??= asError(value)
    }
    return error ?? !decisive
  }
}

function pairStep(decisive: boolean, first: Step, second: Step): Step {
  return (frame) => {
    const a = first(frame)
    if (a === decisive) return decisive
    const b = second(frame)
    if (b === decisive) return decisive
    if (a !== !decisive) return asError(a)
    return b === !decisive ? b : asError(b)
  }
}

/** `!a`. */
export function notStep(operand: Step): Step {
  return (frame) => {
    const value = operand(frame)
    return typeof value === 'boolean' ? !value : asError(value)
  }
}

/** `test ? yes : no`; only the branch taken is evaluated. */
export function conditionalStep(test: Step, yes: Step, no: Step): Step {
  return (frame) => {
    const value = test(frame)
    if (value === true) return yes(frame)
    return value === false ? no(frame) : asError(value)
  }
}
