import { describe, expect, it } from 'vitest'
import {
  formatAge,
  formatDuration,
  formatMicroTime,
  formatTime,
  parseDuration,
  parseLongDuration,
  parseTime,
} from './time.ts'

describe('parseTime', () => {
  it.each([
    ['2026-11-15T20:43:59Z', Date.UTC(2026, 10, 15, 20, 43, 59)],
    ['2026-11-15T20:43:59.123456Z', Date.UTC(2026, 10, 15, 20, 43, 59, 123)],
    ['2026-11-15T22:43:59+02:00', Date.UTC(2026, 10, 15, 20, 43, 59)],
    ['2024-02-29T00:00:00-00:30', Date.UTC(2024, 1, 29, 0, 30)],
  ])('reads %s', (text, expected) => expect(parseTime(text)).toBe(expected))

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01',
    '2026-01-01 00:00:00Z',
    'never',
    '',
  ])('refuses %j', (text) => expect(parseTime(text)).toBeUndefined())

  it('reads back what it writes', () => {
    const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
    expect(parseTime(formatTime(at))).toBe(at - 678)
    expect(parseTime(formatMicroTime(at))).toBe(at)
  })
})

describe('durations', () => {
  it.each([
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['-2s', -2000],
    ['1.5h', 5_400_000],
    ['0', 0],
  ])('reads %s', (text, expected) => expect(parseDuration(text)).toBe(expected))

  it.each(['', '1', 'h', '1d', '1h ', '1hm', 'abc'])('refuses %j', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  )

  it('knows days and weeks where they are allowed', () => {
    expect(parseLongDuration('15d')).toBe(15 * 86_400_000)
    expect(parseLongDuration('1w2d3h')).toBe((9 * 24 + 3) * 3_600_000)
    expect(parseLongDuration('')).toBeUndefined()
    expect(parseLongDuration('3x')).toBeUndefined()
  })

  it.each([
    [0, '0s'],
    [129_600_000, '36h'],
    [5_400_000, '1h30m'],
    [1500, '1.5s'],
    [40, '40ms'],
  ])('writes %d ms as %s', (ms, expected) => expect(formatDuration(ms)).toBe(expected))

  it.each([
    [5_000, '5s'],
    [119_000, '119s'],
    [200_000, '3m20s'],
    [4 * 3_600_000 + 60_000, '4h1m'],
    [51 * 3_600_000, '2d3h'],
    [412 * 86_400_000, '412d'],
  ])('shows an age of %d ms as %s', (ms, expected) => expect(formatAge(ms)).toBe(expected))
})
