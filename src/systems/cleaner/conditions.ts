import { compile } from '../../cel/compile.ts'
import { cleanerEnvironment } from '../../cel/environments.ts'
import { CelCompileError, CelError } from '../../cel/errors.ts'
import { nextChange } from '../../cel/next-change.ts'
import type { Program } from '../../cel/program.ts'
import { dynType, timestampType } from '../../cel/types.ts'
import { CelTimestamp } from '../../cel/moments.ts'
import type { Model, Problem } from './model.ts'

/** What the conditions say of the targets at an instant. */
export type Verdict =
  | { readonly is: 'true' }
  | { readonly is: 'false'; readonly condition: number; readonly mayChangeAt: number | 'never' | 'unknown' }
  | { readonly is: 'error'; readonly condition: number; readonly message: string }
  | { readonly is: 'not-boolean'; readonly condition: number; readonly type: string }

/** What a condition may mention besides `time`: each evaluated target by its name. */
export type Variables = Readonly<Record<string, unknown>>

/** Evaluates every condition. The first that is not a plain true or false decides; false wins over later truths. */
export function evaluate(
  { conditions, targets }: Pick<Model, 'conditions' | 'targets'>,
  variables: Variables,
  now: number,
): Verdict {
  const programs = programsOf(conditions, namesOf(targets))
  const bindings = { ...variables, time: CelTimestamp.fromMilliseconds(now) }
  let firstFalse: number | undefined
  for (const [condition, program] of programs.entries()) {
    if (program instanceof CelCompileError) return { is: 'error', condition, message: program.message }
    const value = program.evaluate(bindings)
    if (value instanceof CelError) return { is: 'error', condition, message: value.message }
    if (typeof value !== 'boolean')
      return { is: 'not-boolean', condition, type: value === null ? 'null' : typeof value }
    if (!value) firstFalse ??= condition
  }
  if (firstFalse === undefined) return { is: 'true' }
  return {
    is: 'false',
    condition: firstFalse,
    mayChangeAt: earliestTruth(programs as readonly Program[], variables, now),
  }
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
 * The latest of the earliest instants at which each false condition may turn true: before it, they cannot all be true.
 * One that never changes by time alone keeps the whole from changing; one that cannot be known makes it unknown.
 */
function earliestTruth(programs: readonly Program[], variables: Variables, now: number): number | 'never' | 'unknown' {
  let latest = now
  let isUnknown = false
  for (const program of programs) {
    if (program.evaluate({ ...variables, time: CelTimestamp.fromMilliseconds(now) }) === true) continue
    const change = nextChange(program, variables, now)
    switch (change.kind) {
      case 'never':
        return 'never'
      case 'at':
      case 'unfinished':
        latest = Math.max(latest, change.at)
        break
      case 'opaque':
        isUnknown = true
        break
    }
  }
  return isUnknown ? 'unknown' : latest
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
