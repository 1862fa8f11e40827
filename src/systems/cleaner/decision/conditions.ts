import { compile } from '../../../cel/compile.ts'
import { cleanerEnvironment } from '../../../cel/environments.ts'
import { CelCompileError, CelError } from '../../../cel/errors.ts'
import { Budget, defaultBudget } from '../../../cel/frame.ts'
import { nextChange } from '../../../cel/next-change.ts'
import type { Program } from '../../../cel/program.ts'
import { dynType, timestampType } from '../../../cel/types.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import type { Model, Problem } from './model.ts'
import { isSpent, searchMonotonic, type MonotonicSearch } from './monotonic-search.ts'

/** What the conditions say of the targets at an instant. */
export type Verdict =
  | { readonly is: 'true' }
  | { readonly is: 'false'; readonly condition: number; readonly next: NextLook }
  | { readonly is: 'error'; readonly condition: number; readonly message: string; readonly isSpent?: true }
  | { readonly is: 'not-boolean'; readonly condition: number; readonly type: string }

/** When to look again: at an instant, never by time alone, or by period, where the user's word may turn out wrong. */
export type NextLook =
  | { readonly look: 'at'; readonly at: number }
  | { readonly look: 'never' }
  | { readonly look: 'by-period'; readonly violatesMonotonic?: true }

/** What a condition may mention besides `time`: each evaluated target by its name. */
export type Variables = Readonly<Record<string, unknown>>

/** Evaluates every condition, all for one budget. The first that is not a plain true or false decides; false wins over later truths. */
export function evaluate(model: Judged, variables: Variables, now: number): Verdict {
  const programs = programsOf(model.conditions, namesOf(model.targets))
  const bindings = { ...variables, time: CelTimestamp.fromMilliseconds(now) }
  const budget = new Budget(defaultBudget)
  const falseOnes: Program[] = []
  let firstFalse: number | undefined
  for (const [condition, program] of programs.entries()) {
    if (program instanceof CelCompileError) return { is: 'error', condition, message: program.message }
    const value = program.evaluate(bindings, { budget })
    if (value instanceof CelError)
      return { is: 'error', condition, message: value.message, ...(isSpent(value) ? { isSpent: true } : {}) }
    if (typeof value !== 'boolean')
      return { is: 'not-boolean', condition, type: value === null ? 'null' : typeof value }
    if (value) continue
    firstFalse ??= condition
    falseOnes.push(program)
  }
  if (firstFalse === undefined) return { is: 'true' }
  const search = { programs: falseOnes, variables, now, periodMs: model.periodMs, budget }
  const next = earliestTruth(search)
  if (next.look !== 'by-period' || !model.monotonic) return { is: 'false', condition: firstFalse, next }
  return { is: 'false', condition: firstFalse, next: byTheirWord({ ...search, programs: programs as Program[] }) }
}

type Judged = Pick<Model, 'conditions' | 'targets' | 'monotonic' | 'periodMs'>

function byTheirWord(search: MonotonicSearch): NextLook {
  const result = searchMonotonic(search)
  if (result.found === 'at') return { look: 'at', at: result.at }
  return { look: 'by-period', ...(result.found === 'violated' ? { violatesMonotonic: true } : {}) }
}

/** What keeps conditions from ever being evaluated, with the place in the expression. */
export function conditionProblems({ conditions, targets }: Pick<Model, 'conditions' | 'targets'>): readonly Problem[] {
  return programsOf(conditions, namesOf(targets)).flatMap((program, index) => {
    const field = `spec.conditions[${index}]`
    if (!(program instanceof CelCompileError)) return []
    return program.issues.map(({ line, column, message }) => ({
      field,
      message: `Invalid value: at ${line}:${column}: ${message}`,
    }))
  })
}

/**
 * The latest of the earliest instants at which each false condition may turn true: before it, they cannot all be true. One that never
 * changes by time alone keeps the whole from changing; one that cannot be known, or not for this price, leaves only the period.
 */
function earliestTruth({ programs, variables, now, budget }: MonotonicSearch): NextLook {
  let latest = now
  let isUnknown = false
  for (const program of programs) {
    const change = nextChange(program, variables, now, { budget })
    if (change.kind === 'never') return { look: 'never' }
    if (change.kind === 'at') latest = Math.max(latest, change.at)
    else isUnknown = true
  }
  return isUnknown ? { look: 'by-period' } : { look: 'at', at: latest }
}

function namesOf(targets: Model['targets']): readonly string[] {
  return targets.filter(({ evaluate: isEvaluated }) => isEvaluated).map(({ name }) => name)
}

/** Compiled programs by their conditions and variables; the oldest half goes when it is full. */
const cache = new Map<string, readonly (Program | CelCompileError)[]>()
const cacheSize = 2000

function programsOf(conditions: readonly string[], names: readonly string[]): readonly (Program | CelCompileError)[] {
  const key = JSON.stringify([conditions, names])
  const known = cache.get(key)
  if (known) return known
  const environment = cleanerEnvironment({
    time: timestampType,
    ...Object.fromEntries(names.map((name) => [name, dynType])),
  })
  const programs = conditions.map((source) => compile(source, environment))
  if (cache.size >= cacheSize) for (const old of [...cache.keys()].slice(0, cacheSize / 2)) cache.delete(old)
  cache.set(key, programs)
  return programs
}
