import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Expectations } from './expectations.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

/** A cache that has come to a version, and tells who waits for it. */
class Following {
  version = 0
  readonly #waiting = new Set<{ version: number; callback: () => void }>()

  hasReached(version: string): boolean {
    return this.version >= Number(version)
  }

  onReached(version: string, callback: () => void): () => void {
    const waiter = { version: Number(version), callback }
    this.#waiting.add(waiter)
    return () => this.#waiting.delete(waiter)
  }

  reach(version: number): void {
    this.version = Math.max(this.version, version)
    for (const waiter of [...this.#waiting].filter((one) => one.version <= this.version)) {
      this.#waiting.delete(waiter)
      waiter.callback()
    }
  }
}

describe('Expectations', () => {
  it('releases each handle once, when all it waits for is shown or its time is up', async () => {
    const step = fc.record({
      do: fc.constantFrom('expect', 'reach', 'pass'),
      handle: fc.nat(3),
      version: fc.integer({ min: 1, max: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
        const clock = new VirtualClock()
        const follower = new Following()
        const waiting = new Map<number, { version: number; endsAt: number }[]>()
        const expectations = new Expectations(clock, 1000, (handle) => {
          expect(waiting.has(handle)).toBe(true)
          const open = waiting.get(handle)?.filter(({ version, endsAt }) => {
            return version > follower.version && endsAt > clock.monotonic()
          })
          expect(open).toEqual([])
          waiting.delete(handle)
        })
        for (const { do: what, handle, version } of script) {
          if (what === 'reach') follower.reach(version)
          else if (what === 'pass') await clock.runFor(version * 60)
          else if (expectations.add(handle, String(version), follower)) {
            const one = { version, endsAt: clock.monotonic() + 1000 }
            waiting.set(handle, [...(waiting.get(handle) ?? []), one])
          }
          expect(expectations.has(handle)).toBe(waiting.has(handle))
        }
        await clock.runFor(2000)
        expect(waiting.size).toBe(0)
        expect(clock.nextAt).toBeUndefined()
      }),
      { numRuns: 60 },
    )
  })
})
