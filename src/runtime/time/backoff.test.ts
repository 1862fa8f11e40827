import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Backoff } from './backoff.ts'
import { seededRandom } from './random.ts'

describe('Backoff', () => {
  it('waits at least the base and at most the cap, whatever fails and recovers', () => {
    const growth = fc.constantFrom('exponential' as const, 'decorrelated' as const)
    const steps = fc.array(fc.record({ key: fc.constantFrom('a', 'b'), fails: fc.boolean() }), { maxLength: 200 })
    fc.assert(
      fc.property(growth, steps, fc.integer(), (kind, script, seed) => {
        const backoff = new Backoff({ baseMs: 10, capMs: 1000, growth: kind, random: seededRandom(seed) })
        const failures: Record<string, number> = { a: 0, b: 0 }
        for (const { key, fails } of script) {
          if (fails) {
            const waitMs = backoff.next(key)
            expect(waitMs).toBeGreaterThanOrEqual(10)
            expect(waitMs).toBeLessThanOrEqual(1000)
            failures[key] = (failures[key] ?? 0) + 1
          } else {
            backoff.reset(key)
            failures[key] = 0
          }
          expect(backoff.failures(key)).toBe(failures[key])
        }
      }),
    )
  })

  it('doubles until the cap and starts anew after a success', () => {
    const backoff = new Backoff({ baseMs: 10, capMs: 60, random: () => 0 })
    expect([backoff.next('a'), backoff.next('a'), backoff.next('a'), backoff.next('a')]).toEqual([10, 20, 40, 60])
    backoff.reset('a')
    expect(backoff.next('a')).toBe(10)
    expect(backoff.size).toBe(1)
  })

  it('stays at the cap after a thousand failures', () => {
    const backoff = new Backoff({ baseMs: 10, capMs: 60, random: () => 0.5 })
    for (let failure = 0; failure < 1000; failure++) backoff.next('a')
    expect(backoff.next('a')).toBe(60)
  })

  it('draws decorrelated waits between the base and three times the last', () => {
    const backoff = new Backoff({ baseMs: 10, capMs: 1000, growth: 'decorrelated', random: () => 1 })
    expect([backoff.next('a'), backoff.next('a'), backoff.next('a')]).toEqual([30, 90, 270])
  })
})
