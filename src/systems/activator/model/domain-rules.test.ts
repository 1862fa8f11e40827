import { describe, expect, it } from 'vitest'
import { DomainRules, type HeldDomain } from './domain-rules.ts'
import { HostClaims } from './host-claims.ts'

const held = (namespace: string): HeldDomain => ({ namespace, name: 'web', uid: '1', since: 0 })
const rules = (given: { held?: Record<string, string>; grants?: Record<string, string[]>; requireGrant?: boolean }) => {
  const made = new DomainRules({ requireGrant: given.requireGrant ?? false })
  made.use({
    held: new Map(Object.entries(given.held ?? {}).map(([host, namespace]) => [host, held(namespace)])),
    grants: new Map(Object.entries(given.grants ?? {})),
  })
  return made
}

describe('which namespace may have a domain', () => {
  it('76: an older Service with a later claim does not get a domain that is held', () => {
    const claims = new HostClaims(rules({ held: { 'shop.io': 'b' } }))
    const claim = { inner: [], pathPrefix: '/', domains: ['shop.io'] }
    claims.set({ id: 'a/old', uid: '1', createdAt: '2020-01-01T00:00:00Z', ...claim })
    claims.set({ id: 'b/web', uid: '2', createdAt: '2026-01-01T00:00:00Z', ...claim })
    expect([claims.granted('a/old'), claims.granted('b/web')]).toEqual([[], ['shop.io']])
    expect(claims.lost('a/old')).toEqual([{ domain: 'shop.io', owner: 'b/web' }])
  })

  it('77: a wildcard over another namespace’s host is refused', () => {
    const { mayHave } = bound(rules({ held: { 'www.shop.io': 'b' } }))
    expect([mayHave('a', '*.shop.io'), mayHave('a', '*.io'), mayHave('b', '*.shop.io')]).toEqual([false, false, true])
  })

  it('78: a host under another namespace’s wildcard is refused unless it is granted', () => {
    const { mayHave } = bound(rules({ held: { '*.shop.io': 'b' } }))
    expect([mayHave('a', 'x.shop.io'), mayHave('a', 'x.y.shop.io'), mayHave('a', '*.x.shop.io')]).toEqual([
      false,
      false,
      false,
    ])
    expect([mayHave('a', 'shop.io'), mayHave('b', 'x.shop.io')]).toEqual([true, true])
    expect(rules({ held: { '*.shop.io': 'b' }, grants: { a: ['x.shop.io'] } }).mayHave('a', 'x.shop.io')).toBe(true)
  })

  it('80: a domain that was given up stays with its namespace while the claim is stored', () => {
    const claims = new HostClaims(rules({ held: { 'shop.io': 'b' } }))
    claims.set({ id: 'a/x', uid: '1', createdAt: '1', inner: [], pathPrefix: '/', domains: ['shop.io'] })
    expect(claims.granted('a/x')).toEqual([])
    expect(claims.lost('a/x')).toEqual([{ domain: 'shop.io', owner: undefined }])
  })

  it('81: names inside the cluster belong to their namespace, whether a Service claims them or not', () => {
    const { mayHave } = bound(rules({}))
    for (const host of ['web.shop.svc', 'web.shop.svc.cluster.local', '*.shop.svc', '*.svc', '*.svc.cluster.local'])
      expect([host, mayHave('a', host)]).toEqual([host, false])
    expect(mayHave('shop', 'web.shop.svc')).toBe(true)
  })

  it('is the namespace whose annotation reserves it, before a stored claim and before all others', () => {
    const { mayHave } = bound(rules({ held: { 'shop.io': 'a' }, grants: { b: ['shop.io', '*.shop.io'] } }))
    expect([mayHave('a', 'shop.io'), mayHave('b', 'shop.io'), mayHave('a', 'x.shop.io')]).toEqual([false, true, false])
    expect(mayHave('a', '*.io')).toBe(false)
  })

  it('is only one with a grant where grants are required', () => {
    const { mayHave } = bound(rules({ requireGrant: true, grants: { b: ['shop.io'] } }))
    expect([mayHave('a', 'x.io'), mayHave('b', 'shop.io'), mayHave('b', 'x.io')]).toEqual([false, true, false])
  })

  it('leaves the catch-all every host that no other route has', () => {
    expect(rules({ held: { 'shop.io': 'b', '*': 'b' } }).mayHave('a', 'x.io')).toBe(true)
  })
})

function bound(made: DomainRules) {
  return { mayHave: (namespace: string, host: string) => made.mayHave(namespace, host) }
}
