import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { comparisons, overload, type Library } from '../functions.ts'
import { compareVersions, maxVersionLength, parseVersion, type SemanticVersion } from '../../kube/semver.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque } from '../values.ts'

/** A semantic version as a CEL value. */
class Semver extends CelOpaque {
  readonly typeName = 'kubernetes.Semver'
  readonly version: SemanticVersion
  readonly #text: string

  constructor(text: string, version: SemanticVersion) {
    super()
    this.#text = text
    this.version = version
  }

  override equals(other: CelOpaque): boolean {
    return other instanceof Semver && order(this, other) === 0
  }

  override toString(): string {
    return this.#text
  }
}

function order(a: Semver, b: Semver): number {
  return compareVersions(a.version, b.version)
}

const number = '(0|[1-9]\\d{0,15})'
const identifiers = '([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)'
const strictForm = new RegExp(`^${number}\\.${number}\\.${number}(?:-${identifiers})?(?:\\+${identifiers})?$`)

/** Strict, as Kubernetes is: no `v`, and no number with leading zeros. */
function parseSemver(text: string): Semver | CelError {
  const match = text.length <= maxVersionLength ? strictForm.exec(text) : null
  const version = match && !match[4]?.split('.').some((part) => /^0\d+$/.test(part)) ? parseVersion(text) : undefined
  return version
    ? new Semver(text, version)
    : new CelError(`invalid semantic version: ${JSON.stringify(text.slice(0, 64))}`)
}

/** A strict version from a loose one: no leading `v`, three numbers, no leading zeros. */
function normalized(text: string): string {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?$/s.exec(text)
  if (!match) return text
  const [, ...parts] = match
  const numbers = parts.slice(0, 3).map((part) => (part ?? '0').replace(/^0+(?=\d)/, ''))
  return numbers.join('.') + (parts[3] ?? '')
}

function parsed(frame: Frame, text: string, isLoose = false): Semver | CelError {
  frame.charge(20)
  return parseSemver(isLoose && text.length <= maxVersionLength ? normalized(text) : text)
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
      overload(`kubernetes.Semver.${name}() -> int`, (_frame, { version }: Semver) =>
        Number(version.numbers[index] ?? 0),
      ),
    ),
    ...comparisons('kubernetes.Semver', order),
  ],
  types: [opaqueType('kubernetes.Semver')],
}
