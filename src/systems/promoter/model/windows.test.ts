import { describe, expect, it } from 'vitest'
import { parseTime } from '../../../kube/time.ts'
import { parseCron } from '../../../kube/calendar/cron.ts'
import { parseWindow, windowsState, type Window } from './windows.ts'

const at = (text: string) => parseTime(text)!

function window(kind: 'Allow' | 'Deny', schedule: string, hours: number, timeZone = 'UTC'): Window {
  const parsed = parseWindow({ kind, schedule, timeZone }, hours * 3_600_000)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed
}

describe('windows', () => {
  it.each([
    ['before it opens', '2026-11-02T08:59:59Z', false, '2026-11-02T09:00:00Z'],
    ['when it opens', '2026-11-02T09:00:00Z', true, '2026-11-02T17:00:00Z'],
    ['just before it closes', '2026-11-02T16:59:59Z', true, '2026-11-02T17:00:00Z'],
    ['when it has closed', '2026-11-02T17:00:00Z', false, '2026-11-03T09:00:00Z'],
    ['over the weekend', '2026-11-06T18:00:00Z', false, '2026-11-09T09:00:00Z'],
  ])('are as they should be %s', (_, now, open, nextCheckAt) => {
    const weekdays = window('Allow', '0 9 * * mon-fri', 8)
    expect(windowsState([weekdays], at(now))).toEqual({ open, nextCheckAt: at(nextCheckAt) })
  })

  it('reach over midnight', () => {
    expect(windowsState([window('Allow', '0 22 * * *', 4)], at('2026-11-03T01:00:00Z'))).toEqual({
      open: true,
      nextCheckAt: at('2026-11-03T02:00:00Z'),
    })
  })

  it('are never open while a denial is active, whatever is allowed', () => {
    const both = [window('Allow', '0 0 * * *', 24), window('Deny', '0 12 * * *', 1)]
    expect(windowsState(both, at('2026-11-02T12:30:00Z')).open).toBe(false)
    expect(windowsState(both, at('2026-11-02T13:00:00Z')).open).toBe(true)
  })

  it.each([
    ['the last day of summer time', '2026-10-25T08:00:00Z', '2026-10-25T16:00:00Z'],
    ['the day before', '2026-10-24T07:00:00Z', '2026-10-24T15:00:00Z'],
    ['the first day of summer time', '2026-03-29T07:00:00Z', '2026-03-29T15:00:00Z'],
  ])('open at nine by the clocks of Berlin on %s', (_, opens, closes) => {
    const berlin = [window('Allow', '0 9 * * *', 8, 'Europe/Berlin')]
    expect(windowsState(berlin, at(opens) - 1).open).toBe(false)
    expect(windowsState(berlin, at(opens))).toEqual({ open: true, nextCheckAt: at(closes) })
    expect(windowsState(berlin, at(closes)).open).toBe(false)
  })

  it('N39: in an hour that the clocks skip open once, after the gap', () => {
    const berlin = [window('Allow', '30 2 * * *', 1, 'Europe/Berlin')]
    const minutes = Array.from({ length: 24 * 6 }, (_, step) => at('2026-03-28T23:00:00Z') + step * 600_000)
    const open = minutes.filter((now) => windowsState(berlin, now).open)
    expect(open).toHaveLength(6)
    expect(open[0]).toBe(at('2026-03-29T01:00:00Z'))
  })

  it('N39: in an hour that the clocks repeat open once', () => {
    const berlin = [window('Allow', '30 2 * * *', 1, 'Europe/Berlin')]
    const minutes = Array.from({ length: 24 * 6 }, (_, step) => at('2026-10-24T22:00:00Z') + step * 600_000)
    expect(minutes.filter((now) => windowsState(berlin, now).open)).toHaveLength(6)
  })

  it('that never open again say so', () => {
    expect(windowsState([window('Allow', '0 0 30 2 *', 1)], at('2026-11-02T00:00:00Z'))).toEqual({
      open: false,
      nextCheckAt: undefined,
    })
  })
})

describe('a cron schedule', () => {
  it.each([
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '*/0 * * * *',
    '5-1 * * * *',
    'a b c d e',
    '',
    '@daily',
  ])('%j is none', (text) => {
    expect(parseCron(text)).toBeUndefined()
  })

  it.each([
    ['*/15 8-9 * * *', [480, 495, 510, 525, 540, 555, 570, 585]],
    ['0,30 12 * * *', [720, 750]],
    ['10/20 1 * * *', [70, 90, 110]],
  ])('%s fires at its minutes', (text, minutes) => expect(parseCron(text)?.minutesOfDay).toEqual(minutes))

  it.each([
    ['0 0 * * sun', { year: 2026, month: 11, day: 1 }, true],
    ['0 0 * * 7', { year: 2026, month: 11, day: 1 }, true],
    ['0 0 * * mon', { year: 2026, month: 11, day: 1 }, false],
    ['0 0 13 * fri', { year: 2026, month: 11, day: 13 }, true],
    ['0 0 13 * fri', { year: 2026, month: 11, day: 6 }, true],
    ['0 0 13 * fri', { year: 2026, month: 11, day: 7 }, false],
    ['0 0 1 jan *', { year: 2027, month: 1, day: 1 }, true],
  ])('%s on %o: %s', (text, date, fires) => expect(parseCron(text)?.firesOn(date)).toBe(fires))
})
