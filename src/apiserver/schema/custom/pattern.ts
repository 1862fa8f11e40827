import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import { RE2JS } from 're2js'

/**
 * Whether a pattern matches anywhere in a text. RE2 runs in linear time. A pattern that does not compile matches
 * nothing.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  return compiled(pattern)?.matcher(text).find() ?? false
}

/** Why a pattern does not compile; undefined when it does. */
export function patternFault(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const cache = new BoundedMap<string, RE2JS | undefined>(1024)

function compiled(pattern: string): RE2JS | undefined {
  if (cache.has(pattern)) return cache.get(pattern)
  const regex = patternFault(pattern) === undefined ? RE2JS.compile(pattern) : undefined
  cache.set(pattern, regex)
  return regex
}
