import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sleep } from './clock.ts'
import { VirtualClock } from './virtual-clock.ts'

const day = 86_400_000

describe('VirtualClock', () => {
  it('fires timers in order of time, and those of one instant in the order they were set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 30 }), async (delays) => {
        const clock = new VirtualClock(1000)
        const fired: { index: number; at: number }[] = []
        delays.forEach((delayMs, index) => clock.after(delayMs, () => fired.push({ index, at: clock.now() })))
        await clock.run(1000 + 20)
        const expected = delays
          .map((delayMs, index) => ({ index, at: 1000 + delayMs }))
          .toSorted((left, right) => left.at - right.at || left.index - right.index)
        expect(fired).toEqual(expected)
      }),
    )
  })

  it('lets work that a timer started come to rest before time goes on', async () => {
    const clock = new VirtualClock()
    const seen: string[] = []
    clock.after(10, () => {
      void (async () => {
        for (let step = 0; step < 5; step++) await clock.breathe()
        seen.push(`work ended at ${clock.now()}`)
      })()
    })
    clock.after(11, () => seen.push('next timer'))
    await clock.run(20)
    expect(seen).toEqual(['work ended at 10', 'next timer'])
  })

  it('waits for tracked work that waits for the real world', async () => {
    const clock = new VirtualClock()
    let endedAt = -1
    void clock.track(async () => {
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      endedAt = clock.now()
    })
    clock.after(5, () => {})
    await clock.run(day)
    expect(endedAt).toBe(0)
  })

  it('does not wait for tracked work that waits for the clock', async () => {
    const clock = new VirtualClock()
    const work = clock.track(() => sleep(clock, 30 * day).then(() => clock.now()))
    await clock.run(31 * day)
    await expect(work).resolves.toBe(30 * day)
    expect(clock.now()).toBe(31 * day)
  })

  it('forgets a cancelled timer', async () => {
    const clock = new VirtualClock()
    const cancel = clock.after(5, () => expect.unreachable())
    cancel()
    cancel()
    expect(clock.nextAt).toBeUndefined()
    await clock.run(10)
  })

  it('moves the wall and not the timers when the wall clock is set', async () => {
    const clock = new VirtualClock(1000)
    let firedAt = 0
    clock.after(100, () => (firedAt = clock.now()))
    clock.stepWall(-500)
    expect(clock.now()).toBe(500)
    expect(clock.nextAt).toBe(600)
    await clock.run(600)
    expect(firedAt).toBe(600)
    expect(clock.monotonic()).toBe(100)
  })
})
