import { describe, expect, it } from 'vitest'
import { nextCronTime, scheduleFault } from './cron.ts'

const at = (text: string) => Date.parse(text)

describe('nextCronTime', () => {
  it.each([
    ['*/5 * * * *', '2026-01-01T00:03:00Z', 'UTC', '2026-01-01T00:05:00Z'],
    ['0 9 * * mon-fri', '2026-01-02T09:00:00Z', 'UTC', '2026-01-05T09:00:00Z'],
    ['30 2 29 2 *', '2026-01-01T00:00:00Z', 'UTC', '2028-02-29T02:30:00Z'],
    ['0 0 13 * 5', '2026-01-01T00:00:00Z', 'UTC', '2026-01-02T00:00:00Z'],
    ['@daily', '2026-06-01T12:00:00Z', 'Europe/Berlin', '2026-06-01T22:00:00Z'],
    ['0 9 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin', '2026-03-29T07:00:00Z'],
    ['0 0 * * 7', '2026-01-01T00:00:00Z', 'UTC', '2026-01-04T00:00:00Z'],
  ])('%s after %s in %s is %s', (expression, after, zone, expected) =>
    expect(nextCronTime(expression, { afterMs: at(after), zone })).toBe(at(expected)),
  )

  it.each(['', '* * * *', '60 * * * *', '* * * * * *', 'a b c d e', '5-1 * * * *', '*/0 * * * *'])(
    'cannot read %j',
    (expression) => expect(nextCronTime(expression, { afterMs: 0, zone: 'UTC' })).toBeUndefined(),
  )

  it('never fires on a day that does not exist', () =>
    expect(nextCronTime('0 0 30 2 *', { afterMs: at('2026-01-01T00:00:00Z'), zone: 'UTC' })).toBeUndefined())

  it('counts an interval from the last run', () => {
    const sinceMs = at('2026-01-01T00:00:10Z')
    const next = (text: string) => nextCronTime(text, { afterMs: at('2026-01-01T00:05:00Z'), zone: 'UTC', sinceMs })
    expect(next('@every 1m')).toBe(at('2026-01-01T00:05:10Z'))
    expect(next('@every 1h30m')).toBe(at('2026-01-01T01:30:10Z'))
    expect(next('@every 10ms')).toBe(at('2026-01-01T00:05:01Z'))
  })
})

describe('scheduleFault', () => {
  it.each([
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['@sometimes', 'unrecognized descriptor: @sometimes'],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
  ])('says why %j is refused', (schedule, fault) => expect(scheduleFault(schedule)).toBe(fault))

  it.each(['*/5 * * * *', '0 9 * * mon-fri', '? 1/2 * JAN *', '@hourly', '@midnight', '@every 1m', '@every 1h30m'])(
    'passes %j, and it runs',
    (schedule) => {
      expect(scheduleFault(schedule)).toBeUndefined()
      expect(nextCronTime(schedule, { afterMs: 0, zone: 'UTC' })).toBeGreaterThan(0)
    },
  )
})
