import { describe as suite, expect, it } from 'vitest'
import type { CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import { describe, judge, noHistory, type JudgeContext } from './judge.ts'
import { compilePolicy } from '../policy/policy.ts'
import type { Resource } from '../model/resource.ts'
import { day, now, policy, policyObject, resource, judgeContext } from '../../../../test/janitor/fixtures.ts'

function verdict(spec: Partial<CleanupPolicySpec>, given: Partial<Resource> = {}, around: Partial<JudgeContext> = {}) {
  const compiled = policy(spec)
  const { is, ...rest } = judge(describe(resource(given), compiled, {}), compiled, judgeContext(around))
  return 'because' in rest ? `${is}: ${rest.because}` : is
}

suite('judge', () => {
  it.each([
    ['violates what a rule matches', {}, {}, 'violating'],
    [
      'spares what carries never, whatever its rules',
      {},
      { tags: { expiration_time: 'never' } },
      'excluded: never-expires',
    ],
    [
      'C49: spares what is not past its own ttl',
      {},
      { createdAt: now - 10 * day, tags: { expiration_time: '10d' } },
      'excluded: ttl-not-over',
    ],
    [
      'C49: does not spare what is past it',
      {},
      { createdAt: now - 10 * day, tags: { expiration_time: '9d' } },
      'violating',
    ],
    ['C68: keeps what has a ttl that cannot be read', {}, { tags: { ttl: 'soon' } }, 'excluded: ttl-malformed'],
    ['leaves what is young', { minAge: '14d' }, { createdAt: now - 13 * day }, 'excluded: too-young'],
    [
      'E25: leaves what its provider protects',
      {},
      { shield: { because: 'owned' as const, detail: 'Deployment web' } },
      'excluded: owned',
    ],
    [
      'excludes before it judges age',
      { exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['thing'] }] }] },
      {},
      'excluded: literal',
    ],
    ['needs no use for an age rule', {}, { use: { state: 'unknown' as const, because: 'x' } }, 'violating'],
  ])('%s', (_, spec, given, expected) => expect(verdict(spec, given)).toBe(expected))

  it('excludes what the door would refuse, even if its ttl has expired', () => {
    const protection = () => ({ because: 'opted-out' as const })
    expect(
      verdict({ rules: [{ rules: [{ name: 'ExpiredResourceRule' }] }] }, { tags: { ttl: '1d' } }, { protection }),
    ).toBe('excluded: opted-out')
  })

  it('excludes what is being deleted', () => {
    const object = {
      ...resource().object,
      metadata: { ...resource().object.metadata, deletionTimestamp: '2026-03-01T00:00:00Z' },
    }
    expect(verdict({}, { object })).toBe('excluded: being-deleted')
  })

  suite('without a creation date', () => {
    const { createdAt: _, ...ageless } = resource()
    const judged = (ledger: JudgeContext['ledger']) => {
      const compiled = policy({ minAge: '5d' })
      return judge(describe(ageless, compiled, {}), compiled, judgeContext({ ledger }))
    }
    it('E28: decides nothing', () => expect(judged(noHistory)).toEqual({ is: 'unknown', because: 'age-unknown' }))
    it('E28: counts from when it was first seen', () => {
      expect(judged({ ...noHistory, firstSeen: () => now - 4 * day }).is).toBe('excluded')
      expect(judged({ ...noHistory, firstSeen: () => now - 6 * day }).is).toBe('violating')
    })
  })

  suite('use over time', () => {
    const spec = { unusedFor: '30d', rules: [{ rules: [{ name: 'Unused' }] }] }
    const tracked = (since: number, seen?: number): Partial<JudgeContext> => ({
      ledger: {
        trackingSince: since,
        firstSeen: () => undefined,
        lastSeenUsed: () => (seen === undefined ? undefined : { at: seen, by: 'Pod x' }),
      },
    })
    const old = { createdAt: now - 90 * day }
    it.each([
      ['decides nothing while use is not followed', old, {}, 'unknown: use-not-followed-long-enough'],
      [
        'decides nothing before it was followed for long',
        old,
        tracked(now - 29 * day),
        'unknown: use-not-followed-long-enough',
      ],
      ['violates after that', old, tracked(now - 30 * day), 'violating'],
      ['keeps what was seen in use since', old, tracked(now - 60 * day, now - 29 * day), 'compliant: recently-used'],
      ['lets it go after that', old, tracked(now - 60 * day, now - 31 * day), 'violating'],
      [
        'keeps what is in use',
        { ...old, use: { state: 'used' as const, by: 'x' } },
        tracked(now - 60 * day),
        'compliant: no-rule-matches',
      ],
      [
        'decides nothing on unknown use',
        { ...old, use: { state: 'unknown' as const, because: 'x' } },
        tracked(now - 60 * day),
        'unknown: use-unknown',
      ],
      [
        'believes a provider that says since when',
        { ...old, use: { state: 'unused' as const, because: 'finished', since: now - 31 * day } },
        {},
        'violating',
      ],
      [
        'and waits until then',
        { ...old, use: { state: 'unused' as const, because: 'finished', since: now - 3 * day } },
        {},
        'compliant: recently-used',
      ],
    ])('%s', (_, given, around, expected) => expect(verdict(spec, given, around)).toBe(expected))
  })

  it.each([
    [{ minAge: 'soon' }, 'spec.minAge'],
    [{ retention: { duration: '1d', businessDays: 2 } }, 'spec.retention'],
    [{ targets: [{}] }, 'spec.targets[0]'],
    [{ notification: { remindBefore: ['x'] } }, 'spec.notification.remindBefore[0]'],
    [
      { exclusions: [{ type: 'Literal', attributes: [{ key: 'a', value: ['pattern:('] }] }] },
      'spec.exclusions[0].attributes[0].value',
    ],
  ])('names the field of %o', (spec, field) => {
    const compiled = compilePolicy(policyObject(spec))
    expect('problems' in compiled && compiled.problems.map((problem) => problem.field)).toEqual([field])
  })
})
