import { describe, expect, it } from 'vitest'
import { evaluate } from './conditions.ts'
import type { Target } from './model.ts'

const now = Date.parse('2026-01-05T08:00:00Z')
const minute = 60_000
const a: Target = {
  name: 'a',
  apiVersion: 'v1',
  kind: 'configmap',
  select: { by: 'name', name: 'a' },
  delete: true,
  evaluate: true,
  onMissing: 'Wait',
  excludeTerminating: false,
}
const judge = (conditions: readonly string[], value: unknown = {}, given: { monotonic?: boolean } = {}) =>
  evaluate({ conditions, targets: [a], monotonic: false, periodMs: 5 * minute, ...given }, { a: value }, now)

describe('conditions', () => {
  it.each([
    ['an absent key', { metadata: { annotations: {} } }],
    ['an absent map', { metadata: {} }],
  ])('C2-13: %s is an error that names the condition', (_, value) =>
    expect(judge(['true', 'a.metadata.annotations["x"] == "y"'], value)).toMatchObject({ is: 'error', condition: 1 }),
  )

  it.each([
    ['false && a.b', 'false'],
    ['a.b && false', 'false'],
    ['true || a.b', 'true'],
    ['a.b || true', 'true'],
    ['[{}, {"k": true}].exists(x, x.k)', 'true'],
    ['[{"k": true}, {}].exists(x, x.k)', 'true'],
    ['[{}, {"k": false}].all(x, x.k)', 'false'],
    ['[{"k": true}, {}].all(x, x.k)', 'error'],
  ])('C2-14: %s is %s', (condition, is) => expect(judge([condition])).toMatchObject({ is }))

  it.each(['"true"', 'null', '1', '[true]', '1u', '1.5', '{"a": true}'])('C2-15: %s is not a boolean', (condition) =>
    expect(judge([condition])).toMatchObject({ is: 'not-boolean', condition: 0 }),
  )

  it('C2-16: reports a later error even if an earlier condition is false', () => {
    expect(judge(['false', 'a.'])).toMatchObject({ is: 'error', condition: 1 })
    expect(judge(['false', 'a.b == 1'])).toMatchObject({ is: 'error', condition: 1 })
    expect(judge(['true', 'false', '2'])).toMatchObject({ is: 'not-boolean', condition: 2 })
  })

  it('C2-42: conditions that exceed the shared cost limit end in an error', () => {
    const items = Array.from({ length: 1000 }, (_, id) => ({ id }))
    const nested = 'a.items.exists(x, a.items.exists(y, a.items.exists(z, x.id + y.id + z.id < 0)))'
    expect(judge([nested], { items })).toEqual({
      is: 'error',
      condition: 0,
      message: expect.stringContaining('budget'),
      isSpent: true,
    })
    // Each by itself could be paid for; together they cannot.
    const dear = 'a.items.exists(x, a.items.exists(y, x.id + y.id < 0))'
    const few = { items: items.slice(0, 450) }
    expect(judge([dear], few)).toMatchObject({ is: 'false' })
    expect(
      judge(
        Array.from({ length: 10 }, () => dear),
        few,
      ),
    ).toMatchObject({ is: 'error', isSpent: true })
  })

  it('C2-44: whole numbers of JSON are whole numbers, however large', () => {
    expect(
      judge(['a.n % 2 == 1', 'a.big + 1 == 9007199254740994', 'type(a.n) == int'], { n: 3, big: 9007199254740993n }),
    ).toEqual({ is: 'true' })
  })

  it('C2-45: string times are compared as time only by timestamp()', () => {
    const value = { at: '2026-01-05T09:00:00+02:00' }
    expect(judge(['timestamp(a.at) < time', 'a.at > "2026-01-05T08:30:00Z"'], value)).toEqual({ is: 'true' })
  })
})

describe('the next evaluation', () => {
  it.each([
    ['the instant it can be computed', 'time > timestamp("2026-02-01T00:00:00Z")', { evaluate: 'at' }],
    ['never by time alone', 'a.x == 2', { evaluate: 'never' }],
    ['by period, where time is taken apart', 'string(time) > "2027"', { evaluate: 'by-period' }],
  ])('is %s', (_, condition, next) => expect(judge([condition], { x: 1 })).toMatchObject({ is: 'false', next }))

  it('is computed without retry.monotonic where possible', () => {
    const condition = 'time - timestamp("2026-01-01T00:00:00Z") > duration("360h")'
    expect(judge([condition], {}, { monotonic: true })).toEqual(judge([condition]))
  })

  it('is searched for with retry.monotonic where it cannot be computed', () => {
    const verdict = judge(['string(time) >= "2026-06-01T12:00:00Z"'], {}, { monotonic: true })
    const wanted = Date.parse('2026-06-01T12:00:00Z')
    expect(verdict).toMatchObject({ is: 'false', next: { evaluate: 'at' } })
    const at = verdict.is === 'false' && verdict.next.evaluate === 'at' ? verdict.next.at : 0
    expect(at).toBeGreaterThanOrEqual(wanted)
    expect(at - wanted).toBeLessThanOrEqual(1000)
  })

  it('is the period if the search finds no instant', () =>
    expect(judge(['string(time) < "2020"'], {}, { monotonic: true })).toMatchObject({
      next: { evaluate: 'by-period' },
    }))

  it('is the period, and reports so, if retry.monotonic proves wrong', () => {
    const once = 'string(time) > "2026-01-05T08:04" && string(time) < "2026-01-05T08:30"'
    expect(judge([once], {}, { monotonic: true })).toMatchObject({
      next: { evaluate: 'by-period', violatesMonotonic: true },
    })
  })
})
