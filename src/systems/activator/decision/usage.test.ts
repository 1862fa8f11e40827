import { describe, expect, it } from 'vitest'
import { cell, Counters } from '../proxy/routing/counters.ts'
import { UsageTracker } from './usage.ts'

function tracker(threads = 2) {
  const counters = Array.from({ length: threads }, () => new Counters())
  return { counters, usage: new UsageTracker(() => counters) }
}

describe('usage', () => {
  it('counts a new route as used now', () => {
    const { usage } = tracker()
    usage.slotOf('r', 1000)
    expect(usage.of([{ id: 'r' }], 5000)).toEqual({ inFlight: 0, waiting: 0, lastUsedAt: 1000 })
  })

  it('is moved by any thread that served something since the last look (C13)', () => {
    const { usage, counters } = tracker()
    const slot = usage.slotOf('r', 0)
    counters[1]!.slot(slot)[cell.started]!++
    counters[1]!.slot(slot)[cell.finished]!++
    expect(usage.of([{ id: 'r' }], 7000).lastUsedAt).toBe(7000)
    expect(usage.of([{ id: 'r' }], 9000).lastUsedAt).toBe(7000)
    usage.note('unknown', 8000, 9000)
    expect(usage.of([{ id: 'unknown' }], 9000).inFlight).toBe(0)
  })

  it('is now while anything is in flight, however long', () => {
    const { usage, counters } = tracker()
    counters[0]!.slot(usage.slotOf('r', 0))[cell.started]!++
    expect(usage.scan(1000)).toEqual(['r'])
    expect(usage.of([{ id: 'r' }], 99_000)).toEqual({ inFlight: 1, waiting: 0, lastUsedAt: 99_000 })
  })

  it('adds up over routes, and takes the newest (C54)', () => {
    const { usage, counters } = tracker()
    usage.slotOf('a', 10)
    const slot = usage.slotOf('b', 20)
    counters[0]!.slot(slot)[cell.started]! += 2
    counters[0]!.slot(slot)[cell.waiting]! += 1
    expect(usage.of([{ id: 'a' }, { id: 'b' }, { id: 'gone' }], 30)).toEqual({
      inFlight: 1,
      waiting: 1,
      lastUsedAt: 30,
    })
  })

  it('takes the newest word of others, but never one from the future (C90)', () => {
    const { usage } = tracker()
    usage.slotOf('r', 1000)
    usage.note('r', 500, 5000)
    expect(usage.of([{ id: 'r' }], 5000).lastUsedAt).toBe(1000)
    usage.note('r', 4000, 5000)
    expect(usage.of([{ id: 'r' }], 5000).lastUsedAt).toBe(4000)
    usage.note('r', 300_000, 6000)
    expect(usage.of([{ id: 'r' }], 6000).lastUsedAt).toBe(6000)
  })

  it('does not count for a new route what the one before it in its slot was asked', () => {
    const { usage, counters } = tracker()
    const slot = usage.slotOf('before', 0)
    counters[1]!.slot(slot)[cell.started]! += 2
    counters[1]!.slot(slot)[cell.finished]! += 2
    counters[0]!.slot(slot)[cell.coldStarts]!++
    usage.forget('before')
    expect(usage.slotOf('after', 0)).toBe(slot)
    expect([usage.cellsOf('after')?.[cell.started], usage.cellsOf('after')?.[cell.coldStarts]]).toEqual([0, 0])
    counters[0]!.slot(slot)[cell.started]!++
    expect(usage.cellsOf('after')?.[cell.started]).toBe(1)
  })

  it('survives counters that wrap (C44)', () => {
    const { usage, counters } = tracker(1)
    const cells = counters[0]!.slot(usage.slotOf('r', 0))
    cells[cell.started] = 0x7fffffff
    cells[cell.finished] = 0x7fffffff
    usage.scan(1)
    cells[cell.started]!++
    expect(usage.of([{ id: 'r' }], 2)).toMatchObject({ inFlight: 1, lastUsedAt: 2 })
    cells[cell.finished]!++
    expect(usage.of([{ id: 'r' }], 3)).toMatchObject({ inFlight: 0, lastUsedAt: 2 })
  })

  it('gives a slot to another route only when nothing of the former is under way (C44)', () => {
    const { usage, counters } = tracker(1)
    const busy = usage.slotOf('busy', 0)
    const idle = usage.slotOf('idle', 0)
    counters[0]!.slot(busy)[cell.started]!++
    usage.forget('busy')
    usage.forget('idle')
    expect(usage.slotOf('next', 0)).toBe(idle)
    expect(usage.slotOf('after', 0)).not.toBe(busy)
  })

  it('reads from pages far apart', () => {
    const { usage } = tracker(1)
    for (let i = 0; i < 3000; i++) usage.slotOf(`r${i}`, i)
    expect(usage.of([{ id: 'r2999' }], 9999).lastUsedAt).toBe(2999)
  })
})
