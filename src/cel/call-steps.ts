import { CelError, noSuchOverload } from './errors.ts'
import type { Frame, Step } from './frame.ts'
import type { Implementation, Overload } from './functions.ts'
import type { CelValue } from './values.ts'

/** A step that calls the overload its arguments fit; the test is left out where the types are certain. */
export function callStep(overloads: readonly Overload[], args: readonly Step[], isCertain: boolean): Step {
  const fitting = overloads.filter(({ parameters }) => parameters.length === args.length)
  const [only] = fitting
  if (!only) return () => noSuchOverload
  return applied(isCertain && fitting.length === 1 ? only.call : dispatch(fitting), args)
}

/** One function that passes its arguments to the first overload they fit. */
function dispatch(overloads: readonly Overload[]): Implementation {
  const [only] = overloads
  if (only && overloads.length === 1) return guarded(only)
  return (frame, ...args) => {
    const match = overloads.find(({ guards }) => guards.every((guard, index) => guard(args[index]!)))
    return match ? match.call(frame, ...args) : noSuchOverload
  }
}

function guarded({ guards, call }: Overload): Implementation {
  const [first, second] = guards
  if (guards.length === 1 && first) return (frame, a) => (first(a!) ? call(frame, a!) : noSuchOverload)
  if (guards.length === 2 && first && second) {
    return (frame, a, b) => (first(a!) && second(b!) ? call(frame, a!, b!) : noSuchOverload)
  }
  return (frame, ...args) =>
    guards.every((guard, index) => guard(args[index]!)) ? call(frame, ...args) : noSuchOverload
}

function applied(call: Implementation, args: readonly Step[]): Step {
  const [first, second] = args
  if (!first) return (frame) => call(frame)
  if (args.length === 1) return (frame) => callWithOne(frame, call, first)
  if (args.length === 2 && second) return (frame) => callWithTwo(frame, call, first, second)
  return (frame) => callWithMany(frame, call, args)
}

function callWithOne(frame: Frame, call: Implementation, first: Step): CelValue {
  const a = first(frame)
  return a instanceof CelError ? a : call(frame, a)
}

function callWithTwo(frame: Frame, call: Implementation, first: Step, second: Step): CelValue {
  const a = first(frame)
  if (a instanceof CelError) return a
  const b = second(frame)
  return b instanceof CelError ? b : call(frame, a, b)
}

function callWithMany(frame: Frame, call: Implementation, args: readonly Step[]): CelValue {
  const values: CelValue[] = []
  for (const arg of args) {
    const value = arg(frame)
    if (value instanceof CelError) return value
    values.push(value)
  }
  return call(frame, ...values)
}
