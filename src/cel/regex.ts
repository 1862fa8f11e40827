import { BoundedMap } from '../kube/basics/bounded-map.ts'
import { RE2JS } from 're2js'
import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'

/** Those whose compilation cost this together at most, which is some tens of MiB. */
const cache = new BoundedMap<string, RE2JS | CelError>(20_000_000, compileCost)
const maxPatternLength = 4096

/** The compiled pattern in RE2's syntax, from a cache; an error for what RE2 does not take. */
export function patternOf(frame: Frame, source: string): RE2JS | CelError {
  const known = cache.get(source)
  if (known) return known
  frame.charge(compileCost(source))
  const made = compilePattern(source)
  cache.set(source, made)
  return made
}

/** A pattern's program grows with its length and with the numbers in its repetitions. */
function compileCost(source: string): number {
  const repeats = Array.from(source.matchAll(/\{(?:\d*,)?(\d+)/g), ([, count]) => Number(count))
  const growth = Math.min(
    1000,
    repeats.reduce((product, count) => product * Math.max(1, count), 3),
  )
  return 3000 + source.length * 20 * growth
}

function compilePattern(source: string): RE2JS | CelError {
  if (source.length > maxPatternLength) return new CelError('regular expression is too long')
  try {
    return RE2JS.compile(source)
  } catch (error) {
    return new CelError(`invalid regular expression: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Spends for searching a text of this length with a pattern, which takes time in proportion to both lengths. */
export function chargeSearch(frame: Frame, length: number, pattern: string): void {
  frame.charge(8 + (length * (4 + pattern.length)) / 16)
}

/** Whether the pattern is found anywhere in the text. */
export function isFound(frame: Frame, text: string, source: string): boolean | CelError {
  const pattern = patternOf(frame, source)
  if (pattern instanceof CelError) return pattern
  chargeSearch(frame, text.length, source)
  return pattern.matcher(text).find()
}

/** Compile-time check of a pattern written out as the second argument. */
export function checkPattern(frame: Frame, values: readonly unknown[]): CelError | undefined {
  const source = values[1]
  const pattern = typeof source === 'string' ? patternOf(frame, source) : undefined
  return pattern instanceof CelError ? pattern : undefined
}
