import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { decide, type Observed, type Rule, type Workload } from './decide.ts'

const minute = 60_000
/** A Wednesday, 12:00 UTC. */
const now = Date.UTC(2026, 10, 18, 12)

interface Given {
  readonly workload?: Partial<Workload> | 'unknown' | 'absent'
  readonly rule?: Partial<Rule>
  readonly rules?: readonly Partial<Rule>[]
  readonly usage?: Partial<Observed['usage']>
  readonly wake?: Partial<Observed['wake']>
  readonly power?: Observed['power']
}

function observed({ workload = {}, rule = {}, rules = [rule], usage, wake, power }: Given): Observed {
  const base: Workload = {
    replicas: 1,
    formerReplicas: undefined,
    autoscalerMin: undefined,
    resourceVersion: '7',
    deleting: false,
    isSlept: false,
    neverSleeps: undefined,
  }
  const noRule: Rule = {
    ttlMs: 5 * minute,
    hasOwnTtl: true,
    minReplicas: 0,
    wakeReplicas: undefined,
    maySleep: true,
    awakeHours: undefined,
    awakeUntil: undefined,
    isBypassed: false,
  }
  return {
    workload: typeof workload === 'string' ? workload : { ...base, ...workload },
    rules: rules.map((each) => ({ ...noRule, ...each })),
    usage: { inFlight: 0, waiting: 0, lastUsedAt: now - 10 * minute, ...usage },
    wake: { failures: 0, retryAt: 0, because: 'backoff', ...wake },
    power,
  }
}

const office = parseAwakeHours('Mon-Fri 08:00-18:00 UTC')!
const night = parseAwakeHours('Mon-Fri 20:00-22:00 UTC')!

describe('decide', () => {
  it.each<[string, Given, Record<string, unknown>]>([
    [
      'puts to sleep what has been idle for its TTL',
      {},
      { do: 'sleep', because: 'idle', replicas: 0, former: 1, resourceVersion: '7' },
    ],
    ['remembers how many there were', { workload: { replicas: 3 } }, { do: 'sleep', former: 3 }],
    ['sleeps at the very moment', { usage: { lastUsedAt: now - 5 * minute } }, { do: 'sleep' }],
    [
      'waits for the time to pass',
      { usage: { lastUsedAt: now - minute } },
      { do: 'stay', because: 'recently-used', until: now + 4 * minute },
    ],
    [
      'takes the longest time of several Services',
      { rules: [{ ttlMs: minute }, { ttlMs: 60 * minute }] },
      { do: 'stay', because: 'recently-used' },
    ],
    [
      'leaves what has requests in flight, however old',
      { usage: { inFlight: 1, lastUsedAt: 0 } },
      { do: 'stay', because: 'in-use' },
    ],
    ['leaves what someone waits for', { usage: { waiting: 1, lastUsedAt: 0 } }, { do: 'stay', because: 'in-use' }],
    [
      'leaves what it cannot see',
      { workload: 'unknown', usage: { lastUsedAt: 0 } },
      { do: 'stay', because: 'unknown' },
    ],
    ['leaves what is being deleted', { workload: { deleting: true } }, { do: 'stay', because: 'being-deleted' }],
    ['leaves what no Service speaks for', { rules: [] }, { do: 'stay', because: 'no-route' }],
    ['leaves what opted out', { rule: { maySleep: false } }, { do: 'stay', because: 'kept-awake' }],
    [
      'leaves what one of its Services opted out',
      { rules: [{}, { maySleep: false }] },
      { do: 'stay', because: 'kept-awake' },
    ],
    [
      'keeps awake in office hours',
      { rule: { awakeHours: office } },
      { do: 'stay', because: 'office-hours', until: now + 360 * minute },
    ],
    [
      'keeps awake until a given time',
      { rule: { awakeUntil: now + minute } },
      { do: 'stay', because: 'office-hours', until: now + minute },
    ],
    [
      'leaves to its Services what no sleep rule is about',
      { workload: { replicas: 0, isSlept: true }, power: { wants: 'Awake', because: 'no-sleep-rule' } },
      { do: 'stay', because: 'asleep' },
    ],
    [
      'wakes what lost its sleep rule and has no Service',
      { workload: { replicas: 0, isSlept: true }, rules: [], power: { wants: 'Awake', because: 'no-sleep-rule' } },
      { do: 'wake', because: 'no-sleep-rule' },
    ],
    ...(['no-class', 'no-such-schedule'] as const).map(
      (because) =>
        [
          `keeps awake what it woke because of ${because}, however idle it is`,
          { power: { wants: 'Awake', because } },
          { do: 'stay', because },
        ] satisfies [string, Given, Record<string, unknown>],
    ),
    ...(['recently-used', 'new', 'deployed', 'use-unknown', 'paused'] as const).map(
      (because) =>
        [
          `sleeps with its environment, which is ${because}, where it has no TTL of its own`,
          { rule: { hasOwnTtl: false }, power: { wants: 'AsIs', because, until: now + 30 * minute } },
          { do: 'stay', because, until: now + 30 * minute },
        ] satisfies [string, Given, Record<string, unknown>],
    ),
    [
      'sleeps by its own TTL in an environment that is in use',
      { power: { wants: 'AsIs', because: 'recently-used', until: now + 30 * minute } },
      { do: 'sleep', because: 'idle' },
    ],
    [
      'sleeps by the default TTL where a rule of another tool leaves it alone',
      { rule: { hasOwnTtl: false }, power: { wants: 'AsIs', because: 'outside-awake-hours' } },
      { do: 'sleep', because: 'idle' },
    ],
    ['sleeps outside them', { rule: { awakeHours: night } }, { do: 'sleep' }],
    [
      'wakes for them',
      { workload: { replicas: 0 }, rule: { awakeHours: office } },
      { do: 'wake', because: 'office-hours' },
    ],
    [
      'looks again when they begin',
      { workload: { replicas: 0 }, rule: { awakeHours: night } },
      { do: 'stay', because: 'asleep', until: now + 480 * minute },
    ],
    [
      'sleeps down to the minimum, not below',
      { workload: { replicas: 3 }, rule: { minReplicas: 2 } },
      { do: 'sleep', replicas: 2, former: 3 },
    ],
    [
      'stays at the minimum',
      { workload: { replicas: 2 }, rule: { minReplicas: 2 } },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'stays at the minimum when used, if it never had more',
      { workload: { replicas: 2 }, rule: { minReplicas: 2 }, usage: { inFlight: 1, lastUsedAt: now } },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'stays at the minimum it slept down to while it is idle',
      { workload: { replicas: 2, formerReplicas: 5 }, rule: { minReplicas: 2 } },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'gives back all that it had above the minimum when it is used',
      {
        workload: { replicas: 2, formerReplicas: 5 },
        rule: { minReplicas: 2 },
        usage: { lastUsedAt: now - minute },
      },
      { do: 'wake', because: 'requested', replicas: 5 },
    ],
    [
      'leaves what an autoscaler looks after to it',
      {
        workload: { replicas: 2, formerReplicas: 5, autoscalerMin: 2 },
        rule: { minReplicas: 2 },
        usage: { lastUsedAt: now - minute },
      },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'refuses no request while there are pods at the minimum',
      {
        workload: { replicas: 2, formerReplicas: 5 },
        rule: { minReplicas: 2 },
        usage: { waiting: 1 },
        wake: { retryAt: now + minute },
      },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'gives back all that it had above the minimum in office hours',
      { workload: { replicas: 2, formerReplicas: 5 }, rule: { minReplicas: 2, awakeHours: office } },
      { do: 'wake', because: 'office-hours', replicas: 5 },
    ],
    [
      'raises to the minimum',
      { workload: { replicas: 0 }, rule: { minReplicas: 2 } },
      { do: 'wake', because: 'minimum', replicas: 2 },
    ],
    [
      'does not raise again what someone scaled to nothing under a long request',
      { workload: { replicas: 0 }, usage: { inFlight: 1 } },
      { do: 'stay', because: 'asleep' },
    ],
    ['lets the asleep lie', { workload: { replicas: 0 } }, { do: 'stay', because: 'asleep' }],
    [
      'wakes for a request',
      { workload: { replicas: 0 }, usage: { waiting: 1 } },
      { do: 'wake', because: 'requested', replicas: 1, resourceVersion: '7' },
    ],
    [
      'wakes to the former count',
      { workload: { replicas: 0, formerReplicas: 3 }, usage: { waiting: 1 } },
      { replicas: 3 },
    ],
    [
      'wakes to the autoscaler’s least, and leaves the rest to it',
      { workload: { replicas: 0, formerReplicas: 9, autoscalerMin: 2 }, usage: { waiting: 1 } },
      { replicas: 2 },
    ],
    [
      'leaves what an autoscaler looks after at the minimum in office hours, too',
      { workload: { replicas: 2, formerReplicas: 5, autoscalerMin: 2 }, rule: { minReplicas: 2, awakeHours: office } },
      { do: 'stay', because: 'minimum' },
    ],
    [
      'wakes to what it is told',
      { workload: { replicas: 0, formerReplicas: 3 }, rule: { wakeReplicas: 5 }, usage: { waiting: 1 } },
      { replicas: 5 },
    ],
    [
      'refuses while it backs off',
      { workload: { replicas: 0 }, usage: { waiting: 1 }, wake: { retryAt: now + 1000 } },
      { do: 'refuse', because: 'backoff', until: now + 1000 },
    ],
    [
      'refuses while waking is denied',
      { workload: { replicas: 0 }, usage: { waiting: 1 }, wake: { retryAt: now + 1000, because: 'wake-denied' } },
      { do: 'refuse', because: 'wake-denied' },
    ],
    [
      'refuses those who wait for what is gone',
      { workload: 'absent', usage: { waiting: 1 } },
      { do: 'refuse', because: 'target-gone' },
    ],
    ['has nothing to do for what is gone', { workload: 'absent' }, { do: 'stay', because: 'absent' }],
  ])('%s', (_, given, expected) => expect(decide(observed(given), now)).toMatchObject(expected))

  it('never puts to sleep what is in use, unseen, unspoken for, opted out or fresh', () => {
    const whole = fc.record({
      replicas: fc.integer({ min: 0, max: 5 }),
      inFlight: fc.integer({ min: 0, max: 2 }),
      waiting: fc.integer({ min: 0, max: 2 }),
      ageMs: fc.integer({ min: -minute, max: 20 * minute }),
      ttlMs: fc.integer({ min: 1000, max: 10 * minute }),
      maySleep: fc.boolean(),
      minReplicas: fc.integer({ min: 0, max: 3 }),
    })
    fc.assert(
      fc.property(whole, ({ replicas, inFlight, waiting, ageMs, ttlMs, maySleep, minReplicas }) => {
        const decision = decide(
          observed({
            workload: { replicas },
            rule: { ttlMs, maySleep, minReplicas },
            usage: { inFlight, waiting, lastUsedAt: now - ageMs },
          }),
          now,
        )
        if (decision.do !== 'sleep') return
        expect({ inFlight, waiting, maySleep }).toEqual({ inFlight: 0, waiting: 0, maySleep: true })
        expect(ageMs).toBeGreaterThanOrEqual(ttlMs)
        expect(decision.replicas).toBeLessThan(replicas)
      }),
    )
  })
})
