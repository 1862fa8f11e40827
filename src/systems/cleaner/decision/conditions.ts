import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import { blame } from '../../../cel/blame.ts'
import { compile } from '../../../cel/compile.ts'
import { cleanerEnvironment } from '../../../cel/environments.ts'
import { CelCompileError, CelError } from '../../../cel/errors.ts'
import { Budget, defaultBudget } from '../../../cel/frame.ts'
import { nextChange } from '../../../cel/next-change.ts'
import type { Program } from '../../../cel/program.ts'
import { boolType, dynType, timestampType, typeText } from '../../../cel/types.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import type { Model, Problem } from './model.ts'

/** What the conditions evaluate to at one instant. */
export type Verdict =
  | { readonly is: 'true' }
  | { readonly is: 'false'; readonly condition: number; readonly where: string; readonly next: NextEvaluation }
  | { readonly is: 'error'; readonly condition: number; readonly message: string; readonly isSpent?: true }
  | { readonly is: 'not-boolean'; readonly condition: number; readonly type: string }

/**
 * When false conditions can become true: at a computed instant, never by time alone, or at an unknown time, so that they are
 * evaluated every `retry.period`.
 */
export type NextEvaluation =
  | { readonly evaluate: 'at'; readonly at: number }
  | { readonly evaluate: 'never' }
  | { readonly evaluate: 'by-period'; readonly violatesMonotonic?: true }

/** The variables of a condition besides `time`: each evaluated target by its name. */
export type Variables = Readonly<Record<string, unknown>>

/** Evaluates all conditions within one cost limit. The first that is not a boolean decides; otherwise all must be true. */
export function evaluate(model: ConditionModel, variables: Variables, now: number): Verdict {
  const programs = programsOf(model.conditions, namesOf(model.targets))
  const bindings = { ...variables, time: CelTimestamp.fromMilliseconds(now) }
  const budget = new Budget(defaultBudget)
  const falseOnes: Program[] = []
  let firstFalse: number | undefined
  for (const [condition, program] of programs.entries()) {
    if (program instanceof CelCompileError) return { is: 'error', condition, message: program.message }
    const value = program.evaluate(bindings, { budget })
    if (value instanceof CelError)
      return isSpent(value)
        ? { is: 'error', condition, message: value.shown, isSpent: true }
        : {
            is: 'error',
            condition,
            message: `${whereOf(model, condition, { bindings, budget, result: 'error' })}${value.shown}`,
          }
    if (typeof value !== 'boolean')
      return { is: 'not-boolean', condition, type: value === null ? 'null' : typeof value }
    if (value) continue
    firstFalse ??= condition
    falseOnes.push(program)
  }
  if (firstFalse === undefined) return { is: 'true' }
  const search = { programs: falseOnes, variables, now, periodMs: model.periodMs, budget }
  const next = earliestTruth(search)
  const where = whereOf(model, firstFalse, { bindings, budget, result: 'false' })
  if (next.evaluate !== 'by-period' || !model.monotonic) return { is: 'false', condition: firstFalse, where, next }
  return {
    is: 'false',
    condition: firstFalse,
    where,
    next: searchAssumingMonotonic({ ...search, programs: programs as Program[] }),
  }
}

/** `at 1:20, item 3: `: the part of a condition that is false or fails, and the item that it is false for; else empty. */
function whereOf(
  { conditions, targets }: ConditionModel,
  condition: number,
  given: Parameters<typeof blame>[1],
): string {
  const environment = environmentOf(namesOf(targets))
  const found = blame({ source: conditions[condition] ?? '', environment }, given)
  if (!found) return ''
  const items = found.items.map((item) => `, item ${item}`).join(' of ')
  return `at ${found.line}:${found.column}${items}: `
}

type ConditionModel = Pick<Model, 'conditions' | 'targets' | 'monotonic' | 'periodMs'>

function searchAssumingMonotonic(search: MonotonicSearch): NextEvaluation {
  const result = searchMonotonic(search)
  if (result.found === 'at') return { evaluate: 'at', at: result.at }
  return { evaluate: 'by-period', ...(result.found === 'violated' ? { violatesMonotonic: true } : {}) }
}

/** Conditions whose result cannot be a boolean, whatever the data. A controller reports them when it evaluates them; admission refuses them at once. */
export function resultProblems({ conditions, targets }: Pick<Model, 'conditions' | 'targets'>): readonly Problem[] {
  return programsOf(conditions, namesOf(targets)).flatMap((program, index) => {
    if (program instanceof CelCompileError || canBeBoolean(program)) return []
    const message = `Invalid value: evaluates to ${typeText(program.type)}, not to bool`
    return [{ field: `spec.conditions[${index}]`, message }]
  })
}

/** By name: a constant condition has a type of its own. */
function canBeBoolean({ type }: Program): boolean {
  return [boolType, dynType].some((each) => typeText(each) === typeText(type))
}

/** Compile errors of conditions, with their position in the expression. */
export function conditionProblems({ conditions, targets }: Pick<Model, 'conditions' | 'targets'>): readonly Problem[] {
  const length = conditions.join('').length
  if (length > maxSource)
    return [{ field: 'spec.conditions', message: `Too long: ${length} characters together, at most ${maxSource}` }]
  return programsOf(conditions, namesOf(targets)).flatMap((program, index) => {
    const field = `spec.conditions[${index}]`
    if (!(program instanceof CelCompileError)) return []
    return program.issues.map(({ line, column, message }) => ({
      field,
      message: `Invalid value: at ${line}:${column}: ${message}${hintFor(message, targets)}`,
    }))
  })
}

/** An undeclared reference may be to a target that conditions cannot read. */
function hintFor(message: string, targets: Model['targets']): string {
  const [, name] = /undeclared reference to '([^']*)'/.exec(message) ?? []
  const isHidden = targets.some((target) => target.name === name && !target.evaluate)
  return isHidden ? `: target ${name} is not read by conditions; set its includeWhenEvaluating to true` : ''
}

/**
 * The latest of the earliest instants at which each false condition may become true: before it, they cannot all be true. If one never
 * changes by time alone, neither do all together; if the instant of one cannot be computed within the cost limit, only the period remains.
 */
function earliestTruth({ programs, variables, now, budget }: MonotonicSearch): NextEvaluation {
  let latest = now
  let isUnknown = false
  for (const program of programs) {
    const change = nextChange(program, variables, now, { budget })
    if (change.kind === 'never') return { evaluate: 'never' }
    if (change.kind === 'at') latest = Math.max(latest, change.at)
    else isUnknown = true
  }
  return isUnknown ? { evaluate: 'by-period' } : { evaluate: 'at', at: latest }
}

function namesOf(targets: Model['targets']): readonly string[] {
  return targets.filter(({ evaluate: isEvaluated }) => isEvaluated).map(({ name }) => name)
}

/** Compiled programs by their conditions and variables. */
/** Characters of all conditions of an object, as many as one expression may have. */
const maxSource = 16_384
/** By characters of their sources: a program takes up to 250 times as many bytes. */
const cache = new BoundedMap<string, readonly (Program | CelCompileError)[]>(256 * 1024, ({ length }) => length)

function programsOf(conditions: readonly string[], names: readonly string[]): readonly (Program | CelCompileError)[] {
  const key = JSON.stringify([conditions, names])
  const known = cache.get(key)
  if (known) return known
  const environment = environmentOf(names)
  const programs = conditions.map((source) => compile(source, environment))
  cache.set(key, programs)
  return programs
}

function environmentOf(names: readonly string[]) {
  return cleanerEnvironment({ time: timestampType, ...Object.fromEntries(names.map((name) => [name, dynType])) })
}

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
function searchMonotonic({ programs, variables, now, periodMs, budget }: MonotonicSearch): SearchResult {
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
