import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload } from '../functions.ts'
import type { Library } from '../functions.ts'
import { compareText } from '../ordering.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque } from '../values.ts'

/** A version as semver.org defines it; build metadata is kept but never compared. */
class Semver extends CelOpaque {
  readonly typeName = 'kubernetes.Semver'
  readonly numbers: readonly number[]
  readonly prerelease: readonly string[]
  readonly #text: string

  constructor(text: string, numbers: readonly number[], prerelease: readonly string[]) {
    super()
    this.#text = text
    this.numbers = numbers
    this.prerelease = prerelease
  }

  override equals(other: CelOpaque): boolean {
    return other instanceof Semver && order(this, other) === 0
  }

  override toString(): string {
    return this.#text
  }
}

const number = '(0|[1-9]\\d{0,15})'
const identifiers = '([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)'
const form = new RegExp(`^${number}\\.${number}\\.${number}(?:-${identifiers})?(?:\\+${identifiers})?$`)
const longest = 256

function parseSemver(text: string): Semver | CelError {
  const match = text.length <= longest ? form.exec(text) : null
  const prerelease = match?.[4]?.split('.') ?? []
  if (!match || prerelease.some((part) => /^0\d+$/.test(part))) {
    return new CelError(`invalid semantic version: ${JSON.stringify(text.slice(0, 64))}`)
  }
  return new Semver(text, match.slice(1, 4).map(Number), prerelease)
}

/** A strict version from a loose one: no leading `v`, three numbers, no leading zeros. */
function normalized(text: string): string {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?$/s.exec(text)
  if (!match) return text
  const [, ...parts] = match
  const numbers = parts.slice(0, 3).map((part) => (part ?? '0').replace(/^0+(?=\d)/, ''))
  return numbers.join('.') + (parts[3] ?? '')
}

function order(a: Semver, b: Semver): number {
  for (const [index, left] of a.numbers.entries()) {
    const difference = left - (b.numbers[index] ?? 0)
    if (difference !== 0) return Math.sign(difference)
  }
  return comparePrereleases(a.prerelease, b.prerelease)
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (!a.length || !b.length) return Math.sign(b.length - a.length)
  for (const [index, left] of a.entries()) {
    const right = b[index]
    if (right === undefined) return 1
    const difference = compareIdentifiers(left, right)
    if (difference !== 0) return difference
  }
  return Math.sign(a.length - b.length)
}

/** Numbers compare as such and come before words. */
function compareIdentifiers(a: string, b: string): number {
  const [left, right] = [a, b].map((part) => /^\d+$/.test(part))
  if (left && right) return Math.sign(Number(a) - Number(b))
  if (left !== right) return left ? -1 : 1
  return Math.sign(compareText(a, b))
}

function parsed(frame: Frame, text: string, isLoose = false): Semver | CelError {
  frame.charge(20)
  return parseSemver(isLoose && text.length <= longest ? normalized(text) : text)
}

/** Kubernetes' semver library. */
export const semverLibrary: Library = {
  name: 'kubernetes-semver',
  overloads: [
    overload('semver(string) -> kubernetes.Semver', parsed),
    overload('semver(string, bool) -> kubernetes.Semver', parsed),
    overload('isSemver(string) -> bool', (frame, text: string) => parsed(frame, text) instanceof Semver),
    overload(
      'isSemver(string, bool) -> bool',
      (frame, text: string, isLoose: boolean) => parsed(frame, text, isLoose) instanceof Semver,
    ),
    ...['major', 'minor', 'patch'].map((name, index) =>
      overload(`kubernetes.Semver.${name}() -> int`, (_frame, { numbers }: Semver) => numbers[index] ?? 0),
    ),
    overload(
      'kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool',
      (_frame, a: Semver, b: Semver) => order(a, b) < 0,
    ),
    overload(
      'kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool',
      (_frame, a: Semver, b: Semver) => order(a, b) > 0,
    ),
    overload('kubernetes.Semver.compareTo(kubernetes.Semver) -> int', (_frame, a: Semver, b: Semver) => order(a, b)),
  ],
  types: [opaqueType('kubernetes.Semver')],
}
