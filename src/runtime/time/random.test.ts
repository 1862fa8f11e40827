import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jittered, seededRandom, systemRandom } from './random.ts'

describe('random', () => {
  it('stays in [0, 1) and repeats itself for the same seed', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const [one, other] = [seededRandom(seed), seededRandom(seed)]
        for (let draw = 0; draw < 20; draw++) {
          const value = one()
          expect(value).toBe(other())
          expect(value >= 0 && value < 1).toBe(true)
        }
      }),
    )
    expect(systemRandom()).toBeLessThan(1)
  })

  it('jitters by no more than the share', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const value = jittered(100, 0.2, seededRandom(seed))
        expect(value >= 80 && value <= 120).toBe(true)
      }),
    )
  })
})
