import { describe, expect, it } from 'vitest'
import type { CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import type { Resource } from '../model/resource.ts'
import { day, now, resource } from '../../../../test/janitor/fixtures.ts'
import { compileRules, rules, type Problem } from './rule-tree.ts'

function answer(branches: CleanupPolicySpec['rules'], given: Partial<Resource> = {}) {
  const problems: Problem[] = []
  const tree = compileRules(branches, problems)
  expect(problems).toEqual([])
  return tree({ resource: resource(given), owner: () => 'ann@example.org' }, now)
}

const one = (name: string, parameters: Record<string, unknown> = {}) => [{ rules: [{ name, parameters }] }]
const matches = (branches: CleanupPolicySpec['rules'], given: Partial<Resource> = {}) => answer(branches, given).matches

describe('AgeRule', () => {
  it.each([
    [{}, false],
    [{ moreThanDays: 6 }, false],
    [{ moreThanDays: 5 }, false],
    [{ moreThanDays: 4 }, true],
  ])('C34: answers for five days with %o: %s', (parameters, expected) => {
    expect(matches(one('AgeRule', parameters), { createdAt: now - 5 * day })).toBe(expected)
  })

  it('is undecided without an age', () => {
    const { createdAt: _, ...ageless } = resource()
    const tree = compileRules(one('AgeRule', { moreThanDays: 1 }), [])
    expect(tree({ resource: ageless, owner: () => undefined }, now).matches).toBe('undecided')
  })

  it('matches nothing when the clock went back', () => {
    expect(matches(one('AgeRule', { moreThanDays: 0 }), { createdAt: now + day })).toBe(false)
  })
})

describe('AttributeRule', () => {
  it('C35: never matches without parameters', () => expect(matches(one('AttributeRule'))).toBe(false))

  it.each([
    ['bar foo', 'x', true],
    ['foo bar', 'x', false],
    ['foo bar', 'id', true],
  ])('C36: needs one of several properties: %s / %s', (title, id, expected) => {
    const parameters = { title: 'pattern:^bar', resourceId: 'id' }
    expect(matches(one('AttributeRule', parameters), { name: id, facts: { title } })).toBe(expected)
  })

  it.each([
    [{ imageExists: false }, true],
    [{ imageExists: true }, false],
    [{ load: 1 }, true],
    [{ load: 0 }, false],
    [{ missing: 'x' }, false],
  ])('C37: compares values that are not strings by equality: %o', (parameters, expected) => {
    expect(matches(one('AttributeRule', parameters), { facts: { imageExists: false, load: 1 } })).toBe(expected)
  })

  it('takes everything after the first colon for the pattern', () => {
    expect(matches(one('AttributeRule', { arn: 'pattern:^arn:aws:' }), { facts: { arn: 'arn:aws:x' } })).toBe(true)
  })

  it('finds one of the comma-separated parts', () => {
    expect(matches(one('AttributeRule', { owner: 'b' }), { facts: { owner: 'a, b' } })).toBe(true)
  })

  it('follows paths into an object, dots in keys included', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { labels: { 'app.kubernetes.io/name': 'web' } },
      spec: { type: 'NodePort' },
    }
    expect(matches(one('AttributeRule', { 'spec.type': 'NodePort' }), { object })).toBe(true)
    expect(matches(one('AttributeRule', { 'metadata.labels.app.kubernetes.io/name': 'web' }), { object })).toBe(true)
  })
})

describe('ttl as other tools write it', () => {
  const minute = 60_000
  const expired = (tags: Record<string, string>, ageMs: number) =>
    matches(one('ExpiredResourceRule'), { createdAt: now - ageMs, tags })
  it.each([
    ['sojourn.dev/ttl', '4h', 240],
    ['sojourn.dev/ttl', '30m', 30],
    ['sojourn.dev/ttl', '1d', 1440],
    ['sojourn.dev/ttl', '2w', 20_160],
    ['janitor/ttl', '90m', 90],
    ['cleanup.kyverno.io/ttl', '1h30m', 90],
    ['k8s-ttl-controller.twin.sh/ttl', '1d12h', 2160],
  ])('C65: %s: %s expires %i minutes after the creation', (key, value, minutes) => {
    expect(expired({ [key]: value }, (minutes - 1) * minute)).toBe(false)
    expect(expired({ [key]: value }, minutes * minute)).toBe(true)
  })

  it('C65: counts from refreshed-at where k8s-ttl-controller does', () => {
    const tags = {
      'k8s-ttl-controller.twin.sh/ttl': '1h',
      'k8s-ttl-controller.twin.sh/refreshed-at': new Date(now - 30 * minute).toISOString(),
    }
    expect(expired(tags, 10 * 60 * minute)).toBe(false)
  })

  it.each(['2020-01-01', '2020-01-01T10:30', '2020-01-01T10:30:00Z'])('reads the date janitor/expires: %s', (value) => {
    expect(expired({ 'janitor/expires': value }, minute)).toBe(true)
  })

  it.each([
    ['janitor/ttl', 'forever'],
    ['sojourn.dev/ttl', 'soon'],
    ['sojourn.dev/ttl', '0'],
    ['sojourn.dev/ttl', '-1h'],
    ['janitor/expires', 'next week'],
  ])('never expires: %s: %s', (key, value) => {
    expect(expired({ [key]: value }, 10_000 * 24 * 60 * minute)).not.toBe(true)
  })
})

describe('ExpiredResourceRule', () => {
  it.each([
    [{}, false],
    [{ ttl: '4d' }, false],
    [{ ttl: '2d' }, true],
    [{ expires: '1w' }, false],
    [{ expiration_time: '1m' }, false],
    [{ ttl: '1y' }, false],
    [{ ttl: '2d', expires: 'never' }, false],
    [{ expires: '2026-03-01' }, true],
    [{ expires: '2026-04-01T00:00:00Z' }, false],
    [{ ttl: 'soon' }, 'undecided'],
  ])('C54: at three days of age with %o: %s', (tags, expected) => {
    expect(matches(one('ExpiredResourceRule'), { createdAt: now - 3 * day, tags })).toBe(expected)
  })
})

describe('Expression', () => {
  it.each([
    ['object.metadata.name == "thing" && use.state == "unused"', true],
    ['now - timestamp("2026-03-01T00:00:00Z") > duration("240h")', false],
    ['object.spec.absent == 1', 'undecided'],
    ['has(tags.team) || resource.kind == "ConfigMap"', true],
  ])('%s is %s', (expression, expected) => expect(matches(one('Expression', { expression }))).toBe(expected))

  it('C67: refuses one that gives a string, and names the field that one reads in vain', () => {
    const problems: Problem[] = []
    compileRules(one('Expression', { expression: '"yes"' }), problems)
    expect(problems).toEqual([
      { field: 'spec.rules[0].rules[0].parameters', problem: expect.stringContaining('gives a string') },
    ])
    expect(answer(one('Expression', { expression: 'object.spec.absent == 1' }))).toEqual({
      matches: 'undecided',
      because: 'no such key: spec',
      fault: 'spec.rules[0].rules[0].parameters',
    })
    expect(answer(one('Expression', { expression: 'object.metadata.name' }))).toMatchObject({ matches: 'undecided' })
  })
})

describe('rules of server groups', () => {
  const group = (facts: Record<string, unknown>) => ({ kind: 'serverGroup', facts })
  it.each([
    ['ZeroInstanceRule', {}, { instances: [] }, true],
    ['ZeroInstanceRule', {}, { instances: ['i-1'] }, false],
    ['ZeroInstanceRule', {}, {}, 'undecided'],
    ['ZeroLoadBalancerRule', {}, { loadBalancers: [] }, true],
    ['ZeroLoadBalancerRule', {}, { loadBalancers: ['lb'] }, false],
    ['DisabledLoadBalancerRule', {}, { isDisabled: true, disabledSince: now - 2 * day }, true],
    ['DisabledLoadBalancerRule', { moreThanDays: 3 }, { isDisabled: true, disabledSince: now - 2 * day }, false],
    ['DisabledLoadBalancerRule', { moreThanDays: 1 }, { isDisabled: true, disabledSince: now - 2 * day }, true],
    ['DisabledLoadBalancerRule', { moreThanDays: 1 }, { isDisabled: true }, 'undecided'],
    ['DisabledLoadBalancerRule', {}, { isDisabled: false }, false],
    ['NotInDiscoveryRule', {}, { isOutOfDiscovery: true, outOfDiscoverySince: now - 2 * day }, true],
    ['NotInDiscoveryRule', { moreThanDays: 3 }, { isOutOfDiscovery: true, outOfDiscoverySince: now - 2 * day }, false],
    ['NotInDiscoveryRule', { moreThanDays: 1 }, { isOutOfDiscovery: true, outOfDiscoverySince: now - 2 * day }, true],
    ['NotInDiscoveryRule', {}, { isOutOfDiscovery: false }, false],
    ['NotInDiscoveryRule', {}, {}, 'undecided'],
    [
      'ZeroInstanceDisabledServerGroupRule',
      {},
      { instances: [], isDisabled: true, disabledSince: now - 31 * day },
      true,
    ],
    [
      'ZeroInstanceDisabledServerGroupRule',
      {},
      { instances: [], isDisabled: true, disabledSince: now - 2 * day },
      false,
    ],
    [
      'ZeroInstanceDisabledServerGroupRule',
      {},
      { instances: ['i'], isDisabled: true, disabledSince: now - 31 * day },
      false,
    ],
    [
      'ZeroInstanceInDiscoveryDisabledServerGroupRule',
      {},
      { isOutOfDiscovery: true, isDisabled: true, disabledSince: now - 31 * day },
      true,
    ],
    [
      'ZeroInstanceInDiscoveryDisabledServerGroupRule',
      {},
      { isOutOfDiscovery: false, isDisabled: true, disabledSince: now - 31 * day },
      false,
    ],
  ])('C55: %s %o of %o is %s', (name, parameters, facts, expected) => {
    expect(matches(one(name, parameters), group(facts))).toBe(expected)
  })

  it.each(['OrphanedImageRule', 'OrphanedSnapshotRule', 'OrphanedELBRule'])('%s needs evidence', (name) => {
    const kind = rules[name]?.kinds?.[0] ?? ''
    expect(matches(one(name), { kind, use: { state: 'unused', because: 'x' } })).toBe(true)
    expect(matches(one(name), { kind, use: { state: 'used', by: 'x' } })).toBe(false)
    expect(matches(one(name), { kind, use: { state: 'unknown', because: 'x' } })).toBe('undecided')
  })
})

describe('branches', () => {
  const yes = { name: 'AttributeRule', parameters: { name: 'thing' } }
  const alsoYes = { name: 'AgeRule', parameters: { moreThanDays: 10 } }
  const no = { name: 'AgeRule', parameters: { moreThanDays: 100 } }
  const doubtful = { name: 'Expression', parameters: { expression: 'object.no.such == 1' } }
  const summaries = (branches: CleanupPolicySpec['rules']) => {
    const result = answer(branches)
    return result.matches === true ? result.summaries.map(({ rule }) => rule) : result.matches
  }

  it('C38: names every rule of an OR branch that matches', () =>
    expect(summaries([{ rules: [yes, no, alsoYes] }])).toEqual(['AttributeRule', 'AgeRule']))
  it('C39: needs all rules of an AND branch', () => {
    expect(summaries([{ operator: 'AND', rules: [yes, no, alsoYes] }])).toBe(false)
    expect(summaries([{ operator: 'AND', rules: [yes, alsoYes] }])).toEqual(['AttributeRule', 'AgeRule'])
  })
  it.each([
    [0, false],
    [11, ['AgeRule', 'AttributeRule']],
  ])('C41: honours parameters in OR and AND branches alike: %i days of age', (days, expected) => {
    const older = { name: 'AgeRule', parameters: { moreThanDays: 10 } }
    const result = answer([{ rules: [older] }, { operator: 'AND', rules: [older, yes] }], {
      createdAt: now - days * day,
    })
    expect(result.matches === true ? result.summaries.map(({ rule }) => rule) : result.matches).toEqual(expected)
  })
  it('C40: lists each summary once', () =>
    expect(summaries([{ operator: 'AND', rules: [yes, alsoYes] }, { rules: [yes] }])).toEqual([
      'AttributeRule',
      'AgeRule',
    ]))
  it('is undecided where one rule of an AND branch is', () =>
    expect(summaries([{ operator: 'AND', rules: [yes, doubtful] }])).toBe('undecided'))
  it('a rule that does not match decides an AND branch', () =>
    expect(summaries([{ operator: 'AND', rules: [doubtful, no] }])).toBe(false))
  it('a rule that matches decides an OR branch', () =>
    expect(summaries([{ rules: [doubtful, yes] }])).toEqual(['AttributeRule']))
  it('voids a branch with a rule for another kind', () =>
    expect(summaries([{ rules: [yes, { name: 'ZeroInstanceRule' }] }])).toBe(false))

  it.each([
    [{ name: 'NoSuchRule' }, 'spec.rules[0].rules[0].name', 'unknown rule "NoSuchRule"'],
    [{ name: 'toString' }, 'spec.rules[0].rules[0].name', 'unknown rule "toString"'],
    [
      { name: 'AgeRule', parameters: { moreThan: 3 } },
      'spec.rules[0].rules[0].parameters',
      'unknown parameter moreThan',
    ],
    [{ name: 'AgeRule', parameters: { moreThanDays: 'x' } }, 'spec.rules[0].rules[0].parameters', 'number of days'],
    [{ name: 'AttributeRule', parameters: { name: 'pattern:(' } }, 'spec.rules[0].rules[0].parameters', 'missing'],
    [{ name: 'Expression', parameters: { expression: 'object.' } }, 'spec.rules[0].rules[0].parameters', 'compiled'],
  ])('names the field of %o', (rule, field, problem) => {
    const problems: Problem[] = []
    compileRules([{ rules: [rule] }], problems)
    expect(problems).toEqual([{ field, problem: expect.stringContaining(problem) }])
  })
})
