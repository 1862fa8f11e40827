import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import type { EnvironmentClassSpec } from '../../../apis/environment-class.ts'
import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError } from '../../../cel/errors.ts'
import type { Program } from '../../../cel/program.ts'
import { dynType, timestampType } from '../../../cel/types.ts'
import { requirementsOf, type Requirement } from '../../../kube/selector.ts'
import { parseLongDuration } from '../../../kube/time.ts'

/** A class, read: durations in milliseconds, defaults filled in. */
export interface ClassRules {
  readonly selector: readonly Requirement[]
  readonly afterMs: number | undefined
  readonly since: 'LastUsed' | 'Created' | 'LastDeployed'
  readonly warnMs: number
  readonly extendMs: number
  readonly maxAgeMs: number | undefined
  /** Undefined: closed pull requests delete nothing. */
  readonly closedMs: number | undefined
  readonly staleMs: number | undefined
  readonly when: Program | undefined
  readonly uses: ReadonlySet<'Traffic' | 'Deploy' | 'Exec'>
}

export interface Problem {
  readonly field: string
  readonly message: string
}

const environment = kubernetesEnvironment({
  environment: dynType,
  // `namespace` is a reserved word of CEL; Kubernetes' admission policies have this name.
  namespaceObject: dynType,
  pullRequest: dynType,
  time: timestampType,
})

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Reads a class. A field with a problem counts as absent, and one that would delete then deletes nothing. */
export function readClass(spec: EnvironmentClassSpec): { rules: ClassRules; problems: readonly Problem[] } {
  const problems: Problem[] = []
  const duration = (field: string, text: string | undefined, least = 0): number | undefined => {
    if (text === undefined) return undefined
    const ms = parseLongDuration(text)
    if (ms === undefined) problems.push({ field, message: `"${text}" is not a duration such as 30m, 12h or 7d` })
    else if (ms < least) problems.push({ field, message: `must be at least ${least === day ? '1d' : '1m'}` })
    return ms !== undefined && ms >= least ? ms : undefined
  }
  const { sleep, delete: deletion = {}, pullRequest = {}, use } = spec
  duration('spec.sleep.idleAfter', sleep?.idleAfter, minute)
  duration('spec.sleep.grace', sleep?.grace)
  if (sleep?.awake !== undefined && /\s/.test(sleep.awake) && !parseAwakeHours(sleep.awake))
    problems.push({
      field: 'spec.sleep.awake',
      message: 'must name a WorkSchedule or be such as Mon-Fri 08:00-18:00 Europe/Berlin',
    })
  const rules: ClassRules = {
    selector: selectorOf(spec, problems),
    afterMs: duration('spec.delete.after', deletion.after),
    since: deletion.since ?? 'LastUsed',
    warnMs: duration('spec.delete.warnBefore', deletion.warnBefore) ?? day,
    extendMs: duration('spec.delete.extendBy', deletion.extendBy) ?? 3 * day,
    maxAgeMs: duration('spec.delete.maxAge', deletion.maxAge),
    closedMs:
      pullRequest.deleteWhenClosed === false
        ? undefined
        : duration('spec.pullRequest.graceAfterClose', pullRequest.graceAfterClose ?? '1h'),
    staleMs: duration('spec.pullRequest.staleAfter', pullRequest.staleAfter, day),
    when: programOf(deletion.when, problems),
    uses: new Set(use ?? (sleep?.idleAfter === undefined ? ['Deploy'] : ['Traffic', 'Deploy'])),
  }
  const { afterMs, warnMs, maxAgeMs } = rules
  if (afterMs !== undefined && warnMs > afterMs)
    problems.push({ field: 'spec.delete.warnBefore', message: 'must not be longer than spec.delete.after' })
  if (maxAgeMs !== undefined && maxAgeMs < Math.max(afterMs ?? 0, warnMs))
    problems.push({ field: 'spec.delete.maxAge', message: 'must not be shorter than spec.delete.after and warnBefore' })
  return { rules, problems }
}

/** Namespaces that no class ever matches. */
export function isExempt(name: string): boolean {
  return name === 'default' || name.startsWith('kube-') || name === 'sojourn-system'
}

function selectorOf({ namespaceSelector }: EnvironmentClassSpec, problems: Problem[]): readonly Requirement[] {
  const field = 'spec.namespaceSelector'
  try {
    const requirements = requirementsOf(namespaceSelector)
    if (requirements.length === 0) problems.push({ field, message: 'must not be empty' })
    return requirements
  } catch (error) {
    problems.push({ field, message: (error as Error).message })
    return []
  }
}

function programOf(source: string | undefined, problems: Problem[]): Program | undefined {
  if (source === undefined) return undefined
  const program = compile(source, environment)
  if (!(program instanceof CelCompileError)) return program
  problems.push({ field: 'spec.delete.when', message: `cannot be compiled: ${program.message}` })
  return undefined
}
