/** Whether both are semantic versions and the first is the lower one. */
export function isLowerVersion(version: string, than: string): boolean {
  const left = parse(version)
  const right = parse(than)
  return left !== undefined && right !== undefined && compare(left, right) < 0
}

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint]
  readonly prerelease: readonly string[]
}

function parse(text: string): Version | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text)
  if (!match || text.length > 256) return undefined
  const [, major = '', minor = '', patch = '', prerelease] = match
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], prerelease: prerelease?.split('.') ?? [] }
}

function compare(left: Version, right: Version): number {
  for (const index of [0, 1, 2] as const) {
    const difference = left.numbers[index] - right.numbers[index]
    if (difference !== 0n) return difference < 0n ? -1 : 1
  }
  if (left.prerelease.length === 0 || right.prerelease.length === 0)
    return right.prerelease.length - left.prerelease.length > 0 ? 1 : left.prerelease.length > 0 ? -1 : 0
  for (let index = 0; index < Math.max(left.prerelease.length, right.prerelease.length); index++) {
    const order = compareIdentifiers(left.prerelease[index], right.prerelease[index])
    if (order !== 0) return order
  }
  return 0
}

function compareIdentifiers(left: string | undefined, right: string | undefined): number {
  if (left === right) return 0
  if (left === undefined) return -1
  if (right === undefined) return 1
  const numbers = [left, right].map((text) => (/^\d+$/.test(text) ? BigInt(text) : undefined))
  if (numbers[0] !== undefined && numbers[1] !== undefined) return numbers[0] < numbers[1] ? -1 : 1
  if (numbers[0] !== undefined) return -1
  if (numbers[1] !== undefined) return 1
  return left < right ? -1 : 1
}
