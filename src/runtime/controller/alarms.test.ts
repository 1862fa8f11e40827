import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Alarms } from './alarms.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const hour = 3_600_000
const day = 24 * hour

/** One user of its own alarms, and what rang when. */
function alarmed(startAt = 0) {
  const clock = new VirtualClock(startAt)
  const alarms = new Alarms(clock)
  const rung: [string, number][] = []
  const set = alarms.open((handle) => rung.push([set.keyOf(handle), clock.now()]))
  const at = (key: string, time: number) => {
    const handle = set.intern(key)
    set.set(handle, time)
    set.release(handle)
  }
  return { clock, alarms, set, rung, at }
}

describe('Alarms', () => {
  it('rings each alarm at its very time, in order, for whatever times are set', async () => {
    const times = fc.array(fc.integer({ min: 0, max: 40 * day }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(times, async (dueTimes) => {
        const { clock, rung, at, alarms } = alarmed()
        dueTimes.forEach((time, index) => at(String(index), time))
        await clock.run(41 * day)
        expect(rung.map(([, time]) => time)).toEqual(dueTimes.toSorted((left, right) => left - right))
        expect(rung.every(([key, time]) => dueTimes[Number(key)] === time)).toBe(true)
        expect(alarms.size).toBe(0)
      }),
      { numRuns: 20 },
    )
  })

  it('neither fires a thirty-day alarm early nor wakes much more than once an hour for it', async () => {
    const { clock, rung, at } = alarmed()
    at('a', 30 * day)
    let wakeUps = 0
    while ((clock.nextAt ?? Number.POSITIVE_INFINITY) < 30 * day) {
      await clock.run(clock.nextAt ?? 0)
      wakeUps++
      expect(rung).toEqual([])
    }
    expect(wakeUps).toBeLessThanOrEqual(30 * 24 + 4)
    await clock.run(30 * day)
    expect(rung).toEqual([['a', 30 * day]])
  })

  it('notices within an hour that the wall clock was set forward', async () => {
    const { clock, rung, at } = alarmed()
    at('a', 10 * day)
    clock.stepWall(20 * day)
    await clock.runFor(hour)
    expect(rung.map(([key]) => key)).toEqual(['a'])
  })

  it('keeps the keys of its users apart', async () => {
    const clock = new VirtualClock()
    const alarms = new Alarms(clock)
    const rung: string[] = []
    const one = alarms.open((handle) => rung.push(`one ${one.keyOf(handle)}`))
    const other = alarms.open((handle) => rung.push(`other ${other.keyOf(handle)}`))
    one.set(one.intern('a'), 10)
    other.set(other.intern('a'), 20)
    await clock.run(100)
    expect(rung).toEqual(['one a', 'other a'])
  })

  it('rings no more for a user who has left', async () => {
    const { clock, set, rung, at, alarms } = alarmed()
    at('a', 10)
    set.close()
    await clock.run(100)
    expect(rung).toEqual([])
    expect(alarms.size).toBe(0)
  })

  it('lets go of a key when its alarm is deleted', () => {
    const { set, at } = alarmed()
    at('a', 10)
    expect(set.delete(set.find('a'))).toBe(true)
    expect(set.find('a')).toBe(-1)
  })

  it('keeps the earlier time when asked to', () => {
    const { set } = alarmed()
    const handle = set.intern('a')
    set.setEarliest(handle, 20)
    set.setEarliest(handle, 30)
    set.setEarliest(handle, 10)
    expect(set.at(handle)).toBe(10)
  })
})
