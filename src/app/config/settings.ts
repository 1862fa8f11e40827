import { ConfigError } from '../../client/cluster-config.ts'
import { parseLongDuration } from '../../kube/time.ts'
import { flagOf, type ConfigFlag } from './flags.ts'

/** A setting as it was found, with where: `--port`, `SOJOURN_PORT`, `sojourn.yaml: port`. */
export interface Found {
  readonly text: string
  readonly where: string
}

/** Looks a setting up by its flag. */
export type Lookup = (flag: string) => Found | undefined

/** One setting: how its flag is shown, and what its value is. */
export interface Setting<T, Unit extends string = ''> {
  readonly flag: ConfigFlag
  /** Throws ConfigError where what was found cannot be used. */
  readonly read: (found: Found | undefined) => T
  /** The end of the field's name. */
  readonly unit: Unit
}

/** Settings by their flags. */
type Table = Readonly<Record<string, Setting<unknown, string>>>

/** The value of each setting. The field is called as the flag, in camel case; one with a duration ends in `Ms`. */
export type Values<T extends Table> = {
  readonly [Flag in keyof T & string as `${CamelCase<Flag>}${T[Flag]['unit']}`]: ReturnType<T[Flag]['read']>
}

type CamelCase<Flag extends string> = Flag extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Flag

export function readAll<T extends Table>(table: T, look: Lookup): Values<T> {
  const entries = Object.entries(table).map(([flag, { read, unit }]) => [camelCase(flag) + unit, read(look(flag))])
  return Object.fromEntries(entries) as Values<T>
}

export function flagsIn<T extends Table>(table: T): Readonly<Record<keyof T & string, ConfigFlag>> {
  const flags = Object.entries(table).map(([name, { flag }]) => [name, flag])
  return Object.fromEntries(flags) as Record<keyof T & string, ConfigFlag>
}

export function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** A setting whose value is made by `read` alone. */
export function setting<T>(flag: string | ConfigFlag, read: Setting<T>['read']): Setting<T> {
  return { flag: flagOf(flag), read, unit: '' }
}

export function text<D extends string | undefined = undefined>(help: string, otherwise?: D): Setting<string | D> {
  return setting(withDefault(help, otherwise), (found) => found?.text ?? (otherwise as D))
}

export function port<D extends number | undefined = undefined>(help: string, otherwise?: D): Setting<number | D> {
  const read = (written: string) =>
    /^\d{1,5}$/.test(written) && Number(written) <= 65_535 ? Number(written) : undefined
  return setting(
    withDefault(help, otherwise),
    (found) => parsed(found, 'a port is a number from 0 to 65535', read) ?? (otherwise as D),
  )
}

export function count(help: string): Setting<number | undefined> {
  const read = (written: string) => (/^\d{1,9}$/.test(written) ? Number(written) : undefined)
  return setting(help, (found) => parsed(found, 'it must be a whole number', read))
}

const booleans = new Map(['true', '1', 'yes', 'false', '0', 'no'].map((word, index) => [word, index < 3]))

export function toggle<D extends boolean | undefined>(help: string, otherwise: D): Setting<boolean | D> {
  return setting(help, (found) => parsed(found, 'it must be true or false', (word) => booleans.get(word)) ?? otherwise)
}

/** A duration in milliseconds. */
export function duration(help: string, otherwise: string): Setting<number, 'Ms'> {
  const read = (written: string) => [parseLongDuration(written)].find((ms) => ms !== undefined && ms >= 0)
  return {
    flag: flagOf(withDefault(help, otherwise)),
    read: (found) => parsed(found, 'a duration looks like 90m, 36h or 30d', read) ?? read(otherwise) ?? 0,
    unit: 'Ms',
  }
}

export function url(help: string): Setting<string | undefined> {
  const read = (written: string) =>
    /^https?:\/\//.test(written) && URL.canParse(written) ? written.replace(/\/$/, '') : undefined
  return setting(help, (found) => parsed(found, 'it must be an http(s) URL', read))
}

/** One of a few words; the help is `VALUE: help`. */
export function oneOf<const T extends string, D extends T | undefined = undefined>(
  help: string,
  words: readonly T[],
  otherwise?: D,
): Setting<T | D> {
  const must = `it must be one of ${words.join(', ')}`
  return setting(
    { ...flagOf(withDefault(help, otherwise)), completes: words },
    (found) => parsed(found, must, (written) => words.find((word) => word === written)) ?? (otherwise as D),
  )
}

/** A list of entries that can each be used; empty by default. */
export function list<Entry extends string>(
  help: string,
  problemOf: (entry: string) => string | undefined,
): Setting<readonly Entry[]> {
  return setting(help, (found) => (found ? entriesOf(found, problemOf) : []) as readonly Entry[])
}

/** The entries of a list. Throws ConfigError that names the first one with a problem. */
export function entriesOf(found: Found, problemOf: (entry: string) => string | undefined): readonly string[] {
  const entries = wordsIn(found.text)
  for (const entry of entries) {
    const problem = problemOf(entry)
    if (problem !== undefined)
      throw new ConfigError(`${found.where}: ${JSON.stringify(entry)} cannot be used: ${problem}`)
  }
  return entries
}

/** The words of a list that is separated by commas. */
export function wordsIn(written: string): readonly string[] {
  return written.split(',').flatMap((entry) => entry.trim() || [])
}

/** The value of what was found, if anything was. Throws ConfigError with `must` where it cannot be read. */
export function parsed<T>(
  found: Found | undefined,
  must: string,
  read: (written: string) => T | undefined,
): T | undefined {
  const value = found && read(found.text)
  if (!found || value !== undefined) return value
  throw new ConfigError(`${found.where} is ${JSON.stringify(found.text)}: ${must}`)
}

function withDefault(help: string, otherwise: string | number | undefined): string {
  return otherwise === undefined || otherwise === '' ? help : `${help} (default: ${otherwise})`
}
