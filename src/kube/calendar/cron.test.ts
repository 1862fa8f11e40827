import { describe, expect, it } from 'vitest'
import { nextCronTime } from './cron.ts'

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
    expect(nextCronTime(expression, at(after), zone)).toBe(at(expected)),
  )

  it.each(['', '* * * *', '60 * * * *', '* * * * * *', 'a b c d e', '5-1 * * * *', '*/0 * * * *'])(
    'cannot read %j',
    (expression) => expect(nextCronTime(expression, 0, 'UTC')).toBeUndefined(),
  )

  it('never fires on a day that does not exist', () =>
    expect(nextCronTime('0 0 30 2 *', at('2026-01-01T00:00:00Z'), 'UTC')).toBeUndefined())
})
