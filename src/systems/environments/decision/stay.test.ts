import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readClass } from './rules.ts'
import { decideStay, dueOf, type Announcement, type StayFacts } from './stay.ts'

const hour = 3_600_000
const day = 24 * hour
const now = Date.UTC(2026, 10, 18, 12)

const rules = readClass({
  namespaceSelector: { matchLabels: { env: 'preview' } },
  delete: { after: '7d', maxAge: '60d' },
  pullRequest: { staleAfter: '14d' },
}).rules

function facts(given: Partial<StayFacts> = {}): StayFacts {
  return {
    rules,
    createdAt: now - 10 * day,
    managedSince: now - 10 * day,
    lastUsedAt: now,
    deployedAt: now,
    isUseVisible: true,
    keepUntil: undefined,
    pull: undefined,
    isConditionTrue: false,
    evictedAt: undefined,
    announcement: undefined,
    owner: 'ada@example.org',
    needsOwner: true,
    mailAt: 0,
    ...given,
  }
}

function announced(given: Partial<Announcement> = {}): Announcement {
  return {
    reason: 'unused',
    date: now,
    writtenAt: now - day,
    toldAt: now - day,
    owner: 'ada@example.org',
    attempts: 1,
    retryAt: undefined,
    ...given,
  }
}

const unused = { lastUsedAt: now - 7 * day }
const closed = { state: 'closed', isKnown: true, closedAt: now - hour, headChangedAt: now } as const

describe('the stay of an environment', () => {
  it.each<[string, Partial<StayFacts>, object]>([
    [
      'stays when no rule makes it due',
      { rules: { ...rules, afterMs: undefined, maxAgeMs: undefined, staleMs: undefined } },
      { do: 'stay' },
    ],
    ['stays until the warning', {}, { do: 'stay', due: { reason: 'unused', at: now + 7 * day }, until: now + 6 * day }],
    [
      'announces with the whole warning, however late it looks',
      { lastUsedAt: now - 30 * day },
      { do: 'announce', reason: 'unused', date: now + day },
    ],
    [
      'announces at the very date when it looks in time',
      { lastUsedAt: now - 6 * day },
      { do: 'announce', date: now + day },
    ],
    ['withdraws when it was used again', { announcement: announced({ date: now + hour }) }, { do: 'withdraw' }],
    [
      'moves the date when the new one is near',
      { lastUsedAt: now - 6.5 * day, announcement: announced({ date: now + hour }) },
      { do: 'move', date: now + 12 * hour },
    ],
    [
      'never moves the date nearer',
      { lastUsedAt: now - 30 * day, announcement: announced({ date: now + hour }) },
      { do: 'stay', until: now + hour },
    ],
    ['tells the owner', { ...unused, announcement: announced({ toldAt: undefined, date: now + day }) }, { do: 'tell' }],
    [
      'waits for the digest when the owner was told today',
      { ...unused, mailAt: now + hour, announcement: announced({ toldAt: undefined, date: now + day }) },
      { do: 'stay', until: now + hour },
    ],
    [
      'waits until the retry, and expects the deletion a whole warning after it',
      { ...unused, announcement: announced({ toldAt: undefined, retryAt: now + hour, date: now + 5 }) },
      { do: 'stay', until: now + hour, due: { at: now + hour + day } },
    ],
    [
      'holds at the date while the owner could not be told',
      { ...unused, announcement: announced({ toldAt: undefined, retryAt: now + 5 }) },
      { do: 'hold', because: 'not-told', until: now + 5 },
    ],
    ['tells a new owner anew', { ...unused, owner: 'bob@example.org', announcement: announced() }, { do: 'tell' }],
    [
      'holds when no owner is known',
      { ...unused, owner: undefined, announcement: announced({ toldAt: undefined }) },
      { do: 'hold', because: 'owner-unknown' },
    ],
    [
      'counts the warning from the notice, not from the announcement',
      { ...unused, announcement: announced({ toldAt: now - hour }) },
      { do: 'stay', until: now + 23 * hour },
    ],
    ['deletes at the date', { ...unused, announcement: announced() }, { do: 'delete', reason: 'unused' }],
    [
      'announces nothing while use cannot be seen',
      { ...unused, isUseVisible: false },
      { do: 'hold', because: 'use-unknown' },
    ],
    [
      'holds while use cannot be seen',
      { ...unused, isUseVisible: false, announcement: announced() },
      { do: 'hold', because: 'use-unknown' },
    ],
    [
      'holds while the pull request cannot be read',
      { ...unused, pull: { ...closed, isKnown: false }, announcement: announced() },
      { do: 'hold', because: 'pull-request-unknown' },
    ],
    [
      'announces a closed pull request without a warning',
      { pull: closed },
      { do: 'announce', reason: 'pull-request-closed', date: now },
    ],
    [
      'leaves the whole grace to an old Namespace of a closed pull request that is labelled now',
      { pull: { ...closed, closedAt: now - 30 * day }, managedSince: now },
      { do: 'stay', due: { reason: 'pull-request-closed', at: now + hour } },
    ],
    [
      'deletes a closed one after one attempt to tell',
      {
        pull: closed,
        announcement: announced({ reason: 'pull-request-closed', toldAt: undefined, retryAt: now + day }),
      },
      { do: 'delete' },
    ],
    [
      'deletes a closed one whose owner had his notice of the day, without waiting for the next day',
      {
        pull: closed,
        mailAt: now + day,
        announcement: announced({ reason: 'pull-request-closed', toldAt: undefined, attempts: 0, date: now }),
      },
      { do: 'delete' },
    ],
    [
      'withdraws when the pull request is reopened',
      {
        pull: { ...closed, state: 'open' },
        announcement: announced({ reason: 'pull-request-closed', date: now + hour }),
      },
      { do: 'withdraw' },
    ],
    [
      'announces a closed pull request although use cannot be seen and would make it due, too',
      { ...unused, isUseVisible: false, pull: closed },
      { do: 'announce', reason: 'pull-request-closed', date: now },
    ],
    [
      'deletes for a closed pull request at the announced date when use can no longer be seen',
      { ...unused, isUseVisible: false, pull: closed, announcement: announced() },
      { do: 'announce', reason: 'pull-request-closed', date: now },
    ],
    [
      'deletes for a closed pull request although the owner could never be told of another reason',
      { ...unused, pull: closed, announcement: announced({ toldAt: undefined, retryAt: now + hour }) },
      { do: 'announce', reason: 'pull-request-closed', date: now },
    ],
    [
      'announces another reason anew, with the whole warning and no date that is nearer',
      { isConditionTrue: true, announcement: announced({ date: now + hour }) },
      { do: 'announce', reason: 'condition', date: now + day },
    ],
    [
      'withdraws instead of moving the date of a pull request that is open again to that of another reason',
      {
        lastUsedAt: now - 7 * day + 5 * hour,
        pull: { ...closed, state: 'open' },
        announcement: announced({ reason: 'pull-request-closed' }),
      },
      { do: 'withdraw' },
    ],
    [
      'deletes for the reason that was told while another one holds, too',
      { ...unused, pull: closed, isConditionTrue: true, announcement: announced() },
      { do: 'delete', reason: 'unused' },
    ],
    ['keeps what was kept', { pull: closed, keepUntil: now + 3 * day }, { do: 'stay', due: { at: now + 3 * day } }],
  ])('%s', (_, given, expected) => expect(decideStay(facts(given), now)).toMatchObject(expected))

  it('follows the rule that warns where a keep moves it and a closed pull request to one date', () => {
    const kept = facts({ createdAt: now - 59 * day, keepUntil: now + 9 * day, pull: closed })
    expect(decideStay(kept, now)).toMatchObject({ do: 'announce', reason: 'max-age', date: now + day })
  })

  it('keeps nothing beyond the maximum age', () => {
    expect(dueOf(facts({ keepUntil: now + 400 * day }), now)).toEqual({
      reason: 'max-age',
      at: now - 10 * day + 60 * day,
    })
  })

  /** Lives of environments with use, keeps, reopening, outages of forge and mail, and restarts between any two looks. */
  it('never deletes before a told date, on unknown facts, or without the whole warning, in any life', () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 60_000, max: 2 * day }),
      use: fc.boolean(),
      keep: fc.integer({ min: 0, max: 20 }),
      pull: fc.constantFrom('open', 'closed', 'merged'),
      isKnown: fc.boolean(),
      isMailUp: fc.boolean(),
      owner: fc.constantFrom('ada@example.org', 'bob@example.org', undefined),
      isUseVisible: fc.boolean(),
      isConditionTrue: fc.boolean(),
      evicted: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => live(steps)),
      { numRuns: 400 },
    )
  })
})

interface Step {
  readonly waitMs: number
  readonly use: boolean
  readonly keep: number
  readonly pull: 'open' | 'closed' | 'merged'
  readonly isKnown: boolean
  readonly isMailUp: boolean
  readonly owner: string | undefined
  readonly isUseVisible: boolean
  readonly isConditionTrue: boolean
  readonly evicted: boolean
}

function live(steps: readonly Step[]): void {
  let at = now
  let mine = facts({ createdAt: now, managedSince: now, lastUsedAt: now })
  let lastMailAt = -Infinity
  const toldDates: TellingFacts[] = []
  for (const step of steps) {
    at += step.waitMs
    const closedAt = step.pull === 'open' ? undefined : (mine.pull?.closedAt ?? at)
    mine = {
      ...mine,
      owner: step.owner,
      isUseVisible: step.isUseVisible,
      isConditionTrue: step.isConditionTrue,
      evictedAt: step.evicted ? (mine.evictedAt ?? at) : undefined,
      mailAt: lastMailAt + day,
      pull: { state: step.pull, isKnown: step.isKnown, closedAt, headChangedAt: now },
      ...(step.use ? { lastUsedAt: at } : {}),
      ...(step.keep === 0 ? { keepUntil: at + 3 * day } : {}),
    }
    for (let round = 0; round < 4; round++) {
      const decision = decideStay(mine, at)
      if ('until' in decision && decision.until !== undefined) expect(decision.until).toBeGreaterThan(at)
      const { announcement } = mine
      if (decision.do === 'announce')
        mine = {
          ...mine,
          announcement: announced({
            reason: decision.reason,
            date: decision.date,
            writtenAt: at - 10_000,
            toldAt: undefined,
            owner: undefined,
            attempts: 0,
          }),
        }
      else if (decision.do === 'withdraw') {
        mine = { ...mine, announcement: undefined }
        toldDates.length = 0
      } else if (decision.do === 'move' && announcement) {
        expect(decision.date).toBeGreaterThan(announcement.date)
        mine = { ...mine, announcement: { ...announcement, date: decision.date } }
      } else if (decision.do === 'tell' && announcement) {
        const isTold = step.isMailUp
        if (isTold) {
          expect(at).toBeGreaterThanOrEqual(lastMailAt + day)
          lastMailAt = at
          toldDates.push({ owner: mine.owner, reason: announcement.reason, date: announcement.date, at })
        }
        mine = {
          ...mine,
          mailAt: lastMailAt + day,
          announcement: {
            ...announcement,
            attempts: announcement.attempts + 1,
            owner: mine.owner,
            toldAt: isTold ? at : undefined,
            retryAt: isTold ? undefined : at + hour,
          },
        }
      } else if (decision.do === 'delete') return checkDeletion(mine, toldDates, at)
      else break
    }
  }
}

interface TellingFacts {
  readonly owner: string | undefined
  readonly reason: string
  readonly date: number
  readonly at: number
}

function checkDeletion(mine: StayFacts, told: readonly TellingFacts[], at: number): void {
  expect(mine.pull?.isKnown).toBe(true)
  const { announcement } = mine
  expect(at).toBeGreaterThanOrEqual(announcement?.date ?? Infinity)
  // Dates that were told stand until they are withdrawn, whatever the reason is by now.
  expect(at).toBeGreaterThanOrEqual(Math.max(0, ...told.map(({ date }) => date)))
  if (announcement?.reason === 'pull-request-closed') return
  const last = told.findLast(({ owner }) => owner === mine.owner)
  expect(last?.reason).toBe(announcement?.reason)
  expect(at).toBeGreaterThanOrEqual((last?.at ?? Infinity) + day)
  expect(at).toBeGreaterThanOrEqual(last?.date ?? Infinity)
}
