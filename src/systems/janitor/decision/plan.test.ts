import { describe, expect, it } from 'vitest'
import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import { windowState } from '../../../apis/work-window.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Verdict } from '../verdict/judge.ts'
import { partition } from './partition.ts'
import { deleteAllowance, planCycle, type Judged } from './plan.ts'
import { deletionDate, nextAllowedTime } from '../policy/retention.ts'
import { day, mark, now, policy, resource } from '../../../../test/janitor/fixtures.ts'

const violating: Verdict = { is: 'violating', summaries: [] }
const compliant: Verdict = { is: 'compliant', because: 'no-rule-matches' }
const at = (text: string) => parseTime(text) ?? 0
const times = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const facts = { skipped: 0, previous: undefined, circuitAcknowledged: false, now }

describe('caps', () => {
  const unmarked = (index: number): Judged<number> => ({
    resource: resource({ name: `r${index}`, createdAt: now - index * day }),
    verdict: violating,
    mark: undefined,
  })

  it('E17: limits marks per cycle, the oldest resources first', () => {
    const plan = planCycle({ ...facts, judged: times(1000, unmarked), policy: policy({ limits: { maxMarks: 10 } }) })
    expect(plan.steps.map(({ judged }) => judged.resource?.name)).toEqual(times(10, (index) => `r${999 - index}`))
    expect(plan.counts).toMatchObject({ visited: 1000, violating: 1000, deferred: 990 })
  })

  const lifted = (index: number): Judged<number> => ({
    resource: resource({ name: `r${index}` }),
    verdict: compliant,
    mark: { mark: mark(), candidate: index },
  })

  it('opens the circuit rather than lift too many marks', () => {
    const tight = policy({ limits: { maxUnmarks: 5 } })
    expect(planCycle({ ...facts, judged: times(5, lifted), policy: tight })).toMatchObject({
      circuit: undefined,
      steps: { length: 5 },
    })
    expect(planCycle({ ...facts, judged: times(6, lifted), policy: tight })).toMatchObject({
      circuit: '6 marks would be lifted at once, more than spec.limits.maxUnmarks (5)',
      steps: [],
    })
    expect(
      planCycle({ ...facts, judged: times(6, lifted), policy: tight, circuitAcknowledged: true }).steps,
    ).toHaveLength(6)
  })

  const previous = { visited: 100, at: now - day }

  it('E9: opens the circuit when the listing shrinks', () => {
    const plan = planCycle({ ...facts, judged: times(40, unmarked), policy: policy(), previous })
    expect(plan).toMatchObject({ circuit: '60 of 100 resources are no longer listed (60 %)', steps: [] })
    expect(planCycle({ ...facts, judged: times(60, unmarked), policy: policy(), previous }).circuit).toBeUndefined()
  })

  it.each([
    ['left by our hand since', { phase: 'Deleted', finishedAt: now - day }, undefined],
    ['are on their way out', { phase: 'Deleting' }, undefined],
    ['left before that look', { phase: 'Deleted', finishedAt: now - day - 1 }, '60 of 100'],
    ['could not be deleted', { phase: 'Failed' }, '60 of 100'],
    ['are gone without our doing', { phase: 'Notified' }, '60 of 100'],
  ] as const)('E9: of the missing, counts those that %s', (_, given, expected) => {
    const missing = (index: number): Judged<number> => ({
      resource: undefined,
      verdict: undefined,
      mark: { mark: mark(given), candidate: index },
    })
    const judged = [...times(40, unmarked), ...times(60, missing)]
    const { circuit } = planCycle({ ...facts, judged, policy: policy(), previous })
    expect(circuit?.slice(0, 9)).toBe(expected)
  })

  it('honours opt-outs while the circuit is open', () => {
    const spared: Judged<number> = {
      resource: resource(),
      verdict: { is: 'excluded', because: 'opted-out' },
      mark: { mark: mark(), candidate: 1 },
    }
    const plan = planCycle({
      ...facts,
      judged: [spared, ...times(6, lifted)],
      policy: policy({ limits: { maxUnmarks: 5 } }),
    })
    expect(plan.steps.map(({ decision }) => decision.do)).toEqual(['opt-out'])
  })

  it.each([
    [10, 10, 50, 5],
    [3, 10, 50, 3],
    [10, 25, 2, 1],
    [10, 0, 50, 0],
    [0, 50, 50, 0],
  ])('E17: with maxDeletes %i and %i %% of %i deletes %i', (maxDeletes, maxDeletePercent, visited, expected) =>
    expect(deleteAllowance(policy({ limits: { maxDeletes, maxDeletePercent } }), visited)).toBe(expected),
  )
})

describe('batches', () => {
  it('C8: hold one group each and are spread over the time', () => {
    const items = [{ group: 'app' }, { group: 'app' }, { group: undefined }, { group: 'package' }, { group: 'package' }]
    const batches = partition(items, { batchSize: 2, spreadMs: 3_600_000 })
    expect(batches.map(({ items: { length }, offsetMs }) => [length, offsetMs])).toEqual([
      [2, 0],
      [2, 40 * 60_000],
      [1, 20 * 60_000],
    ])
    for (const batch of batches) expect(new Set(batch.items.map(({ group }) => group)).size).toBe(1)
  })
  it('C9: separate two packages of one owner', () =>
    expect(
      partition([{ group: 'a' }, { group: 'b' }], { batchSize: 5, spreadMs: 0 }).map(({ items }) => items.length),
    ).toEqual([1, 1]))
  it('respect batchSize', () =>
    expect(
      partition(
        times(7, () => ({ group: 'a' })),
        { batchSize: 3, spreadMs: 0 },
      ).map(({ items }) => items.length),
    ).toEqual([3, 3, 1]))
})

describe('the time to work', () => {
  const isOpen = (schedule: WorkScheduleSpec, text: string) => windowState(schedule, at(text)).open
  const hours = { start: '09:00', end: '16:00' } as const
  it('C20: is on the days it names', () => {
    expect(isOpen({ windows: [{ days: ['Monday', 'Tuesday'], ...hours }] }, '2026-03-02T10:00:00Z')).toBe(true)
    expect(isOpen({ windows: [{ days: ['Tuesday'], ...hours }] }, '2026-03-02T10:00:00Z')).toBe(false)
  })
  it('C21 E13: reaches over midnight where it ends before it starts', () => {
    const night: WorkScheduleSpec = { windows: [{ days: ['Monday'], start: '20:00', end: '07:00' }] }
    expect(isOpen(night, '2026-03-02T23:00:00Z')).toBe(true)
    expect(isOpen(night, '2026-03-03T06:59:00Z')).toBe(true)
    expect(isOpen(night, '2026-03-03T20:30:00Z')).toBe(false)
  })
  it('C22: is over at its end', () => {
    const monday: WorkScheduleSpec = { windows: [{ days: ['Monday'], ...hours }] }
    expect(isOpen(monday, '2026-03-02T15:59:59Z')).toBe(true)
    expect(isOpen(monday, '2026-03-02T16:00:00Z')).toBe(false)
  })
  it('C23: is local to its time zone', () => {
    const office: WorkScheduleSpec = { timeZone: 'America/Los_Angeles', windows: [{ days: ['Tuesday'], ...hours }] }
    expect(isOpen(office, '2026-07-07T17:00:00Z')).toBe(true)
    expect(isOpen(office, '2026-07-07T15:00:00Z')).toBe(false)
  })
  it('E12: counts the hour repeated in autumn once, and skips the missing hour in spring', () => {
    const early: WorkScheduleSpec = {
      timeZone: 'Europe/Berlin',
      windows: [{ days: ['Sunday'], start: '02:30', end: '03:30' }],
    }
    expect(windowState(early, at('2026-10-25T00:30:00Z'))).toEqual({ open: true, until: at('2026-10-25T02:30:00Z') })
    expect(windowState(early, at('2026-03-29T00:00:00Z'))).toEqual({
      open: false,
      nextOpenAt: at('2026-03-29T01:00:00Z'),
    })
  })
})

describe('the deletion date', () => {
  const office: WorkScheduleSpec = {
    timeZone: 'America/Los_Angeles',
    windows: [{ days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday'], start: '09:00', end: '16:00' }],
    holidays: ['2026-03-04'],
  }
  const twoDays = { ms: 2 * day }
  it('C10: is the retention later', () =>
    expect(deletionDate(twoDays, { from: at('2026-03-02T09:30:00Z'), schedule: undefined })).toBe(
      at('2026-03-04T09:30:00Z'),
    ))
  it('moves to a day and hour in the schedule', () => {
    expect(deletionDate(twoDays, { from: at('2026-03-03T18:00:00Z'), schedule: office })).toBe(
      at('2026-03-05T18:00:00Z'),
    )
    expect(deletionDate(twoDays, { from: at('2026-03-04T18:00:00Z'), schedule: office })).toBe(
      at('2026-03-09T17:00:00Z'),
    )
    expect(deletionDate({ ms: day }, { from: at('2026-03-03T18:00:00Z'), schedule: office })).toBe(
      at('2026-03-05T18:00:00Z'),
    )
  })
  it('C14: keeps an allowed time and moves a Saturday to Monday at the same hour', () => {
    expect(nextAllowedTime(office, at('2026-03-02T18:00:00Z'))).toBe(at('2026-03-02T18:00:00Z'))
    expect(nextAllowedTime(office, at('2026-03-14T18:00:00Z'))).toBe(at('2026-03-16T18:00:00Z'))
  })
  it('E13: judges Friday evening in the schedule’s zone, not Saturday in UTC', () => {
    const friday: WorkScheduleSpec = { timeZone: 'America/Los_Angeles', windows: [{ days: ['Friday'] }] }
    expect(nextAllowedTime(friday, at('2026-03-07T01:30:00Z'))).toBe(at('2026-03-07T01:30:00Z'))
  })
  it('counts business days without holidays', () =>
    expect(deletionDate({ businessDays: 2 }, { from: at('2026-03-03T18:00:00Z'), schedule: office })).toBe(
      at('2026-03-09T17:00:00Z'),
    ))
  it('counts Monday to Friday without a schedule', () =>
    expect(deletionDate({ businessDays: 3 }, { from: at('2026-03-05T10:00:00Z'), schedule: undefined })).toBe(
      at('2026-03-10T10:00:00Z'),
    ))
  it('is unknown when the schedule never opens', () => {
    const never: WorkScheduleSpec = {
      windows: [{ days: ['Monday'] }],
      skip: [{ from: '2026-01-01', to: '2036-01-01' }],
    }
    expect(deletionDate(twoDays, { from: now, schedule: never })).toBeUndefined()
  })
})
