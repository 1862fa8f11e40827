import { CelError } from '../../../cel/errors.ts'
import type { Budget } from '../../../cel/frame.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import type { Program } from '../../../cel/program.ts'

export interface MonotonicSearch {
  readonly programs: readonly Program[]
  readonly variables: Readonly<Record<string, unknown>>
  readonly now: number
  /** How far the first step goes. */
  readonly periodMs: number
  /** What all evaluations together may cost. */
  readonly budget: Budget
}

/**
 * When all conditions become true, on the user's word that then they stay true: doubling steps, then halves. `none`: not within ten years
 * or what it may cost. `violated`: they were seen to become false again.
 */
export type Found = { readonly found: 'at'; readonly at: number } | { readonly found: 'none' | 'violated' }

const horizonMs = 10 * 366 * 86_400_000
const finestMs = 1000
/** How often the user's word is tried after the instant that was found. */
const probes = 6

/** Searches without looking into the conditions; what it finds is a time to look again, and no more than that. */
export function searchMonotonic({ programs, variables, now, periodMs, budget }: MonotonicSearch): Found {
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
  while (at - before > finestMs && budget.remaining > 0) {
    const middle: number = before + Math.floor((at - before) / 2)
    if (isTrue(middle)) at = middle
    else before = middle
  }
  for (let probe = 0, step = periodMs; probe < probes && budget.remaining > 0; probe++, step *= 2)
    if (!isTrue(at + step) && budget.remaining > 0) return { found: 'violated' }
  return budget.remaining > 0 ? { found: 'at', at } : { found: 'none' }
}

/** Whether an error means that the evaluation cost too much. */
export function isSpent(value: unknown): boolean {
  return value instanceof CelError && value.kind === 'budget'
}
