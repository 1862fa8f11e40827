import type { Described } from '../model/attribute.ts'

/** What a rule says of a resource. Undecided is neither yes nor no: it never leads to a mark and never lifts one. */
export type Answer =
  | { readonly hit: true; readonly says: string }
  | { readonly hit: false }
  | { readonly hit: 'undecided'; readonly because: string }

/** Decides about one resource at one time. */
export type Check = (described: Described, now: number) => Answer

/** A rule by its name: compiles its parameters once; throws an Error that names what is wrong with them. */
export interface Rule {
  /** The kinds it can judge. Defaults to all. */
  readonly kinds?: readonly string[]
  readonly compile: (parameters: Readonly<Record<string, unknown>>) => Check
}

export const miss: Answer = { hit: false }

export function hit(says: string): Answer {
  return { hit: true, says }
}

export function undecided(because: string): Answer {
  return { hit: 'undecided', because }
}

/** A whole number of days out of parameters; undefined when it is absent. */
export function daysParameter(parameters: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = parameters[name]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new Error(`${name} is ${JSON.stringify(value)}: it must be a number of days`)
}

/** Refuses parameters that the rule would not look at: a typing error must not make it match more. */
export function onlyParameters(parameters: Readonly<Record<string, unknown>>, ...known: readonly string[]): void {
  const unknown = Object.keys(parameters).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`${unknown} is no parameter of this rule${known.length ? `; there is ${known.join(', ')}` : ''}`)
}
