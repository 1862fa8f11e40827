import { describe, expect, it } from 'vitest'
import type { WorkScheduleSpec } from './work-schedule.ts'
import { addWorkDays, scheduleProblems, windowState } from './work-window.ts'

const office: WorkScheduleSpec = {
  timeZone: 'Europe/Berlin',
  windows: [{ days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'], start: '09:00', end: '17:00' }],
  holidays: ['2026-12-25'],
}
const at = (text: string) => Date.parse(text)

describe('windowState', () => {
  it.each([
    ['is open in office hours', '2026-11-16T10:00:00+01:00', { open: true, until: at('2026-11-16T17:00:00+01:00') }],
    [
      'is open the moment it opens',
      '2026-11-16T09:00:00+01:00',
      { open: true, until: at('2026-11-16T17:00:00+01:00') },
    ],
    [
      'is closed the moment it closes',
      '2026-11-16T17:00:00+01:00',
      { open: false, nextOpenAt: at('2026-11-17T09:00:00+01:00') },
    ],
    ['waits over a weekend', '2026-11-14T12:00:00+01:00', { open: false, nextOpenAt: at('2026-11-16T09:00:00+01:00') }],
    [
      'waits over a holiday and the weekend after it',
      '2026-12-25T10:00:00+01:00',
      { open: false, nextOpenAt: at('2026-12-28T09:00:00+01:00') },
    ],
    [
      'opens by the clocks after they change',
      '2026-03-28T12:00:00+01:00',
      { open: false, nextOpenAt: at('2026-03-30T09:00:00+02:00') },
    ],
  ])('%s', (_, now, expected) => expect(windowState(office, at(now))).toEqual(expected))

  it('reaches over midnight when it closes before it opens', () => {
    const night: WorkScheduleSpec = { windows: [{ days: ['Friday'], start: '22:00', end: '04:00' }] }
    expect(windowState(night, at('2026-11-14T03:00:00Z'))).toEqual({ open: true, until: at('2026-11-14T04:00:00Z') })
    expect(windowState(night, at('2026-11-13T03:00:00Z'))).toEqual({
      open: false,
      nextOpenAt: at('2026-11-13T22:00:00Z'),
    })
  })

  it('is closed for good when every day is skipped', () => {
    const never = { ...office, skip: [{ from: '2000-01-01', to: '2999-12-31' }] }
    expect(windowState(never, at('2026-11-16T10:00:00Z'))).toEqual({ open: false, nextOpenAt: undefined })
  })

  it('survives a window inside the hour that spring skips', () => {
    const gap: WorkScheduleSpec = {
      timeZone: 'Europe/Berlin',
      windows: [{ days: ['Sunday'], start: '02:10', end: '02:50' }],
    }
    expect(windowState(gap, at('2026-03-29T00:00:00Z'))).toEqual({
      open: false,
      nextOpenAt: at('2026-04-05T00:10:00Z'),
    })
  })
})

describe('addWorkDays', () => {
  it('counts business days only, at the same time of day', () => {
    expect(addWorkDays(office, at('2026-12-24T10:30:15+01:00'), 2)).toBe(at('2026-12-29T10:30:15+01:00'))
    expect(addWorkDays(office, at('2026-12-24T10:30:15+01:00'), 0)).toBe(at('2026-12-24T10:30:15+01:00'))
  })

  it('says so when there are none', () => {
    expect(
      addWorkDays({ ...office, skip: [{ from: '2000-01-01', to: '2999-12-31' }] }, at('2026-01-01T00:00:00Z'), 1),
    ).toBeUndefined()
  })
})

describe('scheduleProblems', () => {
  it('names the field', () => {
    expect(
      scheduleProblems({ ...office, timeZone: 'Mars/Olympus', skip: [{ from: '2026-02-01', to: '2026-01-01' }] }),
    ).toEqual([
      { field: 'spec.timeZone', problem: '"Mars/Olympus" is not a time zone' },
      { field: 'spec.skip[0]', problem: 'ends (2026-01-01) before it begins (2026-02-01)' },
    ])
  })
})
