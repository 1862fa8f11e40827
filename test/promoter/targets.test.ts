import { describe, expect, it } from 'vitest'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../src/apis/pipeline.ts'
import { TransportError } from '../../src/client/transport-error.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { explainPipeline } from '../../src/queries/explain-pipeline.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { TargetObserver } from '../../src/systems/promoter/targets/target-observer.ts'
import { planOf } from '../../src/systems/promoter/model/plan.ts'
import { environments } from './world.ts'
import { condition, conditionOf, events, helmRelease, kustomization, TestCluster, TestPromoter } from './cluster.ts'
import { addLeaf, phase, remote, specOf, target, useClusters } from './clusters.ts'

const on = useClusters()

describe('targets', () => {
  it('C1 C2 C3 C4 C6 C7 C13: in an unknown cluster are not readable, then unready, then read once the cluster is there', async () => {
    await on.test.pipeline('app', specOf({ environments: remote }))
    const missing = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotFound')
    expect(conditionOf(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
    expect(conditionOf(missing, 'Ready')?.message).toContain('team/leaf')
    await on.leaf.release('apps', '1.0.0')
    await addLeaf(on, 'leaf', false)
    const unready = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotReady')
    expect(conditionOf(unready, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
    const cluster = await on.home.client.get(gitopsCluster.type, { namespace: 'team', name: 'leaf' })
    await on.home.client.update(
      gitopsCluster.type,
      { ...cluster, status: { conditions: [condition('Ready', true)] } },
      { subresource: 'status' },
    )
    const ready = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(ready, 'dev')).toMatchObject({
      ready: true,
      revision: '1.0.0',
      cluster: 'team/leaf',
      clusterAppRef: { clusterRef: { name: 'leaf' } },
    })
    expect(conditionOf(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'ReconciliationSucceeded' })
    const reasons = async () =>
      (await on.home.client.list(events, { namespace: 'team' })).items.map((event) => event['reason'])
    await expect.poll(reasons).toEqual(expect.arrayContaining(['GetClusterError', 'Updated']))
  })

  it.each([
    ['HelmRelease', helmRelease, { history: [{ version: 1, status: 'deployed', chartVersion: '2.0.0' }] }],
    ['Kustomization', kustomization, { lastAppliedRevision: '2.0.0' }],
  ])(
    'C5 C8 C9 C10 C11 C12: of kind %s are missing, then there, then ready, each seen by watch',
    async (kind, type, applied) => {
      await on.home.namespace('dev')
      const appRef = { apiVersion: `${type.group}/${type.version}`, kind, name: 'app' }
      await on.test.pipeline('app', specOf({ appRef, environments: environments('dev') }))
      const missing = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'NotFound')
      expect(conditionOf(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
      expect(target(missing, 'dev')?.error).toContain('not found')
      await on.home.app(type, { namespace: 'dev', name: 'app' })
      const there = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'RevisionUnknown')
      expect(conditionOf(there, 'Ready')).toMatchObject({ status: 'True' })
      expect(target(there, 'dev')).not.toHaveProperty('error')
      await on.home.app(type, { namespace: 'dev', name: 'app' }, { conditions: [condition('Ready', true)], ...applied })
      const ready = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.ready)
      expect(target(ready, 'dev')).toMatchObject({ revision: '2.0.0', reason: 'Found' })
    },
  )

  it('N29: tell a missing namespace, kind and permission apart, and a kind that comes later is picked up', async () => {
    await on.test.pipeline('app', specOf({ environments: environments('nowhere') }))
    await on.test.until('app', (pipeline) => target(pipeline, 'nowhere')?.reason === 'NamespaceNotFound')
    const widget = { ...helmRelease, group: 'acme.test', version: 'v1', kind: 'Widget', plural: 'widgets' }
    await on.home.namespace('dev')
    const spec = specOf({
      appRef: { apiVersion: 'acme.test/v1', kind: 'Widget', name: 'app' },
      environments: environments('dev'),
    })
    await on.test.pipeline('widget', {
      ...spec,
      adapter: { healthy: 'self.status.fine', revision: 'self.status.build' },
    })
    await on.test.until('widget', (pipeline) => target(pipeline, 'dev')?.reason === 'KindNotFound')
    await on.home.install(widget)
    await on.home.app(widget, { namespace: 'dev', name: 'app' }, { fine: true, build: 'b7' })
    const found = await on.test.until('widget', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(found, 'dev')).toMatchObject({ ready: true, revision: 'b7' })
  }, 40_000)

  it('of a version that is served no more are read in the served one, and that is said', async () => {
    await on.home.release('dev', '1.1.0')
    const appRef = { apiVersion: 'helm.toolkit.fluxcd.io/v2beta1', kind: 'HelmRelease', name: 'app' }
    await on.test.pipeline('app', specOf({ appRef, environments: environments('dev') }))
    const read = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.ready)
    const served =
      'helm.toolkit.fluxcd.io/v2beta1 is not served here; set appRef.apiVersion to helm.toolkit.fluxcd.io/v2'
    expect(target(read, 'dev')).toMatchObject({ revision: '1.1.0', message: expect.stringContaining(served) })
    expect(explainPipeline(read as Pipeline & StoredObject).join('\n')).toContain(served)
  })

  it('that are suspended say so, before and after their controller has seen it', async () => {
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    const place = { namespace: 'prod', name: 'app' }
    await on.home.client.patch(helmRelease, place, { type: 'merge', body: { spec: { suspend: true } } })
    await on.test.pipeline('app', specOf())
    const message = 'its spec.suspend is true, so that no new revision is applied'
    const stale = await on.test.until('app', (pipeline) => target(pipeline, 'prod')?.reason === 'Stale')
    expect(target(stale, 'prod')).toMatchObject({ ready: false, message })
    const waiting = await on.test.until('app', (pipeline) => conditionOf(pipeline, 'PromotionPending'))
    expect(conditionOf(waiting, 'PromotionPending')?.message).toContain(message)
    const { metadata, ...rest } = await on.home.client.get<StoredObject>(helmRelease, place)
    const status = { ...(rest.status as object), observedGeneration: metadata.generation }
    await on.home.client.update(helmRelease, { ...rest, metadata, status }, { subresource: 'status' })
    const ready = await on.test.until('app', (pipeline) => target(pipeline, 'prod')?.reason === 'Found')
    expect(target(ready, 'prod')).toMatchObject({ ready: true, message })
  })

  it('whose expression fails say so and count as unreadable', async () => {
    await on.home.release('dev', '1.0.0')
    await on.test.pipeline(
      'app',
      specOf({ environments: environments('dev'), adapter: { healthy: 'self.status.nothing == 1' } }),
    )
    const invalid = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Invalid')
    expect(target(invalid, 'dev')?.message).toContain('adapter.healthy')
  })

  it.each<[string, Transport]>([
    ['refused', () => Promise.reject(new TransportError('connect ECONNREFUSED 10.0.0.1:6443'))],
    [
      'swallowed',
      ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    ],
    ['not trusted', () => Promise.reject(new TransportError('self-signed certificate in certificate chain'))],
  ])(
    'N5 N6: of a cluster whose connections are %s block only their own pipeline, and heal by themselves',
    async (_, down) => {
      on.leaf.down = down
      await addLeaf(on)
      await on.leaf.server.transport({ method: 'GET', path: '/version' })
      await on.test.pipeline('far', specOf({ environments: [...remote, ...environments('prod')] }))
      await on.home.release('dev', '1.1.0')
      await on.home.release('prod', '1.0.0')
      await on.test.pipeline('near', specOf())
      await on.test.until('near', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
      const blocked = await on.test.until('far', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterUnreachable')
      expect(blocked.status?.run).toBeUndefined()
      on.leaf.down = undefined
      await on.leaf.release('apps', '2.0.0')
      await on.test.until('far', (pipeline) => target(pipeline, 'dev')?.revision === '2.0.0')
      await on.leaf.release('apps', '2.1.0')
      await on.test.until('far', (pipeline) => target(pipeline, 'dev')?.revision === '2.1.0')
    },
  )

  it('N29: that may not be read are forbidden, and nothing else', async () => {
    const bob = on.leaf.server.transportAs({ name: 'bob', groups: ['system:authenticated'] })
    await on.test.stop()
    on.test = new TestPromoter(on.home, { leaf: { transport: bob } as TestCluster })
    await addLeaf(on)
    await on.leaf.release('apps', '1.0.0')
    await on.test.pipeline('app', specOf({ environments: remote }))
    const forbidden = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Forbidden')
    expect(conditionOf(forbidden, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
  })

  it('N8: whose cluster is deleted in the middle of a run hold the run, and its record stays', async () => {
    await addLeaf(on)
    await on.leaf.release('apps', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline(
      'app',
      specOf({
        environments: [...remote, ...environments('prod')],
        promotion: { strategy: { notification: {} }, manual: true },
      }),
    )
    const before = await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'AwaitingApproval')
    await on.home.client.deleteObject(gitopsCluster.type, { namespace: 'team', name: 'leaf' })
    const after = await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotFound')
    expect(after.status?.environments?.['prod']?.promotion?.id).toBe(
      before.status?.environments?.['prod']?.promotion?.id,
    )
    expect(after.status?.run).toMatchObject({ revision: '1.1.0', phase: 'Running' })
  })

  it('N7: are read with rotated credentials at once, and nothing is left open with the old ones', async () => {
    await addLeaf(on)
    await on.leaf.release('apps', '1.0.0')
    await on.test.pipeline('app', specOf({ environments: remote }))
    await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    const other = await TestCluster.start()
    try {
      await other.release('apps', '3.0.0')
      await on.test.stop()
      on.test = new TestPromoter(on.home, { leaf: on.leaf, other })
      await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '1.0.0')
      await expect.poll(() => on.leaf.watching).toBeGreaterThan(0)
      await on.home.secret('team', 'leaf-kubeconfig', { kubeconfig: 'other' })
      await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '3.0.0')
      await expect.poll(() => on.leaf.watching, { timeout: 10_000 }).toBe(0)
      await other.release('apps', '3.1.0')
      await on.test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '3.1.0')
    } finally {
      await on.test.stop()
      await other.close()
      on.test = new TestPromoter(on.home, { leaf: on.leaf })
    }
  })

  it('that change are told of to the pipelines that use them, in this cluster, and to no others', async () => {
    await addLeaf(on)
    const told = new Set<string>()
    const observer = new TargetObserver({
      clusters: on.test.clusters,
      clock: systemClock,
      onChange: (pipelines) => {
        for (const pipeline of pipelines) told.add(pipeline)
      },
    })
    const plans = {
      one: specOf({ environments: environments('apps') }),
      same: specOf({ environments: environments('apps') }),
      elsewhere: specOf({ environments: remote }),
      other: specOf({ environments: environments('apps'), appRef: { ...specOf().appRef, name: 'other' } }),
    }
    await on.home.release('apps', '1.0.0')
    await on.home.release('apps', '1.0.0', { name: 'other' })
    await on.leaf.release('apps', '1.0.0')
    const read = (name: keyof typeof plans) => {
      const plan = planOf(plans[name], 'team')
      observer.follow(name, plan, undefined)
      return observer.read(name, plan.environments[0]!.targets[0]!).revision
    }
    const names = Object.keys(plans) as (keyof typeof plans)[]
    await expect.poll(() => names.map(read), { timeout: 20_000 }).toEqual(names.map(() => '1.0.0'))
    told.clear()
    await on.home.release('apps', '1.1.0')
    await expect.poll(() => names.map(read)).toEqual(['1.1.0', '1.1.0', '1.0.0', '1.0.0'])
    expect([...told].toSorted()).toEqual(['one', 'same'])
    observer.close()
  })

  it('C19 C20 C21: are followed while a pipeline uses them, and no longer', async () => {
    await on.home.release('dev', '1.0.0')
    const spec = specOf({ environments: environments('dev') })
    await on.test.pipeline('one', spec)
    await on.test.pipeline('two', spec)
    await on.test.pipeline('odd', { ...spec, appRef: { apiVersion: 'acme.test/v1', kind: 'Unknown', name: 'x' } })
    await on.test.until('two', (pipeline) => target(pipeline, 'dev')?.ready)
    await on.test.until('odd', (pipeline) => target(pipeline, 'dev')?.reason === 'KindNotFound')
    await on.test.until('one', (pipeline) => target(pipeline, 'dev')?.ready)
    expect(on.test.promoter.observer.size).toBe(2)
    for (const [name, left] of [
      ['one', 2],
      ['odd', 1],
      ['two', 0],
    ] as const) {
      await on.home.client.deleteObject(pipelineKind.type, { namespace: 'team', name })
      await expect.poll(() => on.test.promoter.observer.size).toBe(left)
    }
  })
})
