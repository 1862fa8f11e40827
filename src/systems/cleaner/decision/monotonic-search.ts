import { CelError } from '../../../cel/errors.ts'
import type { Budget } from '../../../cel/frame.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import type { Program } from '../../../cel/program.ts'

export interface MonotonicSearch {
  readonly programs: readonly Program[]
  readonly variables: Readonly<Record<string, unknown>>
  readonly now: number
  /** The first step of the search. */
  readonly periodMs: number
  /** The cost limit of all evaluations together. */
  readonly budget: Budget
}

/** `none`: no instant within ten years or the cost limit. `violated`: conditions were true and then false again. */
export type SearchResult = { readonly found: 'at'; readonly at: number } | { readonly found: 'none' | 'violated' }

const horizonMs = 10 * 366 * 86_400_000
const resolutionMs = 1000
/** How many later instants are checked for a condition that became false again. */
const probes = 6

/**
 * Searches the instant at which all conditions become true, assuming that they then stay true: doubling steps, then bisection. The
 * result is only a time to evaluate again; a wrong assumption costs lateness, never a wrong deletion.
 */
export function searchMonotonic({ programs, variables, now, periodMs, budget }: MonotonicSearch): SearchResult {
  const isTrue = (at: number) => {
    const bindings = { ...variables, time: CelTimestamp.fromMilliseconds(at) }
    return programs.every((program) => program.evaluate(bindings, { budget }) === true)
  }
  let before = now
  let at: number | undefined
  for (let step = periodMs; step <= horizonMs && budget.remaining > 0; step *= 2) {
    if (isTrue(now + step)) {
      at = now + step
      break
    }
    before = now + step
  }
  if (at === undefined) return { found: 'none' }
  while (at - before > resolutionMs && budget.remaining > 0) {
    const middle: number = before + Math.floor((at - before) / 2)
    if (isTrue(middle)) at = middle
    else before = middle
  }
  for (let probe = 0, step = periodMs; probe < probes && budget.remaining > 0; probe++, step *= 2)
    if (!isTrue(at + step) && budget.remaining > 0) return { found: 'violated' }
  return budget.remaining > 0 ? { found: 'at', at } : { found: 'none' }
}

/** Whether an evaluation stopped at the cost limit. */
export function isSpent(value: unknown): boolean {
  return value instanceof CelError && value.kind === 'budget'
}
