import type { Described } from '../model/attribute.ts'

/** A rule's answer about a resource. `undecided` never leads to a mark and never lifts one. */
export type Answer =
  | { readonly hit: true; readonly says: string }
  | { readonly hit: false; readonly because?: string }
  | { readonly hit: 'undecided'; readonly because: string; /** The rule itself is wrong. */ readonly isFault?: true }

/** A compiled rule: checks one resource at one time. */
export type Check = (described: Described, now: number) => Answer

/** A rule that policies can name. `compile` throws an Error that names a wrong parameter. */
export interface Rule {
  /** The kinds it applies to. Defaults to all. */
  readonly kinds?: readonly string[]
  readonly compile: (parameters: Readonly<Record<string, unknown>>) => Check
}

export const miss: Answer = { hit: false }

export function hit(says: string): Answer {
  return { hit: true, says }
}

/** A miss that says how far the resource is from a hit. */
export function missBecause(because: string): Answer {
  return { hit: false, because }
}

export function undecided(because: string): Answer {
  return { hit: 'undecided', because }
}

/** Reads a number of days from the parameters; undefined when it is absent. */
export function daysParameter(parameters: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = parameters[name]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new Error(`${name} is ${JSON.stringify(value)}: it must be a number of days`)
}

/** Refuses unknown parameters: a misspelled one must not make the rule match more. */
export function onlyParameters(parameters: Readonly<Record<string, unknown>>, ...known: readonly string[]): void {
  const unknown = Object.keys(parameters).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`unknown parameter ${unknown}; this rule takes ${known.length ? known.join(', ') : 'none'}`)
}
