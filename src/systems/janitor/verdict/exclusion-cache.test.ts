import * as fc from 'fast-check'
import { describe as suite, expect, it } from 'vitest'
import type { CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import type { CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { formatTime } from '../../../kube/time.ts'
import { ExclusionCache } from './exclusion-cache.ts'
import { describe, judge } from './judge.ts'
import { KubeResource } from '../kubernetes/kube-resource.ts'
import { optOutFinder, protectionCheck } from './protection.ts'
import type { Use } from '../model/resource.ts'
import { day, hour, now, policy, judgeContext } from '../../../../test/janitor/fixtures.ts'

const unused: Use = { state: 'unused', because: 'nothing refers to it' }

function object(name: string, metadata: Partial<StoredObject['metadata']> = {}): StoredObject {
  const given = { name, namespace: 'shop', uid: name, resourceVersion: '1', creationTimestamp: formatTime(now) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...given, ...metadata } }
}

function optOutOf(name: string, expiresAt: number): CleanupOptOut {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupOptOut',
    metadata: object(`keep-${name}`).metadata,
    spec: { resource: { kind: 'ConfigMap', namespace: 'shop', name }, expiresAt: formatTime(expiresAt) },
  }
}

const variants: readonly Partial<StoredObject['metadata']>[] = [
  {},
  { annotations: { 'sojourn.dev/keep': 'true' } },
  { labels: { ttl: '3d' } },
  { labels: { expires: formatTime(now + 5 * day) } },
  { labels: { expiration_time: 'never' } },
  { labels: { ttl: 'soon' } },
  { labels: { colour: 'blue' } },
  { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' }] },
  { creationTimestamp: 'unknown' },
  { creationTimestamp: formatTime(now - 30 * day) },
  { deletionTimestamp: formatTime(now) },
]

const specs: readonly Partial<CleanupPolicySpec>[] = [
  { minAge: '2d' },
  { minAge: '0', exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['pattern:^b'] }] }] },
  { minAge: '4d', unusedFor: '1h' },
  { minAge: '1h', exclusions: [{ type: 'Allowlist', attributes: [{ key: 'owner', value: ['ann@example.org'] }] }] },
]

const name = fc.integer({ min: 0, max: 15 }).map((index) => 'abcdefghijklmnop'.charAt(index))

/** What may happen between two cycles. */
const change = fc.oneof(
  fc.record({ put: name, variant: fc.constantFrom(...variants) }),
  fc.record({ remove: name }),
  fc.record({ optOut: name, days: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ mark: name }),
  fc.record({ pass: fc.integer({ min: 1, max: 48 }) }),
  fc.constant({ relist: true }),
)

suite('a resource that the exclusion cache skips', () => {
  it.each(specs)('would be excluded by a judgement and has no mark, whatever happens between cycles: %o', (spec) => {
    const compiled = policy({ rules: [{ rules: [{ name: 'Unused' }] }], ...spec })
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 4 }), { minLength: 2, maxLength: 12 }), (rounds) => {
        const exclusions = new ExclusionCache(compiled)
        const objects = new Map(variants.map((variant, index) => [`x${index}`, object(`x${index}`, variant)]))
        const marked = new Set<string>()
        let optOuts: readonly CleanupOptOut[] = []
        let at = now
        for (const changes of rounds) {
          for (const each of changes) {
            if ('put' in each) objects.set(each.put, object(each.put, each.variant))
            if ('remove' in each) objects.delete(each.remove)
            if ('optOut' in each) optOuts = [...optOuts, optOutOf(each.optOut, at + each.days * day)]
            if ('mark' in each) marked.add(each.mark)
            if ('pass' in each) at += each.pass * hour
            if ('relist' in each)
              for (const [name, former] of [...objects].toReversed()) {
                objects.delete(name)
                objects.set(name, { ...former })
              }
          }
          const list = [...objects.values()]
          const toResource = (each: StoredObject) =>
            each.metadata.name === 'x3'
              ? undefined
              : new KubeResource(each, { cluster: '', includeOwned: false, detect: () => unused })
          exclusions.noteMarks(new Set(marked))
          const divided = exclusions.divide('list', list, { toResource, now: at })
          const around = judgeContext({ protection: protectionCheck(optOutFinder(optOuts), at), now: at })
          const verdictOf = (resource: KubeResource) =>
            judge(
              describe(resource, compiled, { namespaceTags: () => ({ owner: 'ann@example.org' }) }),
              compiled,
              around,
            )
          const all = list.map(toResource).filter((resource) => resource !== undefined)
          const left = new Set(divided.resources.map(({ uid }) => uid))
          expect(divided.resources.length + divided.skipped).toBe(all.length)
          for (const resource of all.filter(({ uid }) => !left.has(uid))) {
            expect(verdictOf(resource)).toMatchObject({ is: 'excluded' })
            expect(marked).not.toContain(resource.uid)
          }
        }
      }),
      { numRuns: 150 },
    )
  })

  it('is not looked at again until its time comes or its object changes', () => {
    const exclusions = new ExclusionCache(policy({ minAge: '2d' }))
    let asked: string[] = []
    const look = (list: readonly StoredObject[], at: number) => {
      asked = []
      exclusions.noteMarks(new Set())
      return exclusions.divide('list', list, {
        toResource: (each) => {
          asked.push(each.metadata.name)
          return new KubeResource(each, { cluster: '', includeOwned: false, detect: () => unused })
        },
        now: at,
      })
    }
    const list = Array.from({ length: 100 }, (_, index) => object(`c${index}`))
    expect(look(list, now)).toMatchObject({ resources: [], skipped: 100 })
    expect(asked).toHaveLength(100)
    const [first, , ...others] = list
    if (!first) throw new Error('no object')
    const changed = { ...first, metadata: { ...first.metadata, creationTimestamp: formatTime(now - 3 * day) } }
    const divided = look([changed, ...others], now + hour)
    expect([divided.resources.map(({ name }) => name), divided.skipped, asked]).toEqual([['c0'], 98, ['c0']])
    expect(look([changed, ...others], now + 2 * day)).toMatchObject({ skipped: 0 })
    expect(asked).toHaveLength(99)
  })

  it('does not exist where use is recorded over time: a resource excluded today may be judged by its use tomorrow', () => {
    const list = [object('kept', { annotations: { 'sojourn.dev/keep': 'true' } })]
    const divide = (spec: Partial<CleanupPolicySpec>) =>
      new ExclusionCache(policy(spec)).divide('list', list, {
        toResource: (each) => new KubeResource(each, { cluster: '', includeOwned: false, detect: () => unused }),
        now,
      }).skipped
    expect([divide({}), divide({ unusedFor: '7d' })]).toEqual([1, 0])
  })
})
