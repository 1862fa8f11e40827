import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Schedule } from './schedule.ts'
import { VirtualClock } from './virtual-clock.ts'

const hour = 3_600_000
const day = 24 * hour
const startAt = Date.UTC(2026, 0, 1) + 3

/** A schedule and what was handed out of it. */
function scheduled(clock = new VirtualClock(startAt)) {
  const schedule = new Schedule(clock)
  const due: { handle: number; dueAt: number; kind: number; at: number }[] = []
  const drain = (now: number) =>
    schedule.drain(now, 1000, (handle, dueAt, kind) => due.push({ handle, dueAt, kind, at: now }))
  return { schedule, due, drain }
}

const delay = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }),
  fc.double({ min: 0, max: 3000, noNaN: true }),
  fc.integer({ min: 0, max: 30 * day }),
  fc.integer({ min: 0, max: 1500 * day }),
)

describe('Schedule', () => {
  it('hands out exactly what is due, whatever is set, moved, deleted and however time goes', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('set' as const), handle: fc.nat(40), delay }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), handle: fc.nat(40), delay }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), handle: fc.nat(1), delay }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (script) => {
        const { schedule, due, drain } = scheduled()
        const model = new Map<number, number>()
        let now = startAt
        for (const { do: what, handle, delay: ms } of script) {
          const at = now + ms
          switch (what) {
            case 'set':
              schedule.set(handle, at)
              model.set(handle, at)
              break
            case 'delete':
              expect(schedule.delete(handle)).toBe(model.delete(handle))
              break
            case 'pass': {
              now = at
              due.length = 0
              expect(drain(now)).toBe(true)
              const expected = [...model].filter(([, dueAt]) => dueAt <= now).map(([key]) => key)
              expect(due).toHaveLength(expected.length)
              expect(new Set(due.map(({ handle: key }) => key))).toEqual(new Set(expected))
              for (const key of expected) model.delete(key)
            }
          }
          expect(schedule.size).toBe(model.size)
          if (model.size > 0) expect(schedule.nextAt()).toBeLessThanOrEqual(Math.min(...model.values()))
          for (const [key, dueAt] of model) expect(schedule.dueAt(key)).toBe(dueAt)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('reaches a far entry in a handful of wake-ups and hands it out at its very millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 * day }), (ms) => {
        const { schedule, due, drain } = scheduled()
        schedule.set(7, startAt + ms, 42)
        let wakeUps = 0
        for (let next = schedule.nextAt(); next !== undefined; next = schedule.nextAt(), wakeUps++) drain(next)
        expect(due).toEqual([{ handle: 7, dueAt: startAt + ms, kind: 42, at: startAt + ms }])
        expect(wakeUps).toBeLessThanOrEqual(4 + Math.ceil(ms / (490 * day)))
      }),
    )
  })

  it('keeps a thirty-day timer for thirty days', () => {
    const { schedule, due, drain } = scheduled()
    schedule.set(1, startAt + 30 * day)
    for (let passed = 0; passed < 30 * day; passed += 6 * hour) drain(startAt + passed)
    drain(startAt + 30 * day - 1)
    expect(due).toEqual([])
    drain(startAt + 30 * day)
    expect(due).toHaveLength(1)
  })

  it('still hands out what is due after the wall clock was set back', () => {
    const { schedule, due, drain } = scheduled()
    drain(startAt + hour)
    schedule.set(1, startAt + 5)
    schedule.set(2, startAt + 30)
    expect(drain(startAt + 10)).toBe(true)
    expect(due.map(({ handle }) => handle)).toEqual([1])
    expect(schedule.nextAt()).toBe(startAt + 30)
    drain(startAt + 30)
    expect(due.map(({ handle }) => handle)).toEqual([1, 2])
  })

  it('hands out a crowd in slices', () => {
    const clock = new VirtualClock(startAt)
    let passedMs = 0
    const schedule = new Schedule({ ...port(clock), monotonic: () => (passedMs += 0.5) })
    for (let handle = 0; handle < 10_000; handle++) schedule.set(handle, startAt + hour)
    let slices = 0
    const seen = new Set<number>()
    while (!schedule.drain(startAt + hour, 2, (handle) => seen.add(handle))) slices++
    expect(seen.size).toBe(10_000)
    expect(slices).toBeGreaterThan(10)
  })

  it('lets a callback set and delete other entries, and its own again, without running for ever', () => {
    const clock = new VirtualClock(startAt)
    const schedule = new Schedule(clock)
    for (let handle = 0; handle < 100; handle++) schedule.set(handle, startAt + handle)
    const seen: number[] = []
    const done = schedule.drain(startAt + 1000, 10, (handle) => {
      seen.push(handle)
      schedule.set(handle, startAt)
      schedule.delete((handle + 1) % 100)
    })
    expect(done).toBe(false)
    expect(seen.length).toBeLessThanOrEqual(100)
  })

  it('never hands out what is due at the end of time', () => {
    const { schedule, due, drain } = scheduled()
    schedule.set(1, Number.POSITIVE_INFINITY)
    drain(startAt + 10_000 * day)
    expect(due).toEqual([])
    expect(schedule.delete(1)).toBe(true)
    expect(() => schedule.set(1, Number.NaN)).toThrow(RangeError)
  })
})

function port(clock: VirtualClock) {
  return {
    now: () => clock.now(),
    after: (delayMs: number, callback: () => void) => clock.after(delayMs, callback),
    breathe: () => clock.breathe(),
  }
}
