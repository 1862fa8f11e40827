import { parseAllDocuments } from 'yaml'
import { ConfigError } from '../client/cluster-config.ts'
import type { KubeObject } from '../kube/object.ts'
import { formatDuration, formatTime, parseLongDuration, parseTime } from '../kube/time.ts'

/** An object as people name it: `configmap/team/old`, or `namespace/team` for what is in none. */
export interface NamedThing {
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** Something the forecast is to take for granted. `at` is the time it happens, in epoch milliseconds. */
export type Assumption =
  | {
      readonly assume: 'applied'
      readonly at: number
      readonly from: string
      readonly manifests: readonly KubeObject[]
    }
  | { readonly assume: 'deleted'; readonly at: number; readonly thing: NamedThing }
  | { readonly assume: 'opted-out'; readonly at: number; readonly thing: NamedThing }
  | {
      readonly assume: 'approved'
      /** From then on, whenever it waits for approval. */
      readonly at: number
      readonly namespace: string
      readonly pipeline: string
      readonly environment: string
    }
  | { readonly assume: 'merged'; readonly afterMs: number }
  | { readonly assume: 'rolled-out'; readonly afterMs: number }

/** The words in which assumptions are made, for help. */
export const assumptionHelp = `  FILE[@WHEN]                                  these manifests are applied
  delete:KIND/[NAMESPACE/]NAME[@WHEN]          somebody deletes it
  opt-out:KIND/[NAMESPACE/]NAME[@WHEN]         its owner opts out of cleanup
  approve:NAMESPACE/PIPELINE/ENVIRONMENT[@WHEN]  what waits there for approval gets it, from then on
  merge:DURATION                               pull requests are merged so long after they are opened (default: never)
  rollout:DURATION                             what is merged, committed or called for runs so long after (default: 1m);
                                               "never" for either
WHEN is a time (2027-01-01T09:00:00Z) or how long from now (2d, 36h); left out, it is now.`

export interface AssumptionContext {
  readonly now: number
  /** The text of a file of manifests; throws ConfigError when there is none. */
  readonly readFile: (path: string) => string
}

/** Reads one assumption; throws ConfigError that says how it should look. */
export function readAssumption(text: string, context: AssumptionContext): Assumption {
  const [, verb = '', rest = ''] = /^(delete|opt-out|approve|merge|rollout):(.*)$/s.exec(text) ?? []
  switch (verb) {
    case 'merge':
      return { assume: 'merged', afterMs: durationOf(text, rest) }
    case 'rollout':
      return { assume: 'rolled-out', afterMs: durationOf(text, rest) }
    case 'delete':
    case 'opt-out': {
      const { subject, at } = timed(text, rest, context.now)
      return { assume: verb === 'delete' ? 'deleted' : 'opted-out', at, thing: thingOf(text, subject) }
    }
    case 'approve': {
      const { subject, at } = timed(text, rest, context.now)
      const [namespace = '', pipeline = '', environment = '', ...more] = subject.split('/')
      if (!environment || more.length > 0) throw wrong(text, 'it must be approve:NAMESPACE/PIPELINE/ENVIRONMENT')
      return { assume: 'approved', at, namespace, pipeline, environment }
    }
    default: {
      const { subject, at } = timed(text, text, context.now)
      return { assume: 'applied', at, from: subject, manifests: manifestsIn(subject, context.readFile(subject)) }
    }
  }
}

/** What is assumed, as a sentence. */
export function assumptionSentence(assumption: Assumption): string {
  switch (assumption.assume) {
    case 'applied':
      return `${assumption.from} is applied at ${formatTime(assumption.at)}`
    case 'deleted':
      return `somebody deletes ${wordOf(assumption.thing)} at ${formatTime(assumption.at)}`
    case 'opted-out':
      return `somebody opts ${wordOf(assumption.thing)} out at ${formatTime(assumption.at)}`
    case 'approved':
      return `what waits for approval in ${assumption.environment} of ${assumption.namespace}/${assumption.pipeline} gets it from ${formatTime(assumption.at)} on`
    case 'merged':
      return `pull requests are ${whenWord(assumption.afterMs, 'merged')}`
    case 'rolled-out':
      return `what is merged, committed or called for is ${whenWord(assumption.afterMs, 'rolled out')}`
  }
}

/** `configmap/team/old`. */
export function wordOf({ kind, namespace, name }: NamedThing): string {
  return [kind, namespace, name].filter((part) => part !== undefined).join('/')
}

function whenWord(afterMs: number, done: string): string {
  return afterMs === Infinity ? `never ${done}` : `${done} after ${formatDuration(afterMs)}`
}

function durationOf(text: string, written: string): number {
  if (written === 'never') return Infinity
  const ms = parseLongDuration(written)
  if (ms === undefined || ms < 0) throw wrong(text, 'a duration looks like 5m, 36h or 2d, or is "never"')
  return ms
}

function timed(text: string, rest: string, now: number): { readonly subject: string; readonly at: number } {
  const mark = rest.lastIndexOf('@')
  if (mark < 0) return { subject: rest, at: now }
  const written = rest.slice(mark + 1)
  const afterMs = parseLongDuration(written.replace(/^\+/, ''))
  const at = afterMs === undefined ? parseTime(written) : now + afterMs
  if (at === undefined || at < now)
    throw wrong(text, `"${written}" is no time to come: say 2d, 36h or 2027-01-01T09:00:00Z`)
  return { subject: rest.slice(0, mark), at }
}

function thingOf(text: string, subject: string): NamedThing {
  const [kind = '', first = '', second, ...more] = subject.split('/')
  if (!kind || !first || second === '' || more.length > 0)
    throw wrong(text, 'an object is KIND/NAMESPACE/NAME, or KIND/NAME where it is in no namespace')
  return second === undefined ? { kind, name: first } : { kind, namespace: first, name: second }
}

function manifestsIn(path: string, content: string): readonly KubeObject[] {
  const documents = parseAllDocuments(content)
  const objects = documents.flatMap((document) => {
    const [problem] = document.errors
    if (problem) throw new ConfigError(`--assume ${path} is not YAML: ${problem.message.split('\n')[0]}`)
    const value = document.toJS() as
      | KubeObject
      | { readonly kind: 'List'; readonly items: readonly KubeObject[] }
      | null
    if (value === null) return []
    return value.kind === 'List' && 'items' in value ? (value.items as readonly KubeObject[]) : [value as KubeObject]
  })
  const bad = objects.find(({ apiVersion, kind, metadata }) => !apiVersion || !kind || !metadata?.name)
  if (bad || objects.length === 0)
    throw new ConfigError(`--assume ${path}: every manifest needs apiVersion, kind and metadata.name`)
  return objects
}

function wrong(text: string, how: string): ConfigError {
  return new ConfigError(`--assume ${text}: ${how}`)
}
