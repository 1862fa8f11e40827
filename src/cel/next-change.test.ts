import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { cleanerEnvironment } from './environments.ts'
import { CelCompileError, CelError } from './errors.ts'
import { CelTimestamp } from './moments.ts'
import { nextChange } from './next-change.ts'
import type { Program } from './program.ts'
import { dynType, timestampType } from './types.ts'
import { randomCondition } from '../../test/cel/random-condition.ts'

const environment = cleanerEnvironment({ time: timestampType, data: dynType })
const second = 1000
const hour = 3_600_000

function program(source: string): Program {
  const compiled = compile(source, environment)
  if (compiled instanceof CelCompileError) throw new Error(`${source}\n${compiled.message}`)
  return compiled
}

function at(text: string): number {
  return Date.parse(text)
}

const now = at('2026-11-15T12:00:00Z')

describe('nextChange', () => {
  it.each([
    ['time >= timestamp("2026-11-15T13:00:00Z")', '2026-11-15T13:00:00Z'],
    ['time > timestamp("2026-11-15T13:00:00Z")', '2026-11-15T13:00:00.001Z'],
    ['time - timestamp("2026-11-01T00:00:00Z") < duration("360h")', '2026-11-16T00:00:00Z'],
    ['time == timestamp("2026-11-15T13:00:00Z")', '2026-11-15T13:00:00Z'],
    ['time.getHours() >= 22', '2026-11-15T22:00:00Z'],
    ['time.getHours("Europe/Berlin") >= 22', '2026-11-15T21:00:00Z'],
    ['time.getDayOfWeek() == 1', '2026-11-16T00:00:00Z'],
    ['time.getFullYear() > 2026', '2027-01-01T00:00:00Z'],
    ['time.getHours() >= 22 && time.getDayOfWeek() == 6', '2026-11-21T22:00:00Z'],
    ['(time - timestamp("2026-11-15T11:00:00Z")).getHours() == 2', '2026-11-15T13:00:00Z'],
    ['time + (time - timestamp("2026-11-15T12:00:00Z")) >= timestamp("2026-11-15T14:00:00Z")', '2026-11-15T13:00:00Z'],
    ['[time, timestamp("2026-11-15T13:00:00Z")].max() == time', '2026-11-15T13:00:00Z'],
    ['int(time) % 60 == 30', '2026-11-15T12:00:30Z'],
    ['time < timestamp("2026-11-15T13:00:00Z") ? true : data.missing', '2026-11-15T13:00:00Z'],
  ])('finds when %s becomes another', (source, expected) => {
    expect(nextChange(program(source), { data: {} }, now)).toEqual({ kind: 'at', at: at(expected) })
  })

  it('says never when no answer used depends on time any more', () => {
    expect(nextChange(program('time > timestamp("2026-01-01T00:00:00Z")'), {}, now)).toEqual({ kind: 'never' })
    expect(nextChange(program('data.x == 1'), { data: { x: 1 } }, now)).toEqual({ kind: 'never' })
  })

  it.each([['string(time) == "x"'], ['"%s".format([time]) == "x"'], ['time'], ['[time - duration("1s")]']])(
    'does not pretend to know about %s',
    (source) => expect(nextChange(program(source), {}, now)).toEqual({ kind: 'opaque' }),
  )

  it('gives up after its steps, at an instant up to which nothing changed', () => {
    const change = nextChange(program('time.getSeconds() == 70'), {}, now, { steps: 10 })
    expect(change).toEqual({ kind: 'unfinished', at: now + 10 * second })
  })

  it('gives up when its budget is spent', () => {
    const source = 'data.list.all(x, time.getMinutes() != 61)'
    const change = nextChange(program(source), { data: { list: Array.from({ length: 100 }, () => 1) } }, now, {
      budget: 2000,
    })
    expect(change.kind).toBe('unfinished')
  })

  it('lands only on thresholds: twenty staggered revisions take twenty steps', () => {
    const items = Array.from({ length: 20 }, (_, index) => ({
      since: new Date(now - 359 * hour + index * hour).toISOString(),
    }))
    const source = '!data.items.exists(i, time - timestamp(i.since) < duration("360h"))'
    const change = nextChange(program(source), { data: { items } }, now, { steps: 22 })
    expect(change).toEqual({ kind: 'at', at: now + 20 * hour })
  })

  it.each([
    ['Europe/Berlin', 'time.getDate("Europe/Berlin") == 30', '2026-03-29T00:40:00Z', '2026-03-29T22:00:00Z'],
    ['New York', 'time.getDayOfWeek("America/New_York") == 1', '2026-03-08T06:00:00Z', '2026-03-09T04:00:00Z'],
    ['Lord Howe', 'time.getDayOfYear("Australia/Lord_Howe") == 276', '2026-10-03T14:00:00Z', '2026-10-04T13:00:00Z'],
    ['Berlin by month', 'time.getMonth("Europe/Berlin") == 3', '2026-03-15T00:00:00Z', '2026-03-31T22:00:00Z'],
    ['Berlin by year', 'time.getFullYear("Europe/Berlin") == 2027', '2026-05-01T00:00:00Z', '2026-12-31T23:00:00Z'],
  ])('is not late by the hour the clocks lose: %s', (_, source, from, expected) => {
    expect(nextChange(program(source), {}, at(from))).toEqual({ kind: 'at', at: at(expected) })
  })

  it('sees both hours of the night the clocks go back', () => {
    const night = at('2026-10-25T00:30:00Z')
    const change = nextChange(program('time.getHours("Europe/Berlin") != 2'), {}, night)
    expect(change).toEqual({ kind: 'at', at: at('2026-10-25T02:00:00Z') })
  })
})

describe('nextChange against brute force', () => {
  const ticks = 100
  const runs = Number(process.env['SOJOURN_CEL_RUNS'] ?? 2000)

  it(`is never wrong on ${runs} random conditions`, { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(randomCondition, ({ source, now: start, tickMs }) => {
        const condition = program(source)
        const expected = bruteForce(condition, start, tickMs)
        const found = nextChange(condition, {}, start, { tickMs, steps: 200 })
        expect(found.kind).not.toBe('opaque')
        if (found.kind === 'at' && found.at <= start + ticks * tickMs) expect(found.at).toBe(expected)
        else if (found.kind === 'unfinished')
          expect(expected ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(found.at)
        else expect(expected).toBeUndefined()
      }),
      { numRuns: runs },
    )
  })

  function bruteForce(condition: Program, start: number, tickMs: number): number | undefined {
    const first = resultAt(condition, start)
    for (let tick = 1; tick <= ticks; tick++) {
      if (resultAt(condition, start + tick * tickMs) !== first) return start + tick * tickMs
    }
    return undefined
  }

  function resultAt(condition: Program, ms: number): unknown {
    const value = condition.evaluate({ time: CelTimestamp.fromMilliseconds(ms) })
    return value instanceof CelError ? 'error' : value
  }
})
