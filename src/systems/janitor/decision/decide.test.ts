import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideDelete,
  decideMark,
  decideNotice,
  type DeleteDecision,
  type Mark,
  type NoticeDecision,
} from './decide.ts'
import type { Verdict } from '../verdict/judge.ts'
import { day, hour, mark, now } from '../../../../test/janitor/fixtures.ts'

const violating: Verdict = { is: 'violating', summaries: [{ rule: 'AgeRule', description: 'old' }] }
const compliant: Verdict = { is: 'compliant', because: 'no-rule-matches' }
const optedOut: Verdict = { is: 'excluded', because: 'opted-out' }
const literal: Verdict = { is: 'excluded', because: 'literal' }
const leaving: Verdict = { is: 'excluded', because: 'being-deleted' }
const unknown: Verdict = { is: 'unknown', because: 'use-unknown' }

describe('marks', () => {
  const phases = ['Marked', 'Notified', 'Due', 'Deleting', 'Failed'] as const
  const table: readonly (readonly [string, Verdict | undefined, Partial<Mark> | undefined, string])[] = [
    ['marks what violates', violating, undefined, 'mark'],
    ['leaves alone what complies', compliant, undefined, 'nothing'],
    ['leaves alone what is opted out', optedOut, undefined, 'nothing'],
    ['leaves alone what is in doubt', unknown, undefined, 'nothing'],
    ['marks again what was unmarked', violating, { phase: 'Unmarked' }, 'mark'],
    ['marks again when an opt-out was revoked', violating, { phase: 'OptedOut' }, 'mark'],
    ['does not mark what it has just deleted', violating, { phase: 'Deleted', finishedAt: now - hour / 2 }, 'nothing'],
    ['marks what came back', violating, { phase: 'Deleted', finishedAt: now - 2 * hour }, 'mark'],
    ['has nothing to lift twice', compliant, { phase: 'Unmarked' }, 'nothing'],
    ['takes absence after our delete as done', undefined, { phase: 'Deleting' }, 'finish'],
    ['takes absence after a failed try as done', undefined, { phase: 'Failed' }, 'finish'],
    ['lifts the mark of what went by itself', undefined, { phase: 'Notified' }, 'unmark'],
    ...phases.flatMap((phase) => [
      [`${phase}: keeps its mark while it violates`, violating, { phase }, 'refresh'] as const,
      [`${phase}: is unmarked when it complies`, compliant, { phase }, 'unmark'] as const,
      [`${phase}: is unmarked when it is excluded, at once`, literal, { phase }, 'unmark'] as const,
      [`${phase}: is spared when it is opted out`, optedOut, { phase }, 'opt-out'] as const,
      [`${phase}: keeps its mark in doubt`, unknown, { phase }, 'nothing'] as const,
      [`${phase}: waits for its end`, leaving, { phase }, 'nothing'] as const,
    ]),
  ]
  it.each(table)('%s', (_, verdict, given, expected) =>
    expect(decideMark(verdict, given && mark(given), now).do).toBe(expected),
  )
})

describe('notices', () => {
  const rules = { mode: 'required', remindBeforeMs: [3 * day, day], needsOwner: true } as const
  const table: readonly (readonly [
    string,
    Partial<Mark>,
    Partial<typeof rules> | { mode: 'off' } | { needsOwner: false },
    NoticeDecision,
  ])[] = [
    [
      'C12: announces a mark whose owner was not notified',
      { phase: 'Marked', announcedAt: undefined },
      {},
      { do: 'announce' },
    ],
    [
      'C13: waives the notice where none are sent',
      { phase: 'Marked', announcedAt: undefined },
      { mode: 'off' },
      { do: 'waive' },
    ],
    [
      'holds a mark without an owner',
      { phase: 'Marked', announcedAt: undefined, hasOwner: false },
      {},
      { do: 'hold', because: 'owner-unknown' },
    ],
    [
      'tells a channel that needs no address',
      { phase: 'Marked', announcedAt: undefined, hasOwner: false },
      { needsOwner: false },
      { do: 'announce' },
    ],
    [
      'holds a mark with spec.hold',
      { phase: 'Marked', announcedAt: undefined, hold: true },
      {},
      { do: 'hold', because: 'held-by-human' },
    ],
    [
      'waits after a failure',
      { phase: 'Marked', announcedAt: undefined, nextAttemptAt: now + hour },
      {},
      { do: 'wait', until: now + hour },
    ],
    ['waits for the next reminder', { projectedAt: now + 5 * day }, {}, { do: 'wait', until: now + 2 * day }],
    ['reminds when it is time', { projectedAt: now + 3 * day }, {}, { do: 'remind' }],
    ['reminds once', { projectedAt: now + 3 * day, lastNoticeAt: now }, {}, { do: 'wait', until: now + 2 * day }],
    ['reminds once for two that were missed', { projectedAt: now + hour, lastNoticeAt: now }, {}, { do: 'nothing' }],
    ['does not remind of what is due', { projectedAt: now }, {}, { do: 'nothing' }],
  ]
  it.each(table)('%s', (_, given, options, expected) =>
    expect(decideNotice(mark(given), { ...rules, ...options } as never, now)).toEqual(expected),
  )
})

describe('deletions', () => {
  const due = { projectedAt: now }
  const table: readonly (readonly [
    string,
    Verdict | undefined,
    Partial<Mark>,
    'required' | 'bestEffort' | 'off',
    DeleteDecision,
  ])[] = [
    ['deletes what is due, told and still violates', violating, due, 'required', { do: 'delete' }],
    [
      'waits for the date',
      violating,
      { projectedAt: now + 1 },
      'required',
      { do: 'wait', until: now + 1, because: 'not-due' },
    ],
    [
      'keeps to a later date that was printed',
      violating,
      { ...due, promisedAt: now + 1 },
      'required',
      { do: 'wait', until: now + 1, because: 'not-due' },
    ],
    [
      'keeps to a human’s postponement',
      violating,
      { ...due, notBefore: now + day },
      'required',
      { do: 'wait', until: now + day, because: 'postponed' },
    ],
    [
      'waits for its batch',
      violating,
      { ...due, phase: 'Due', scheduledAt: now + hour },
      'required',
      { do: 'wait', until: now + hour, because: 'in-batch' },
    ],
    [
      'waits after a failure',
      violating,
      { ...due, phase: 'Failed', nextAttemptAt: now + hour },
      'required',
      { do: 'wait', until: now + hour, because: 'after-failure' },
    ],
    [
      'E2: holds a mark whose owner was not notified',
      violating,
      { ...due, phase: 'Marked', announcedAt: undefined },
      'required',
      { do: 'hold', because: 'not-announced' },
    ],
    [
      'E1: holds a mark without an owner',
      violating,
      { ...due, phase: 'Marked', announcedAt: undefined, hasOwner: false },
      'required',
      { do: 'hold', because: 'owner-unknown' },
    ],
    [
      'goes on without a notice that failed, if told so',
      violating,
      { ...due, phase: 'Marked', announcedAt: undefined, noticeFailed: true },
      'bestEffort',
      { do: 'delete' },
    ],
    [
      'does not go on before it tried',
      violating,
      { ...due, phase: 'Marked', announcedAt: undefined },
      'bestEffort',
      { do: 'hold', because: 'not-announced' },
    ],
    [
      'needs no notice where none are sent',
      violating,
      { ...due, phase: 'Marked', announcedAt: undefined },
      'off',
      { do: 'delete' },
    ],
    [
      'holds a mark with spec.hold',
      violating,
      { ...due, hold: true },
      'required',
      { do: 'hold', because: 'held-by-human' },
    ],
    ['has no date, has no end', violating, { projectedAt: undefined }, 'required', { do: 'hold', because: 'not-due' }],
    ['C6: is spared when opted out', optedOut, due, 'required', { do: 'opt-out', because: 'opted-out' }],
    ['is unmarked when it became used', compliant, due, 'required', { do: 'unmark', because: 'no-rule-matches' }],
    ['is kept in doubt', unknown, due, 'required', { do: 'hold', because: 'undecided' }],
    [
      'is done when it is gone after our delete',
      undefined,
      { ...due, phase: 'Deleting' },
      'required',
      { do: 'finish' },
    ],
    ['is left to its end', leaving, { ...due, phase: 'Deleting' }, 'required', { do: 'hold', because: 'undecided' }],
  ]
  it.each(table)('%s', (_, verdict, given, mode, expected) =>
    expect(decideDelete(verdict, mark(given), { mode, now })).toEqual(expected),
  )

  it('never deletes unannounced, early, held, undecided or protected resources', () => {
    const times = fc.option(fc.integer({ min: now - 30 * day, max: now + 30 * day }), { nil: undefined })
    const marks = fc.record({
      phase: fc.constantFrom('Marked', 'Notified', 'Due', 'Deleting', 'Deleted', 'Failed', 'OptedOut', 'Unmarked'),
      markedAt: fc.integer({ min: now - 90 * day, max: now }),
      hold: fc.boolean(),
      notBefore: times,
      projectedAt: times,
      promisedAt: times,
      announcedAt: times,
      lastNoticeAt: times,
      noticeFailed: fc.boolean(),
      isCopyMissing: fc.boolean(),
      hasOwner: fc.boolean(),
      isOfFormerPolicy: fc.boolean(),
      scheduledAt: times,
      nextAttemptAt: times,
      finishedAt: times,
    })
    const verdicts = fc.constantFrom(violating, compliant, optedOut, literal, leaving, unknown, undefined)
    fc.assert(
      fc.property(marks, verdicts, fc.integer({ min: now - 40 * day, max: now + 40 * day }), (given, verdict, at) => {
        const decision = decideDelete(verdict, given, { mode: 'required', now: at })
        if (decision.do !== 'delete') return
        expect(verdict).toBe(violating)
        expect(given.hold).toBe(false)
        expect(given.isOfFormerPolicy).toBe(false)
        expect(given.announcedAt).toBeDefined()
        for (const earliest of [given.projectedAt ?? Infinity, given.promisedAt ?? 0, given.notBefore ?? 0])
          expect(at).toBeGreaterThanOrEqual(earliest)
      }),
      { numRuns: 2000 },
    )
  })
})
