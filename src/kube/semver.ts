/** A semantic version (semver.org). Build metadata is dropped: it has no order. */
export interface SemanticVersion {
  /** Major, minor and patch. */
  readonly numbers: readonly bigint[]
  readonly prerelease: readonly string[]
}

export const maxVersionLength = 256

/** Accepts more than semver.org: a leading `v`, and leading zeros as in 2024.01.15. Undefined for anything else. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text)
  if (!match || text.length > maxVersionLength) return undefined
  return { numbers: match.slice(1, 4).map(BigInt), prerelease: match[4]?.split('.') ?? [] }
}

/** Negative, zero or positive by the precedence of semver.org, paragraph 11. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const [index, left] of a.numbers.entries()) {
    const right = b.numbers[index] ?? 0n
    if (left !== right) return left < right ? -1 : 1
  }
  return comparePrereleases(a.prerelease, b.prerelease)
}

/** Whether both are versions and the first is the lower one. */
export function isLowerVersion(version: string, than: string): boolean {
  const left = parseVersion(version)
  const right = parseVersion(than)
  return left !== undefined && right !== undefined && compareVersions(left, right) < 0
}

/** A release is higher than its prereleases; of two prereleases with a common start the longer one is. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (!a.length || !b.length) return Math.sign(b.length - a.length)
  for (const [index, left] of a.entries()) {
    const right = b[index]
    if (right === undefined) return 1
    const order = compareIdentifiers(left, right)
    if (order !== 0) return order
  }
  return Math.sign(a.length - b.length)
}

/** Numbers compare as such and come before words. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  const [left, right] = isNumber ? [BigInt(a), BigInt(b)] : [a, b]
  return left === right ? 0 : left < right ? -1 : 1
}
