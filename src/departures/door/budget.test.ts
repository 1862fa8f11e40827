import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Budget, defaultLimits } from './budget.ts'

const minute = 60_000
const many = () => Promise.resolve(1_000_000)

function budget(
  limits: Partial<typeof defaultLimits>,
  counts: readonly [at: number, kind: string, amount: number][] = [],
) {
  const made = new Budget({ ...defaultLimits, ...limits })
  counts.forEach(([at, kind, amount], index) => {
    for (let i = 0; i < amount; i++) made.count(`${index}-${i}`, kind, at)
  })
  return made
}

describe('Budget', () => {
  it('stops at the most per minute, whatever the kinds', async () => {
    const full = budget({ maxPerMinute: 10 }, [
      [10 * minute, '/A', 5],
      [10 * minute, '/B', 5],
    ])
    expect((await full.exceeded('/C', 10 * minute + 1, many))?.because).toMatch(
      '10 objects were deleted within a minute',
    )
    expect(await full.exceeded('/C', 12 * minute, many)).toBeUndefined()
  })

  it('stops at the most of a kind per hour', async () => {
    const full = budget({ maxPerHourOfKind: 10 }, [[minute, '/A', 10]])
    expect((await full.exceeded('/A', 30 * minute, many))?.because).toMatch('10 A were deleted within an hour')
    expect(await full.exceeded('/B', 30 * minute, many)).toBeUndefined()
    expect(await full.exceeded('/A', 62 * minute, many)).toBeUndefined()
  })

  it('stops at a share of a kind, but lets a few go freely', async () => {
    const half = budget({ freeOfPercent: 5, maxPercentOfKind: 50 }, [[minute, '/A', 5]])
    expect((await half.exceeded('/A', 2 * minute, () => Promise.resolve(5)))?.because).toMatch(
      '5 of 10 A were deleted within an hour; the limit is 50 %',
    )
    expect(await half.exceeded('/A', 2 * minute, () => Promise.resolve(20))).toBeUndefined()
    const few = budget({ freeOfPercent: 5 }, [[minute, '/A', 4]])
    expect(await few.exceeded('/A', 2 * minute, () => Promise.resolve(0))).toBeUndefined()
  })

  it('asks how many of a kind there are once a second or hundredth, and always before it refuses', async () => {
    let asked = 0
    let there = 1000
    const ofKind = () => Promise.resolve((asked++, there))
    const half = budget({ freeOfPercent: 1, maxPercentOfKind: 50 }, [[minute, '/A', 1]])
    let records = 0
    const go = async (amount: number, now: number) => {
      for (let index = 0; index < amount; index++) {
        const because = await half.exceeded('/A', now, ofKind)
        if (because !== undefined) return because
        half.count(`r${records++}`, '/A', now)
        there--
      }
      return undefined
    }
    await go(10, minute)
    expect(asked).toBe(1)
    await go(10, minute)
    expect(asked).toBe(2)
    await go(1, minute + 1000)
    expect(asked).toBe(3)
    there = 20
    expect((await go(20, minute + 1000))?.because).toMatch('32 of 42 A were deleted')
    there = 1000
    expect(await go(1, minute + 1000)).toBeUndefined()
  })

  it('fails rather than guesses when the kind cannot be counted', async () => {
    const half = budget({ freeOfPercent: 1 }, [[minute, '/A', 5]])
    await expect(half.exceeded('/A', 2 * minute, () => Promise.reject(new Error('forbidden')))).rejects.toThrow(
      'forbidden',
    )
  })

  it('counts a record once and forgives what a human has seen', async () => {
    const full = budget({ maxPerHourOfKind: 2 })
    for (let i = 0; i < 5; i++) full.count('same', '/A', minute)
    expect(await full.exceeded('/A', 2 * minute, many)).toBeUndefined()
    full.count('other', '/A', minute)
    expect(await full.exceeded('/A', 2 * minute, many)).toBeDefined()
    full.forgive(2 * minute)
    expect(await full.exceeded('/A', 2 * minute, many)).toBeUndefined()
  })

  it('forgives what left just before a human has looked, and counts on from there', async () => {
    const full = budget({ maxPerMinute: 3 }, [[minute + 30_000, '/A', 3]])
    expect(await full.exceeded('/A', minute + 33_000, many)).toBeDefined()
    full.forgive(minute + 35_000)
    for (const record of ['x', 'y', 'z']) {
      expect(await full.exceeded('/A', minute + 36_000, many)).toBeUndefined()
      full.count(record, '/A', minute + 36_000)
    }
    expect(await full.exceeded('/A', minute + 36_000, many)).toBeDefined()
  })

  it.each([
    ['of a kind in any hour', { maxPerHourOfKind: 7, maxPerMinute: 1000 }, 60 * minute],
    ['in any minute, whenever it began', { maxPerMinute: 7 }, minute],
  ])('never lets more go %s than it may', async (_, limits, window) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: window / 12 }), { maxLength: 200, size: 'max' }),
        async (steps) => {
          const limited = budget(limits)
          const left: number[] = []
          let now = 1_000 * minute + 50_000
          for (const [index, step] of steps.entries()) {
            now += step
            if ((await limited.exceeded('/A', now, many)) !== undefined) continue
            limited.count(`r${index}`, '/A', now)
            left.push(now)
          }
          for (const at of left)
            expect(left.filter((other) => other > at - window && other <= at).length).toBeLessThanOrEqual(7)
        },
      ),
    )
  })
})
