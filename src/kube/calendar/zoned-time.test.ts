import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addDays, formatDate, instantOf, isTimeZone, wallTimeAt, weekdayOf } from './zoned-time.ts'

describe('zoned time', () => {
  it('shows what the clocks show', () => {
    expect(wallTimeAt(Date.UTC(2026, 6, 1, 22, 30), 'Europe/Berlin')).toEqual({
      year: 2026,
      month: 7,
      day: 2,
      minute: 30,
    })
    expect(wallTimeAt(Date.UTC(2026, 0, 1, 2, 0), 'America/Los_Angeles')).toEqual({
      year: 2025,
      month: 12,
      day: 31,
      minute: 18 * 60,
    })
  })

  it('takes a time that spring skips as the moment after the gap', () => {
    const skipped = instantOf({ year: 2026, month: 3, day: 29, minute: 150 }, 'Europe/Berlin')
    expect(skipped).toBe(Date.UTC(2026, 2, 29, 1, 0))
  })

  it('takes a time that autumn repeats as its first occurrence', () => {
    const repeated = instantOf({ year: 2026, month: 10, day: 25, minute: 150 }, 'Europe/Berlin')
    expect(repeated).toBe(Date.UTC(2026, 9, 25, 0, 30))
  })

  it('finds back every instant outside an overlap', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia']
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 60 * 24 * 365 * 60 }), (zone, minutes) => {
        const at = minutes * 60_000
        const found = instantOf(wallTimeAt(at, zone), zone)
        expect(wallTimeAt(found, zone)).toEqual(wallTimeAt(at, zone))
        expect(found).toBeLessThanOrEqual(at)
      }),
    )
  })

  it('knows weekdays, months and leap years', () => {
    expect(weekdayOf({ year: 2026, month: 11, day: 15 })).toBe(7)
    expect(weekdayOf({ year: 1969, month: 12, day: 31 })).toBe(3)
    expect(formatDate(addDays({ year: 2024, month: 2, day: 28 }, 1))).toBe('2024-02-29')
    expect(formatDate(addDays({ year: 2025, month: 12, day: 31 }, 1))).toBe('2026-01-01')
  })

  it('says which zones there are', () => {
    expect(isTimeZone('Europe/Berlin')).toBe(true)
    expect(isTimeZone('Mars/Olympus')).toBe(false)
  })
})
