import type { Trace } from './trace.ts'
import type { CelValue } from './values.ts'

/** What an evaluation may spend; one unit is about one step of a loop. Shared by the evaluations it is given to. */
export class Budget {
  remaining: number

  constructor(units: number) {
    this.remaining = units
  }
}

/** Units an evaluation may spend unless told otherwise: some tens of milliseconds of work. */
export const defaultBudget = 1_000_000

/** Thrown when the budget is spent: unlike an error value, nothing may absorb it. */
export class BudgetExceeded extends Error {}

// Made once: a hostile expression should not even cost a stack trace.
const exceeded = new BudgetExceeded('cost budget exceeded')

/** One evaluation in progress. */
export class Frame {
  readonly bindings: Readonly<Record<string, CelValue>>
  /** Variables of comprehensions and binds, by the slot the compiler gave them. */
  readonly slots: CelValue[]
  /** Present when the evaluation also asks when its answer changes. */
  readonly trace: Trace | undefined
  readonly #budget: Budget

  constructor(bindings: Readonly<Record<string, CelValue>>, slots: number, budget: Budget, trace: Trace | undefined) {
    this.bindings = bindings
    this.slots = slots === 0 ? [] : emptySlots(slots)
    this.#budget = budget
    this.trace = trace
  }

  /** Spends units before the work they stand for is done. Give products of lengths as such: `>>` would make large ones negative. */
  charge(units: number): void {
    const budget = this.#budget
    budget.remaining -= Math.floor(units)
    if (budget.remaining < 0) throw exceeded
  }

  /** Spends for work in proportion to a text's length. */
  chargeText(length: number): void {
    if (length >= 16) this.charge(length / 16)
  }

  /** Spends for a search, which at worst compares every part of the text with the whole of the other. */
  chargeSearch(text: string, part: string): void {
    if (text.length >= 32 && part.length <= text.length) this.charge((text.length * (part.length + 1)) / 32)
  }
}

function emptySlots(count: number): CelValue[] {
  const slots: CelValue[] = []
  for (let slot = 0; slot < count; slot++) slots.push(null)
  return slots
}

/** A compiled expression: finds its value in a frame; errors come back as values. */
export type Step = (frame: Frame) => CelValue
