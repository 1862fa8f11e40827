/**
 * Whether a version is the other one or newer; false when they cannot be compared. The API allows comparing versions of
 * one kind as decimal numbers; '' is before all of them.
 */
export function isAtLeast(version: string, other: string): boolean {
  if (version === other || other === '') return true
  if (!decimal.test(version) || !decimal.test(other)) return false
  return version.length === other.length ? version > other : version.length > other.length
}

const decimal = /^(0|[1-9]\d*)$/
