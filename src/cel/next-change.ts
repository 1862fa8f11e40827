import { CelError } from './errors.ts'
import { isEqual } from './equality.ts'
import { Budget, Frame, defaultBudget } from './frame.ts'
import { CelMap, entriesOf } from './maps.ts'
import { CelDuration, CelTimestamp, timestampOfNanoseconds } from './moments.ts'
import type { Bindings, Program } from './program.ts'
import { Trace } from './trace.ts'
import { typeNameOf } from './type-of.ts'
import { CelOptional, type CelValue } from './values.ts'

/**
 * When a result changes while `time` goes on and the data stay as they are; instants are milliseconds since 1970.
 * `at`: the earliest instant with another result. `never`: not before the year 10 000.
 * `unfinished`: not before `at`, where the search was given up. `opaque`: it cannot be told.
 */
export type NextChange =
  | { readonly kind: 'at'; readonly at: number }
  | { readonly kind: 'never' }
  | { readonly kind: 'unfinished'; readonly at: number }
  | { readonly kind: 'opaque' }

export interface NextChangeOptions {
  /** Evaluations after which the search is given up; default 4096. */
  readonly steps?: number
  /** Units of cost for the whole search; default 1 000 000. */
  readonly budget?: number | Budget
  /** Milliseconds between the instants that matter, counted from now; default 1. */
  readonly tickMs?: number
}

/** The earliest instant after `now` at which the expression's result differs from its result now. */
export function nextChange(
  program: Program,
  bindings: Bindings,
  now: number,
  options: NextChangeOptions = {},
): NextChange {
  const search = new Search(bindings, now, options)
  const first = search.look(program, Math.floor(now))
  if (first.isOpaque || isSpent(first.value)) return { kind: 'opaque' }
  return search.until(program, first)
}

interface Look {
  readonly at: number
  readonly value: CelValue
  readonly isOpaque: boolean
  /** Nanoseconds for which the same path is taken. */
  readonly span: bigint | undefined
}

/** Evaluates at one instant after the other, each the first at which an answer used at the last one changes. */
class Search {
  readonly #bindings: Bindings
  readonly #now: number
  readonly #tickMs: number
  readonly #budget: Budget
  #steps: number

  constructor(bindings: Bindings, now: number, options: NextChangeOptions) {
    const { steps = 4096, budget = defaultBudget, tickMs = 1 } = options
    this.#bindings = bindings
    this.#now = Math.floor(now)
    this.#tickMs = tickMs
    this.#budget = typeof budget === 'number' ? new Budget(budget) : budget
    this.#steps = steps
  }

  look(program: Program, at: number): Look {
    const { seconds, nanos } = CelTimestamp.fromMilliseconds(at)
    const trace = new Trace()
    this.#steps -= 1
    const bindings = { ...this.#bindings, time: new CelTimestamp(seconds, nanos, 1) }
    const value = program.evaluateTraced(bindings, this.#budget, trace)
    return { at, value, isOpaque: trace.isOpaque || isMoving(value), span: trace.span }
  }

  /** When the value first differs from that of `first`. */
  until(program: Program, first: Look): NextChange {
    let look = first
    for (;;) {
      const at = this.#after(look)
      if (at === undefined) return { kind: 'never' }
      if (this.#steps <= 0) return { kind: 'unfinished', at }
      look = this.look(program, at)
      if (isSpent(look.value)) return { kind: 'unfinished', at }
      if (!isSame(look.value, first.value)) return { kind: 'at', at }
      if (look.isOpaque) return { kind: 'unfinished', at }
    }
  }

  /** The first tick at which the path may be another; `undefined` when time ends before. */
  #after({ at, span }: Look): number | undefined {
    if (span === undefined) return undefined
    const tick = BigInt(this.#tickMs) * 1_000_000n
    const passed = BigInt(at - this.#now) * 1_000_000n + span
    const ticks = (passed + tick - 1n) / tick
    const next = BigInt(this.#now) * 1_000_000n + ticks * tick
    return timestampOfNanoseconds(next) instanceof CelError ? undefined : Number(next / 1_000_000n)
  }
}

function isSpent(value: CelValue): boolean {
  return value instanceof CelError && value.kind !== 'evaluation'
}

/** Two errors are the same result; values must agree in type, too. */
function isSame(a: CelValue, b: CelValue): boolean {
  if (a instanceof CelError || b instanceof CelError) return a instanceof CelError && b instanceof CelError
  if (typeNameOf(a) !== typeNameOf(b)) return false
  return (
    (Number.isNaN(a) && Number.isNaN(b)) ||
    isEqual(new Frame({}, 0, new Budget(Number.POSITIVE_INFINITY), undefined), a, b)
  )
}

/** Whether a result holds `time` itself, so that it changes with every tick. */
function isMoving(value: CelValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof CelTimestamp || value instanceof CelDuration) return value.rate !== 0
  if (Array.isArray(value)) return (value as readonly CelValue[]).some(isMoving)
  if (value instanceof CelOptional) return value.value !== undefined && isMoving(value.value)
  // Plain objects came with the data, where nothing moves.
  return value instanceof CelMap && Array.from(entriesOf(value)).some(([, entry]) => isMoving(entry))
}
