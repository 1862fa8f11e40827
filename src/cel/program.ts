import type { Checked } from './checker.ts'
import { CelError } from './errors.ts'
import { Budget, BudgetExceeded, Frame, defaultBudget } from './frame.ts'
import type { Compiled } from './compiler.ts'
import type { Trace } from './trace.ts'
import type { Type } from './types.ts'
import type { CelValue } from './values.ts'

/** What an expression may mention, by name: plain JSON, or CEL's own values such as CelTimestamp. */
export type Bindings = Readonly<Record<string, unknown>>

export interface EvaluateOptions {
  /** Units of cost; a Budget is shared by all evaluations it is given to. Defaults to 1 000 000. */
  readonly budget?: number | Budget
}

/** A compiled expression: immutable, to be kept and evaluated any number of times. */
export class Program {
  readonly source: string
  /** The type its result has, as far as it is known before evaluation. */
  readonly type: Type
  readonly #compiled: Compiled

  constructor(source: string, checked: Checked, compiled: Compiled) {
    this.source = source
    this.type = checked.type
    this.#compiled = compiled
  }

  /** The value, or why there is none. Never throws for anything an expression or its data can do. */
  evaluate(bindings: Bindings, { budget = defaultBudget }: EvaluateOptions = {}): CelValue {
    return this.evaluateTraced(bindings, typeof budget === 'number' ? new Budget(budget) : budget, undefined)
  }

  /** Evaluates, noting in the trace how long the answer holds while `time` moves. */
  evaluateTraced(bindings: Bindings, budget: Budget, trace: Trace | undefined): CelValue {
    const frame = new Frame(bindings as Readonly<Record<string, CelValue>>, this.#compiled.slots, budget, trace)
    try {
      return this.#compiled.step(frame)
    } catch (error) {
      if (error instanceof BudgetExceeded) return new CelError(error.message, 'budget')
      return new CelError(`internal error: ${error instanceof Error ? error.message : String(error)}`, 'internal')
    }
  }
}
