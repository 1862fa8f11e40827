import { describe as suite, expect, it } from 'vitest'
import type { CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import type { CleanupPolicySpec } from '../../../apis/cleanup-policy.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { describe, judge } from './judge.ts'
import { KubeResource } from '../kubernetes/kube-resource.ts'
import { ExclusionCache, exclusionCacheFor } from './exclusion-cache.ts'
import { optOutFinder, protectionCheck } from './protection.ts'
import type { Use } from '../model/resource.ts'
import { day, now, policy, judgeContext } from '../../../../test/janitor/fixtures.ts'

const unused: Use = { state: 'unused', because: 'nothing refers to it' }
const used: Use = { state: 'used', by: 'Pod web' }
const owned = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' }] }

function object(name: string, metadata: Partial<StoredObject['metadata']> = {}): StoredObject {
  const creationTimestamp = '2026-02-01T00:00:00Z'
  const given = { name, namespace: 'shop', uid: name, resourceVersion: '1', creationTimestamp, ...metadata }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: given }
}

const objects = [
  object('left'),
  object('kept', { annotations: { 'sojourn.dev/keep': 'true' } }),
  object('never', { labels: { expiration_time: 'never' } }),
  object('lives', { labels: { ttl: '60d' } }),
  object('leaving', { deletionTimestamp: '2026-03-01T00:00:00Z' }),
  object('owned', owned),
  object('owned-left', owned),
  object('system', { namespace: 'kube-system' }),
  object('blue', { labels: { colour: 'blue', owner: 'ann@example.org' } }),
]

const literal = (key: string, value: readonly string[]): Partial<CleanupPolicySpec> => ({
  exclusions: [{ type: 'Literal', attributes: [{ key, value: [...value] }] }],
})

const specs: readonly Partial<CleanupPolicySpec>[] = [
  {},
  { minAge: '31d' },
  { rules: [{ rules: [{ name: 'Unused' }] }] },
  literal('name', ['pattern:left$']),
  literal('tags.colour', ['blue']),
  literal('owner', ['ann@example.org']),
  { exclusions: [{ type: 'Literal', attributes: [{ key: 'inUse', value: [true] }] }] },
  { exclusions: [{ type: 'Allowlist', attributes: [{ key: 'name', value: ['left', 'owned'] }] }] },
  { exclusions: [{ type: 'Allowlist', attributes: [{ key: 'owner', value: ['ann@example.org'] }] }] },
  { exclusions: [{ type: 'LabelSelector', labelSelector: { matchLabels: { colour: 'blue' } } }] },
]

const optOut: CleanupOptOut = {
  apiVersion: 'sojourn.dev/v1alpha1',
  kind: 'CleanupOptOut',
  metadata: object('keep-left').metadata,
  spec: { resource: { kind: 'ConfigMap', namespace: 'shop', name: 'left' }, expiresAt: '2026-04-01T00:00:00Z' },
}
const ann = 'ann@example.org'
const noOptOuts = optOutFinder([])
const circumstances = [
  { use: used, owner: ann, includeOwned: false, optOuts: noOptOuts },
  { use: unused, owner: ann, includeOwned: false, optOuts: noOptOuts },
  { use: unused, owner: '', includeOwned: false, optOuts: noOptOuts },
  { use: unused, owner: ann, includeOwned: true, optOuts: noOptOuts },
  { use: unused, owner: ann, includeOwned: false, optOuts: optOutFinder([optOut]) },
]

suite('a cached exclusion', () => {
  it.each(specs)(
    'is the verdict of a judgement, whatever the time, the use, the owner, the target and the opt-outs: %o',
    (spec) => {
      const compiled = policy(spec)
      const exclusions = new ExclusionCache(compiled)
      for (const at of [now, now + 10 * day, now + 100 * day])
        for (const { use, owner, includeOwned, optOuts } of circumstances)
          for (const each of objects) {
            const resource = new KubeResource(each, { cluster: '', includeOwned, detect: () => use })
            const around = judgeContext({ protection: protectionCheck(optOuts, at), now: at })
            const owners = { namespaceTags: () => ({ owner }) }
            const judged = judge(describe(resource, compiled, owners), compiled, around)
            expect(exclusions.verdict(resource, optOuts) ?? judged).toEqual(judged)
          }
    },
  )

  it('is worked out once per version of an object', () => {
    const compiled = policy(literal('name', ['left']))
    const resource = (version: StoredObject) =>
      new KubeResource(version, { cluster: '', includeOwned: false, detect: () => unused })
    const [left] = objects
    if (!left) throw new Error('no object')
    const first = exclusionCacheFor(compiled, 'kubernetes').verdict(resource(left), noOptOuts)
    expect(first).toMatchObject({ is: 'excluded', because: 'literal' })
    expect(exclusionCacheFor(compiled, 'kubernetes').verdict(resource(left), noOptOuts)).toBe(first)
    const kept = { ...left, metadata: { ...left.metadata, labels: { 'sojourn.dev/keep': '' } } }
    expect(exclusionCacheFor(compiled, 'kubernetes').verdict(resource(kept), noOptOuts)).toMatchObject({
      because: 'keep-mark',
    })
  })
})
