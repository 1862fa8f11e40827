import { describe, expect, it } from 'vitest'
import type { ExclusionSpec } from '../../../apis/cleanup-policy.ts'
import { compileExclusions } from './exclusion.ts'
import type { Resource } from '../model/resource.ts'
import type { Problem } from '../rules/rule-tree.ts'
import { resource } from '../../../../test/janitor/fixtures.ts'

function excludedBy(exclusions: readonly ExclusionSpec[], given: Partial<Resource> = {}, owner = 'ann@example.org') {
  const problems: Problem[] = []
  const exclude = compileExclusions(exclusions, problems)
  expect(problems).toEqual([])
  return exclude({ resource: resource(given), owner: () => owner })?.because
}

const exclusion = (type: string, key: string, ...value: unknown[]): ExclusionSpec => ({
  type,
  attributes: [{ key, value }],
})

describe('exclusions', () => {
  it.each([
    ['by value', exclusion('Literal', 'name', 'grant', 'thing'), 'literal'],
    ['by pattern in any field', exclusion('literal', 'namespace', 'pattern:^sh'), 'literal'],
    ['by neither', exclusion('Literal', 'name', 'other'), undefined],
    ['everything', exclusion('Literal', 'name', '\\*'), 'literal'],
  ])('C43: a literal excludes %s', (_, spec, expected) => expect(excludedBy([spec])).toBe(expected))

  it.each([
    ['exact', undefined],
    ['important-one', undefined],
    ['other', 'not-allowlisted'],
  ])('C44: an allowlist includes what it names: %s', (name, expected) =>
    expect(excludedBy([exclusion('Allowlist', 'name', 'exact', 'pattern:^important')], { name })).toBe(expected),
  )

  it('C45: an allowlist needs one matching key, the owner among them', () => {
    const list: ExclusionSpec = {
      type: 'Allowlist',
      attributes: [
        { key: 'name', value: ['x'] },
        { key: 'swabbieResourceOwner', value: ['ann@example.org'] },
      ],
    }
    expect(excludedBy([list])).toBeUndefined()
    expect(excludedBy([list], {}, 'bob@example.org')).toBe('not-allowlisted')
  })

  it('lists of a provider and a type are merged', () =>
    expect(excludedBy([exclusion('Allowlist', 'name', 'a'), exclusion('Allowlist', 'name', 'thing')])).toBeUndefined())

  it('E14: an exclusion beats an allowlist', () =>
    expect(excludedBy([exclusion('Allowlist', 'name', 'thing'), exclusion('Literal', 'name', 'thing')])).toBe(
      'literal',
    ))

  it.each([
    ['test', exclusion('Account', 'name', 'test'), 'account'],
    ['testing', exclusion('Account', 'name', 'test'), undefined],
    ['testing', exclusion('Account', 'name', 'pattern:^test'), 'account'],
    ['other', exclusion('Account', 'type', 'aws'), 'account'],
  ])('C46: account %s by %o: %s', (account, spec, expected) =>
    expect(excludedBy([spec], { provider: 'aws', account })).toBe(expected),
  )

  it.each([
    ['cloudy', exclusion('Application', 'name', 'pattern:^cloud'), 'application'],
    ['acloud', exclusion('Application', 'name', 'pattern:^cloud'), undefined],
    ['web', exclusion('Application', 'email', 'ann@example.org'), 'application'],
  ])('C47: application %s by %o: %s', (group, spec, expected) => expect(excludedBy([spec], { group })).toBe(expected))

  it('C47: does not apply to resources grouped by package', () =>
    expect(
      excludedBy([exclusion('Application', 'name', 'web')], { group: 'web', facts: { grouping: 'package' } }),
    ).toBeUndefined())

  it.each([
    [{ keep: 'yes' }, 'tag'],
    [{ keep: 'true' }, 'tag'],
    [{ keep: 'yes please' }, undefined],
    [{ other: 'yes' }, undefined],
  ])('C48: a tag must be exact: %o', (tags, expected) =>
    expect(excludedBy([exclusion('Tag', 'keep', 'yes', true)], { tags })).toBe(expected),
  )

  it('labels select too', () => {
    const spec: ExclusionSpec = { type: 'LabelSelector', labelSelector: { matchLabels: { app: 'web' } } }
    expect(excludedBy([spec], { labels: { app: 'web' } })).toBe('label')
    expect(excludedBy([spec])).toBeUndefined()
  })

  it.each([
    [exclusion('Nonsense', 'a', 'b'), 'spec.exclusions[0].type'],
    [exclusion('Literal', 'a', 'pattern:['), 'spec.exclusions[0].attributes[0].value'],
    [{ type: 'LabelSelector' }, 'spec.exclusions[0].labelSelector'],
    [{ type: 'Literal' }, 'spec.exclusions[0].attributes'],
  ])('names the field of %o', (spec, field) => {
    const problems: Problem[] = []
    compileExclusions([spec], problems)
    expect(problems.map((problem) => problem.field)).toEqual([field])
  })
})
