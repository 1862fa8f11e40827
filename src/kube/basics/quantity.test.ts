import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalQuantity, parseQuantity } from './quantity.ts'

describe('canonicalQuantity', () => {
  it.each([
    ['0', '0'],
    ['1', '1'],
    ['0.5', '500m'],
    ['1.5', '1500m'],
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['1000Mi', '1000Mi'],
    ['0.5Gi', '512Mi'],
    ['100Ki', '100Ki'],
    ['1e3', '1e3'],
    ['12e6', '12e6'],
    ['1k', '1k'],
    ['1000k', '1M'],
    ['-1', '-1'],
    ['+5', '5'],
    ['.5', '500m'],
    ['5.', '5'],
    ['0.0000000001', '1n'],
    ['1E', '1E'],
    ['512', '512'],
  ])('writes %s as %s', (text, expected) => expect(canonicalQuantity(text)).toBe(expected))

  it.each(['', 'abc', '1.2.3', '1Zi', '--1', '1e', '1 Gi', 'Ki'])('refuses %j', (text) => {
    expect(canonicalQuantity(text)).toBeUndefined()
  })

  it('132: refuses numbers that take long to read, and writes no more than the largest quantity', () => {
    for (const text of ['1'.repeat(1_000_000), `0.${'1'.repeat(1_000_000)}`])
      expect(parseQuantity(text)).toBeUndefined()
    expect(canonicalQuantity('1e400')).toBe('9223372036854775807')
    expect(canonicalQuantity('-1e400')).toBe('-9223372036854775807')
  })

  it('writes what it has written once in the same way, and means the same by it', () => {
    const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-3')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), suffix, (amount, unit) => {
        const written = canonicalQuantity(`${amount}${unit}`) ?? ''
        expect(canonicalQuantity(written)).toBe(written)
        expect(parseQuantity(written)?.nanos).toBe(parseQuantity(`${amount}${unit}`)?.nanos)
      }),
    )
  })
})
