import { describe, expect, it } from 'vitest'
import type { OwnerStrategySpec } from '../../../apis/cleanup-policy.ts'
import { addressesIn, ownersIn } from '../../../notices/addresses.ts'
import { compileOwner, isNewOwner, currentOwner, type OwnerSources } from './owner.ts'
import { compilePolicy } from './policy.ts'
import type { Resource } from '../model/resource.ts'
import { resource, policyObject } from '../../../../test/janitor/fixtures.ts'

const ownerOf = (
  strategies: OwnerStrategySpec[] | undefined,
  given: Partial<Resource> = {},
  sources: OwnerSources = {},
) => compileOwner(strategies ? { strategies } : undefined, [])(resource(given), sources)?.address

describe('owner', () => {
  it('C29 C32: is the address of a tag', () =>
    expect(ownerOf([{ type: 'Tag' }], { tags: { owner: 'ann@example.org' } })).toBe('ann@example.org'))
  it('C29 C32: is unknown without tags', () => expect(ownerOf([{ type: 'Tag' }])).toBeUndefined())
  it('C33: is the address of the application it is grouped under', () => {
    const strategies: OwnerStrategySpec[] = [{ type: 'Application', values: { web: 'team@example.org' } }]
    expect(ownerOf(strategies, { group: 'web' })).toBe('team@example.org')
    expect(ownerOf(strategies, { group: 'other' })).toBeUndefined()
  })
  it('C31: combines the addresses of all strategies', () =>
    expect(
      ownerOf([{ type: 'Tag' }, { type: 'Application', values: { web: 'team@example.org' } }], {
        tags: { owner: 'ann@example.org' },
        group: 'web',
      }),
    ).toBe('ann@example.org,team@example.org'))
  it('C30: is the address of the primary strategy alone', () =>
    expect(
      ownerOf([{ type: 'Tag' }, { type: 'Application', primary: true, values: { web: 'team@example.org' } }], {
        tags: { owner: 'ann@example.org' },
        group: 'web',
      }),
    ).toBe('team@example.org'))
  it('is read from the namespace where the object has none', () =>
    expect(ownerOf(undefined, {}, { namespaceTags: () => ({ owner: 'shop@example.org' }) })).toBe('shop@example.org'))
  it('is that of the nearest owner reference that has one', () =>
    expect(
      ownerOf(
        [{ type: 'OwnerReference' }],
        {},
        { ownersOf: () => [{ tags: {} }, { tags: { owner: 'a@example.org' } }, { tags: { owner: 'b@example.org' } }] },
      ),
    ).toBe('a@example.org'))
  it('reads the creator from the first managed fields', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        managedFields: [
          { manager: 'later', time: '2026-02-01T00:00:00Z' },
          { manager: 'helm', time: '2026-01-01T00:00:00Z' },
        ],
      },
    }
    expect(ownerOf([{ type: 'Creator', values: { helm: 'deploy@example.org' } }], { object })).toBe(
      'deploy@example.org',
    )
  })
  it('E1: falls back on the default', () =>
    expect(compileOwner({ strategies: [], default: 'ops@example.org' }, [])(resource())).toEqual({
      address: 'ops@example.org',
      source: 'default',
    }))
  it('refuses a default that is not an address', () => {
    const problems: { field: string; problem: string }[] = []
    compileOwner({ default: 'ops' }, problems)
    expect(problems.map(({ field }) => field)).toEqual(['spec.owner.default'])
  })
  it.each([
    ['ann@example.cloud', ['ann@example.cloud']],
    ['ann@example.org, bob@example.org', ['ann@example.org', 'bob@example.org']],
    ['team-a', []],
    ['a@b\r\nBcc: x@y.z', ['x@y.z']],
    ['<ann@example.org>', []],
  ])('reads addresses of %j', (text, expected) => expect(addressesIn(text)).toEqual(expected))
})

describe('74: the owner that a tag names', () => {
  it.each([
    ['ann@example.org', ['ann@example.org']],
    [' ann@example.org\n', ['ann@example.org']],
    ['ann@example.org, bob@example.org', ['ann@example.org', 'bob@example.org']],
    ['ann@example.org\r\nBcc: bob@example.org', []],
    ['ann@example.org\u0000bob@example.org', []],
    ['Ann <ann@example.org>', []],
  ])('is read from a list, and never from a text with control characters: %j', (text, expected) =>
    expect(ownersIn(text)).toEqual(expected),
  )
})

describe('124: the addresses that an annotation names', () => {
  const many = Array.from({ length: 9 }, (_, index) => `u${index}@example.org`)
  it('are at most five, and the rest is refused with a reason; the namespace keeps its own', () => {
    const sources = { namespaceTags: () => ({ owner: 'shop@example.org' }) }
    const owner = compileOwner(undefined, [])(resource({ tags: { owner: many.join() } }), sources)
    expect(owner?.address).toBe([...many.slice(0, 5), 'shop@example.org'].join())
    expect(owner?.source).toBe('Tag (5 of 9 addresses),NamespaceAnnotation')
  })
  it('are one in whatever case', () => {
    expect(ownerOf([{ type: 'Tag' }], { tags: { owner: 'Ann@example.org,ann@example.org' } })).toBe('Ann@example.org')
    const owner = (address: string) => ({ address, source: 'Tag' })
    expect(isNewOwner({ owner: owner('ann@example.org') }, owner('ANN@example.org'))).toBe(false)
  })
})

describe('an owner of something marked', () => {
  const ann = { address: 'ann@example.org', source: 'Tag' }
  const bob = { address: 'bob@example.org', source: 'Tag' }
  const both = { address: 'bob@example.org,ann@example.org', source: 'Tag' }
  const fallback = { address: 'ops@example.org', source: 'default' }

  it.each([
    ['is who is found first', undefined, ann, ann],
    ['is unknown as long as none is found', undefined, undefined, undefined],
    ['changes with the resource', ann, bob, bob],
    ['stays where none is found', ann, undefined, ann],
    ['stays where only the default is found', ann, fallback, ann],
    ['follows the default where it was that', fallback, ann, ann],
  ])('%s', (_, former, found, expected) => expect(currentOwner(former, found)).toEqual(expected))

  it.each([
    [ann, bob, true],
    [ann, both, true],
    [both, ann, false],
    [ann, ann, false],
    [ann, undefined, false],
  ])('%j then %j: a new owner has to be notified: %s', (former, found, expected) =>
    expect(isNewOwner(former ? { owner: former } : {}, found)).toBe(expected),
  )
})

describe('75: links in notices', () => {
  it.each(['docsUrl', 'resourceUrl', 'optOutBaseUrl'])('are http(s): %s', (field) => {
    const given = policyObject({ notification: { channels: [], [field]: 'javascript:alert(1)' } } as never)
    expect(compilePolicy(given)).toMatchObject({ problems: [{ field: `spec.notification.${field}` }] })
  })
})
