import { ConfigError } from '../client/cluster-config.ts'
import type { KubeObject } from '../kube/object.ts'
import { limits } from '../parsing/limits.ts'
import { readYaml } from '../parsing/yaml-text.ts'
import { formatDuration, formatTime, parseLongDuration, parseTime } from '../kube/time.ts'

/** An object as users write it: `configmap/team/old`, or `namespace/team` for a cluster-scoped one. */
export interface TypedName {
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** An event that the forecast assumes. `at` is the time it happens, in epoch milliseconds. */
export type Assumption =
  | {
      readonly assume: 'applied'
      readonly at: number
      readonly from: string
      readonly manifests: readonly KubeObject[]
    }
  | { readonly assume: 'deleted'; readonly at: number; readonly target: TypedName }
  | { readonly assume: 'opted-out'; readonly at: number; readonly target: TypedName }
  | {
      readonly assume: 'approved'
      /** Promotions that wait at this time or later are approved. */
      readonly at: number
      readonly namespace: string
      readonly pipeline: string
      readonly environment: string
    }
  | { readonly assume: 'merged'; readonly afterMs: number }
  | { readonly assume: 'rolled-out'; readonly afterMs: number }

/** The syntax of `--assume`, for its help text. */
export const assumptionHelp = `  FILE[@WHEN]                                  a user applies these manifests
  delete:KIND/[NAMESPACE/]NAME[@WHEN]          a user deletes this object
  opt-out:KIND/[NAMESPACE/]NAME[@WHEN]         the owner opts this object out of cleanup
  approve:NAMESPACE/PIPELINE/ENVIRONMENT[@WHEN]  promotions that wait there then or later are approved
  merge:DURATION                               pull requests are merged this long after they are opened (default: never)
  rollout:DURATION                             targets run a revision this long after its merge, commit or webhook call
                                               (default: 1m); DURATION may be "never" for both
WHEN is a time (2027-01-01T09:00:00Z) or a duration from now (2d, 36h); the default is now.`

export interface AssumptionContext {
  readonly now: number
  /** Returns the text of a file of manifests; throws ConfigError when it cannot be read. */
  readonly readFile: (path: string) => string
  /** The flag that messages name. Defaults to `--assume`. */
  readonly flag?: string
}

/** Parses one assumption; throws ConfigError that states the expected syntax. */
export function readAssumption(text: string, context: AssumptionContext): Assumption {
  try {
    return parse(text, context)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(`${context.flag ?? '--assume'} ${error.message}`, { cause: error })
  }
}

function parse(text: string, context: AssumptionContext): Assumption {
  const [, verb = '', rest = ''] = /^(delete|opt-out|approve|merge|rollout):(.*)$/s.exec(text) ?? []
  switch (verb) {
    case 'merge':
      return { assume: 'merged', afterMs: durationOf(text, rest) }
    case 'rollout':
      return { assume: 'rolled-out', afterMs: durationOf(text, rest) }
    case 'delete':
    case 'opt-out': {
      const { subject, at } = timed(text, rest, context.now)
      return { assume: verb === 'delete' ? 'deleted' : 'opted-out', at, target: targetOf(text, subject) }
    }
    case 'approve': {
      const { subject, at } = timed(text, rest, context.now)
      const [namespace = '', pipeline = '', environment = '', ...more] = subject.split('/')
      if (!environment || more.length > 0) throw invalid(text, 'it must be approve:NAMESPACE/PIPELINE/ENVIRONMENT')
      return { assume: 'approved', at, namespace, pipeline, environment }
    }
    default: {
      const { subject, at } = timed(text, text, context.now)
      return { assume: 'applied', at, from: subject, manifests: manifestsIn(subject, context.readFile(subject)) }
    }
  }
}

/** The assumption as a clause, such as `pull requests are never merged`. */
export function assumptionSentence(assumption: Assumption): string {
  switch (assumption.assume) {
    case 'applied':
      return `${assumption.from} is applied at ${formatTime(assumption.at)}`
    case 'deleted':
      return `a user deletes ${pathOf(assumption.target)} at ${formatTime(assumption.at)}`
    case 'opted-out':
      return `the owner opts ${pathOf(assumption.target)} out at ${formatTime(assumption.at)}`
    case 'approved':
      return `promotions that wait in ${assumption.environment} of Pipeline ${assumption.namespace}/${assumption.pipeline} are approved from ${formatTime(assumption.at)} on`
    case 'merged':
      return `pull requests are ${whenWord(assumption.afterMs, 'merged')}`
    case 'rolled-out':
      return `merged, committed and announced revisions are ${whenWord(assumption.afterMs, 'rolled out')}`
  }
}

/** `configmap/team/old`. */
export function pathOf({ kind, namespace, name }: TypedName): string {
  return [kind, namespace, name].filter((part) => part !== undefined).join('/')
}

function whenWord(afterMs: number, done: string): string {
  return afterMs === Infinity ? `never ${done}` : `${done} after ${formatDuration(afterMs)}`
}

function durationOf(text: string, written: string): number {
  if (written === 'never') return Infinity
  const ms = parseLongDuration(written)
  if (ms === undefined || ms < 0) throw invalid(text, 'a duration looks like 5m, 36h or 2d, or is "never"')
  return ms
}

function timed(text: string, rest: string, now: number): { readonly subject: string; readonly at: number } {
  const mark = rest.lastIndexOf('@')
  if (mark < 0) return { subject: rest, at: now }
  const written = rest.slice(mark + 1)
  const afterMs = parseLongDuration(written.replace(/^\+/, ''))
  const at = afterMs === undefined ? parseTime(written) : now + afterMs
  if (at === undefined || at < now)
    throw invalid(text, `"${written}" is not a time in the future: write 2d, 36h or 2027-01-01T09:00:00Z`)
  return { subject: rest.slice(0, mark), at }
}

function targetOf(text: string, subject: string): TypedName {
  const [kind = '', first = '', second, ...more] = subject.split('/')
  if (!kind || !first || second === '' || more.length > 0)
    throw invalid(text, 'an object is KIND/NAMESPACE/NAME, or KIND/NAME if it is cluster-scoped')
  return second === undefined ? { kind, name: first } : { kind, namespace: first, name: second }
}

function documentsIn(path: string, content: string): readonly unknown[] {
  try {
    return readYaml(content, limits.ownFile).documents
  } catch (error) {
    throw new ConfigError(`${path} is not YAML: ${(error as Error).message}`, { cause: error })
  }
}

function manifestsIn(path: string, content: string): readonly KubeObject[] {
  const objects = documentsIn(path, content).flatMap((document) => {
    const value = document as KubeObject | { readonly kind: 'List'; readonly items: readonly KubeObject[] } | null
    if (value === null || value === undefined) return []
    return value.kind === 'List' && 'items' in value ? (value.items as readonly KubeObject[]) : [value as KubeObject]
  })
  const bad = objects.find(({ apiVersion, kind, metadata }) => !apiVersion || !kind || !metadata?.name)
  if (bad || objects.length === 0)
    throw new ConfigError(`${path}: every manifest needs apiVersion, kind and metadata.name`)
  return objects
}

function invalid(text: string, problem: string): ConfigError {
  return new ConfigError(`${text}: ${problem}`)
}

/** What every forecast assumes of pull requests and rollouts, unless an assumption says otherwise. */
const defaults: readonly Assumption[] = [
  { assume: 'merged', afterMs: Infinity },
  { assume: 'rolled-out', afterMs: 60_000 },
]

/** The given assumptions after the default ones: of several delays, the last counts. */
export function withDefaults(given: readonly Assumption[]): readonly Assumption[] {
  return [...defaults, ...given]
}

/** How long after its cause this happens; Infinity for never. */
export function delayOf(assumptions: readonly Assumption[], what: 'merged' | 'rolled-out'): number {
  const found = assumptions.findLast(({ assume }) => assume === what)
  return found && 'afterMs' in found ? found.afterMs : Infinity
}

/** Everything a forecast assumes, a sentence each. */
export function assumptionSentences(given: readonly Assumption[]): readonly string[] {
  const all = withDefaults(given)
  return [
    `no ${given.length > 0 ? 'other ' : ''}requests, approvals, opt-outs or edits`,
    'Jobs succeed within a minute',
    ...all.filter((each) => isEffective(each, all)).map(assumptionSentence),
  ]
}

/** A later delay replaces an earlier one; events all happen. */
function isEffective(assumption: Assumption, all: readonly Assumption[]): boolean {
  return 'at' in assumption || all.findLast(({ assume }) => assume === assumption.assume) === assumption
}
