import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TokenBuckets } from './token-buckets.ts'
import { VirtualClock } from './virtual-clock.ts'

describe('TokenBuckets', () => {
  it('never grants more than the burst and one per refill time, to anyone', async () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b'), passMs: fc.nat(300) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (script) => {
        const clock = new VirtualClock()
        const buckets = new TokenBuckets({ clock, burst: 3, refillMs: 100, most: 10 })
        const granted: Record<string, number> = { a: 0, b: 0 }
        for (const { key, passMs } of script) {
          if (buckets.take(key)) granted[key] = (granted[key] ?? 0) + 1
          expect(granted[key]).toBeLessThanOrEqual(3 + clock.monotonic() / 100)
          await clock.runFor(passMs)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('remembers only so many', () => {
    const buckets = new TokenBuckets({ clock: new VirtualClock(), burst: 1, refillMs: 100, most: 2 })
    for (const key of ['a', 'b', 'c']) expect(buckets.take(key)).toBe(true)
    expect(buckets.take('c')).toBe(false)
    expect(buckets.take('a')).toBe(true)
  })
})
