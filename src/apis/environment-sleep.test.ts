import { describe, expect, it } from 'vitest'
import type { EnvironmentClass, EnvironmentClassSpec } from './environment-class.ts'
import { decidePower, sleepRuleOf, type PowerFacts, type SleepRule } from './environment-sleep.ts'
import type { Environment } from './environment.ts'

const minute = 60_000
const now = Date.UTC(2026, 10, 18, 12)
const at = (ms: number) => new Date(ms).toISOString()

function aClass(spec: Partial<EnvironmentClassSpec> = {}): EnvironmentClass {
  const metadata = { name: 'preview', uid: 'c', resourceVersion: '1', creationTimestamp: at(0) }
  const namespaceSelector = { matchLabels: { env: 'preview' } }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'EnvironmentClass',
    metadata,
    spec: { namespaceSelector, ...spec },
  }
}

function anEnvironment(spec: Partial<Environment['spec']> = {}, status: Environment['status'] = {}): Environment {
  const metadata = { name: 'a', namespace: 'a', uid: 'e', resourceVersion: '1', creationTimestamp: at(0) }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Environment',
    metadata,
    spec: { className: 'preview', ...spec },
    status,
  }
}

const idleRule = sleepRuleOf(aClass({ sleep: { idleAfter: '30m' } }), anEnvironment())
const scheduled = sleepRuleOf(aClass({ sleep: { awake: 'office-hours' } }), anEnvironment())
const byHand = (power: 'Awake' | 'Asleep', until = now + minute) => ({ byHand: { power, since: now - minute, until } })

describe('the sleep rule of an environment', () => {
  it('reads durations, hours and what was set by hand', () => {
    const rule = sleepRuleOf(
      aClass({
        sleep: { idleAfter: '30m', awake: 'Mon-Fri 08:00-18:00 Europe/Berlin', wakeOn: ['Request', 'Deploy'] },
      }),
      anEnvironment({ power: 'Asleep', powerSince: at(1000), powerUntil: at(2000) }),
    )
    expect(rule).toMatchObject({
      idleAfterMs: 30 * minute,
      awake: { hours: { timeZone: 'Europe/Berlin' } },
      wakeOnDeploy: true,
      byHand: { power: 'Asleep', since: 1000, until: 2000 },
      standing: 'in-force',
      grace: { until: 15 * minute, because: 'new' },
    })
    expect(scheduled.awake).toEqual({ schedule: 'office-hours' })
  })

  it('counts the grace from the last deploy', () => {
    const deployed = { hash: 'x', at: at(now) }
    expect(sleepRuleOf(aClass({ sleep: { grace: '5m' } }), anEnvironment({}, { deployed })).grace).toEqual({
      until: now + 5 * minute,
      because: 'deployed',
    })
  })

  it('is out of force without a class, while paused and while being deleted', () => {
    expect(sleepRuleOf(undefined, anEnvironment()).standing).toBe('no-class')
    expect(sleepRuleOf(aClass({ paused: true }), anEnvironment()).standing).toBe('paused')
    const deletion = { step: 'Record', reason: 'unused', startedAt: at(0), stepAt: at(0) } as const
    expect(sleepRuleOf(aClass(), anEnvironment({}, { deletion })).standing).toBe('being-deleted')
  })
})

describe('the power of an environment', () => {
  const open = { open: true, until: now + 5 * minute } as const
  const closed = { open: false, nextOpenAt: now + 9 * minute } as const

  it.each<[string, SleepRule, Partial<SleepRule>, Partial<PowerFacts>, object]>([
    [
      'changes nothing during a deletion',
      idleRule,
      { standing: 'being-deleted' },
      {},
      { wants: 'AsIs', because: 'being-deleted' },
    ],
    ['is awake without a class', idleRule, { standing: 'no-class' }, {}, { wants: 'Awake', because: 'no-class' }],
    [
      'changes nothing while paused',
      idleRule,
      { standing: 'paused' },
      { waiting: 1 },
      { wants: 'AsIs', because: 'paused' },
    ],
    [
      'wakes for a request, whatever was set by hand',
      idleRule,
      byHand('Asleep'),
      { waiting: 1 },
      { wants: 'Awake', because: 'requested' },
    ],
    [
      'stays awake by hand',
      scheduled,
      byHand('Awake'),
      { window: closed },
      { wants: 'Awake', because: 'by-hand', until: now + minute },
    ],
    ...(['deployed', 'new'] as const).map(
      (because): [string, SleepRule, Partial<SleepRule>, Partial<PowerFacts>, object] => [
        `wakes for a deploy where the class says so, and not because it is new: ${because}`,
        idleRule,
        { wakeOnDeploy: true, grace: { until: now + minute, because } },
        {},
        { wants: because === 'new' ? 'AsIs' : 'Awake', because, until: now + minute },
      ],
    ),
    [
      'forgets the hand when its time is over',
      idleRule,
      byHand('Awake', now),
      {},
      { wants: 'Asleep', because: 'idle' },
    ],
    [
      'leaves a new environment as it is',
      idleRule,
      { grace: { until: now + 1, because: 'new' } },
      {},
      { wants: 'AsIs', because: 'new', until: now + 1 },
    ],
    [
      'sleeps by hand even when new',
      idleRule,
      { grace: { until: now + 1, because: 'new' }, ...byHand('Asleep') },
      {},
      { wants: 'Asleep', because: 'by-hand' },
    ],
    ...(
      [
        ['used a minute ago', {}, { lastRequestAt: now - minute }],
        ['in its grace', { grace: { until: now + minute, because: 'deployed' } }, {}],
        ['asleep by hand until now', byHand('Asleep', now), { lastRequestAt: now - minute }],
      ] as const
    ).map(([what, rule, facts]): [string, SleepRule, Partial<SleepRule>, Partial<PowerFacts>, object] => [
      `is awake when its hours begin, also ${what}`,
      scheduled,
      rule,
      { window: open, ...facts },
      { wants: 'Awake', because: 'awake-hours', until: now + 5 * minute },
    ]),
    [
      'is awake after a sleep by hand that no rule takes up',
      sleepRuleOf(aClass(), anEnvironment()),
      byHand('Asleep', now),
      { lastRequestAt: now - minute },
      { wants: 'Awake', because: 'no-sleep-rule' },
    ],
    [
      'sleeps by hand in its hours',
      scheduled,
      byHand('Asleep'),
      { window: open },
      { wants: 'Asleep', because: 'by-hand', until: now + minute },
    ],
    [
      'leaves requests in flight',
      scheduled,
      {},
      { window: closed, inFlight: 1 },
      { wants: 'AsIs', because: 'recently-used' },
    ],
    [
      'leaves what was used within idleAfter',
      idleRule,
      {},
      { lastRequestAt: now - minute },
      { wants: 'AsIs', because: 'recently-used', until: now + 29 * minute },
    ],
    [
      'counts 30m of use outside the hours',
      scheduled,
      {},
      { window: closed, lastRequestAt: now - minute },
      { wants: 'AsIs', until: now + 29 * minute },
    ],
    [
      'sleeps by hand though it was used before',
      idleRule,
      byHand('Asleep'),
      { lastRequestAt: now - 2 * minute },
      { wants: 'Asleep', because: 'by-hand' },
    ],
    [
      'stays awake for a request after the sleep by hand',
      idleRule,
      byHand('Asleep'),
      { lastRequestAt: now - 1 },
      { wants: 'AsIs', because: 'recently-used' },
    ],
    [
      'stays awake for a while after a user connected to a Pod',
      idleRule,
      { connectedAt: now - minute },
      { lastRequestAt: now - 90 * minute },
      { wants: 'AsIs', because: 'recently-used', until: now + 29 * minute },
    ],
    [
      'is awake in its hours',
      scheduled,
      {},
      { window: open },
      { wants: 'Awake', because: 'awake-hours', until: now + 5 * minute },
    ],
    [
      'sleeps outside of them',
      scheduled,
      {},
      { window: closed },
      { wants: 'Asleep', because: 'outside-awake-hours', until: now + 9 * minute },
    ],
    [
      'is awake when its schedule is missing',
      scheduled,
      {},
      { window: 'missing' },
      { wants: 'Awake', because: 'no-such-schedule' },
    ],
    ['sleeps when idle', idleRule, {}, { lastRequestAt: now - 30 * minute }, { wants: 'Asleep', because: 'idle' }],
    [
      'changes nothing when use cannot be seen',
      idleRule,
      {},
      { isUseVisible: false },
      { wants: 'AsIs', because: 'use-unknown' },
    ],
    [
      'is awake without a rule',
      sleepRuleOf(aClass(), anEnvironment()),
      {},
      {},
      { wants: 'Awake', because: 'no-sleep-rule' },
    ],
  ])('%s', (_, rule, change, facts, expected) => {
    const none = { waiting: 0, inFlight: 0, lastRequestAt: undefined, window: undefined, isUseVisible: true }
    expect(decidePower({ ...rule, ...change }, { ...none, ...facts }, now)).toMatchObject(expected)
  })
})
