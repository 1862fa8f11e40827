import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library } from '../functions.ts'
import { indexValue, type CelInt } from '../numbers.ts'
import { chargeSearch, checkPattern, patternOf } from '../regex.ts'
import type { CelValue } from '../values.ts'

function find(frame: Frame, text: string, source: string): CelValue {
  const found = findAll(frame, text, source, 1)
  return Array.isArray(found) ? ((found as readonly CelValue[])[0] ?? '') : found
}

function findAll(frame: Frame, text: string, source: string, most: CelInt = -1): CelValue {
  const pattern = patternOf(frame, source)
  if (pattern instanceof CelError) return pattern
  chargeSearch(frame, text.length, source)
  const limit = indexValue(most) ?? -1
  const matcher = pattern.matcher(text)
  const found: string[] = []
  while ((limit < 0 || found.length < limit) && matcher.find()) {
    found.push(matcher.group() ?? '')
    // The next search may read all the rest before it finds a short match.
    chargeSearch(frame, text.length - matcher.end(), source)
  }
  return found
}

/** Kubernetes' regex library. */
export const kubernetesRegexLibrary: Library = {
  name: 'kubernetes-regex',
  overloads: [
    overload('string.find(string) -> string', find),
    overload('string.findAll(string) -> list(string)', findAll),
    overload('string.findAll(string, int) -> list(string)', findAll),
  ].map((one) => ({ ...one, checkLiterals: checkPattern })),
}
