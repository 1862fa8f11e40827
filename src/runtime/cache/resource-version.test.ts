import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAtLeast } from './resource-version.ts'

describe('isAtLeast', () => {
  it('compares decimal versions as numbers, however long', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.bigInt({ min: 0n, max: 2n ** 80n }), (left, right) => {
        expect(isAtLeast(String(left), String(right))).toBe(left >= right)
      }),
    )
  })

  it('puts nothing before everything', () => {
    expect(isAtLeast('7', '')).toBe(true)
    expect(isAtLeast('', '5')).toBe(false)
    expect(isAtLeast('', '')).toBe(true)
  })

  it('does not guess about versions it cannot read', () => {
    expect(isAtLeast('abc', 'abc')).toBe(true)
    expect(isAtLeast('abc', '5')).toBe(false)
    expect(isAtLeast('5', 'abc')).toBe(false)
  })
})
