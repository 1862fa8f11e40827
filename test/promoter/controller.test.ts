import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import {
  pipeline as pipelineKind,
  type Pipeline,
  type PipelineSpec,
  type PullRequestSpec,
} from '../../src/apis/pipeline.ts'
import { TransportError } from '../../src/client/transport-error.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { environments, pipelineOf } from '../../src/systems/promoter/testing.ts'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import {
  condition,
  conditionOf,
  configMaps,
  events,
  helmRelease,
  kustomization,
  TestCluster,
  TestPromoter,
} from './cluster.ts'
import { manifest } from './stage.ts'

let forge: ForgeServer
let home: TestCluster
let leaf: TestCluster
let test: TestPromoter
let count = 0

beforeAll(async () => void (forge = await ForgeServer.start()))
beforeEach(async () => {
  home = await TestCluster.start()
  leaf = await TestCluster.start()
  test = new TestPromoter(home, { leaf })
})
afterEach(async () => {
  await test.stop()
  await Promise.all([home.close(), leaf.close()])
})
afterAll(() => forge.close())

const notification = { promotion: { strategy: { notification: {} } } }
const target = (pipeline: Pipeline, environment: string, index = 0) =>
  pipeline.status?.environments?.[environment]?.targets?.[index]
const phase = (pipeline: Pipeline, environment: string) =>
  pipeline.status?.environments?.[environment]?.promotion?.phase

function specOf(over: Partial<PipelineSpec> = {}): PipelineSpec {
  return pipelineOf({ ...notification, environments: environments('dev', 'prod'), ...over }).spec
}

const remote = [
  { name: 'dev', targets: [{ namespace: 'apps', clusterRef: { kind: 'GitopsCluster' as const, name: 'leaf' } }] },
]

async function addLeaf(kubeconfig = 'leaf', ready = true): Promise<void> {
  await home.secret('team', 'leaf-kubeconfig', { kubeconfig })
  const object = {
    apiVersion: gitopsCluster.apiVersion,
    kind: 'GitopsCluster',
    metadata: { namespace: 'team', name: 'leaf' },
    spec: { secretRef: { name: 'leaf-kubeconfig' } },
  }
  const created = await home.client.create(gitopsCluster.type, object)
  await home.client.update(
    gitopsCluster.type,
    { ...created, status: { conditions: [condition('Ready', ready)] } },
    { subresource: 'status' },
  )
}

/** A pipeline by pull request on a repository of its own. */
async function withRepository(over: Partial<PipelineSpec> = {}, names = ['dev', 'prod']) {
  const name = `repo-${++count}`
  const repository = await forge.createRepository(name)
  await repository.commit(
    'main',
    Object.fromEntries(names.slice(1).map((each) => [`${each}/app.yaml`, manifest(each, '1.0.0')])),
  )
  await home.secret('team', 'git', {
    username: forgeUser,
    password: forgePassword,
    token: forgeToken,
    caFile: forge.ca,
  })
  const strategy = {
    'pull-request': {
      type: 'gitea' as const,
      url: forge.url('gitea', name),
      baseBranch: 'main',
      secretRef: { name: 'git' },
    },
  }
  const pulls = () => forge.pulls.all.filter((pull) => pull.repository === name)
  return { repository, pulls, spec: specOf({ environments: environments(...names), promotion: { strategy }, ...over }) }
}

describe('targets', () => {
  it('C1 C2 C3 C4 C6 C7 C13: in an unknown cluster are not readable, then unready, then read once the cluster is there', async () => {
    await test.pipeline('app', specOf({ environments: remote }))
    const missing = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotFound')
    expect(conditionOf(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
    expect(conditionOf(missing, 'Ready')?.message).toContain('team/leaf')
    await leaf.release('apps', '1.0.0')
    await addLeaf('leaf', false)
    const unready = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotReady')
    expect(conditionOf(unready, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
    const cluster = await home.client.get(gitopsCluster.type, { namespace: 'team', name: 'leaf' })
    await home.client.update(
      gitopsCluster.type,
      { ...cluster, status: { conditions: [condition('Ready', true)] } },
      { subresource: 'status' },
    )
    const ready = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(ready, 'dev')).toMatchObject({
      ready: true,
      revision: '1.0.0',
      cluster: 'team/leaf',
      clusterAppRef: { clusterRef: { name: 'leaf' } },
    })
    expect(conditionOf(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'ReconciliationSucceeded' })
    const reasons = async () =>
      (await home.client.list(events, { namespace: 'team' })).items.map((event) => event['reason'])
    await expect.poll(reasons).toEqual(expect.arrayContaining(['GetClusterError', 'Updated']))
  })

  it.each([
    ['HelmRelease', helmRelease, { history: [{ version: 1, status: 'deployed', chartVersion: '2.0.0' }] }],
    ['Kustomization', kustomization, { lastAppliedRevision: '2.0.0' }],
  ])(
    'C5 C8 C9 C10 C11 C12: of kind %s are missing, then there, then ready, each seen by watch',
    async (kind, type, applied) => {
      await home.namespace('dev')
      const appRef = { apiVersion: `${type.group}/${type.version}`, kind, name: 'app' }
      await test.pipeline('app', specOf({ appRef, environments: environments('dev') }))
      const missing = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'NotFound')
      expect(conditionOf(missing, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
      expect(target(missing, 'dev')?.error).toContain('not found')
      await home.app(type, { namespace: 'dev', name: 'app' })
      const there = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'RevisionUnknown')
      expect(conditionOf(there, 'Ready')).toMatchObject({ status: 'True' })
      expect(target(there, 'dev')).not.toHaveProperty('error')
      await home.app(type, { namespace: 'dev', name: 'app' }, { conditions: [condition('Ready', true)], ...applied })
      const ready = await test.until('app', (pipeline) => target(pipeline, 'dev')?.ready)
      expect(target(ready, 'dev')).toMatchObject({ revision: '2.0.0', reason: 'Found' })
    },
  )

  it('N29: tell a missing namespace, kind and permission apart, and a kind that comes later is picked up', async () => {
    await test.pipeline('app', specOf({ environments: environments('nowhere') }))
    await test.until('app', (pipeline) => target(pipeline, 'nowhere')?.reason === 'NamespaceNotFound')
    const widget = { ...helmRelease, group: 'acme.test', version: 'v1', kind: 'Widget', plural: 'widgets' }
    await home.namespace('dev')
    const spec = specOf({
      appRef: { apiVersion: 'acme.test/v1', kind: 'Widget', name: 'app' },
      environments: environments('dev'),
    })
    await test.pipeline('widget', { ...spec, adapter: { healthy: 'self.status.fine', revision: 'self.status.build' } })
    await test.until('widget', (pipeline) => target(pipeline, 'dev')?.reason === 'KindNotFound')
    await home.install(widget)
    await home.app(widget, { namespace: 'dev', name: 'app' }, { fine: true, build: 'b7' })
    const found = await test.until('widget', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(found, 'dev')).toMatchObject({ ready: true, revision: 'b7' })
  }, 40_000)

  it('whose expression fails say so and count as unreadable', async () => {
    await home.release('dev', '1.0.0')
    await test.pipeline(
      'app',
      specOf({ environments: environments('dev'), adapter: { healthy: 'self.status.nothing == 1' } }),
    )
    const invalid = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Invalid')
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
      leaf.down = down
      await addLeaf()
      await leaf.server.transport({ method: 'GET', path: '/version' })
      await test.pipeline('far', specOf({ environments: [...remote, ...environments('prod')] }))
      await home.release('dev', '1.1.0')
      await home.release('prod', '1.0.0')
      await test.pipeline('near', specOf())
      await test.until('near', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
      const blocked = await test.until('far', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterUnreachable')
      expect(blocked.status?.run).toBeUndefined()
      leaf.down = undefined
      await leaf.release('apps', '2.0.0')
      await test.until('far', (pipeline) => target(pipeline, 'dev')?.revision === '2.0.0')
      await leaf.release('apps', '2.1.0')
      await test.until('far', (pipeline) => target(pipeline, 'dev')?.revision === '2.1.0')
    },
  )

  it('N29: that may not be read are forbidden, and nothing else', async () => {
    const bob = leaf.server.transportAs({ name: 'bob', groups: ['system:authenticated'] })
    await test.stop()
    test = new TestPromoter(home, { leaf: { transport: bob } as TestCluster })
    await addLeaf()
    await leaf.release('apps', '1.0.0')
    await test.pipeline('app', specOf({ environments: remote }))
    const forbidden = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Forbidden')
    expect(conditionOf(forbidden, 'Ready')).toMatchObject({ status: 'False', reason: 'TargetNotReadable' })
  })

  it('N8: whose cluster is deleted in the middle of a run hold the run, and its record stays', async () => {
    await addLeaf()
    await leaf.release('apps', '1.1.0')
    await home.release('prod', '1.0.0')
    await test.pipeline(
      'app',
      specOf({
        environments: [...remote, ...environments('prod')],
        promotion: { strategy: { notification: {} }, manual: true },
      }),
    )
    const before = await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'AwaitingApproval')
    await home.client.deleteObject(gitopsCluster.type, { namespace: 'team', name: 'leaf' })
    const after = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'ClusterNotFound')
    expect(after.status?.environments?.['prod']?.promotion?.id).toBe(
      before.status?.environments?.['prod']?.promotion?.id,
    )
    expect(after.status?.run).toMatchObject({ revision: '1.1.0', phase: 'Running' })
  })

  it('N7: are read with rotated credentials at once, and nothing is left open with the old ones', async () => {
    await addLeaf()
    await leaf.release('apps', '1.0.0')
    await test.pipeline('app', specOf({ environments: remote }))
    await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    const other = await TestCluster.start()
    try {
      await other.release('apps', '3.0.0')
      await test.stop()
      test = new TestPromoter(home, { leaf, other })
      await test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '1.0.0')
      await expect.poll(() => leaf.watching).toBeGreaterThan(0)
      await home.secret('team', 'leaf-kubeconfig', { kubeconfig: 'other' })
      await test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '3.0.0')
      await expect.poll(() => leaf.watching, { timeout: 10_000 }).toBe(0)
      await other.release('apps', '3.1.0')
      await test.until('app', (pipeline) => target(pipeline, 'dev')?.revision === '3.1.0')
    } finally {
      await test.stop()
      await other.close()
      test = new TestPromoter(home, { leaf })
    }
  })

  it('C19 C20 C21: are followed while a pipeline uses them, and no longer', async () => {
    await home.release('dev', '1.0.0')
    const spec = specOf({ environments: environments('dev') })
    await test.pipeline('one', spec)
    await test.pipeline('two', spec)
    await test.pipeline('odd', { ...spec, appRef: { apiVersion: 'acme.test/v1', kind: 'Unknown', name: 'x' } })
    await test.until('two', (pipeline) => target(pipeline, 'dev')?.ready)
    await test.until('odd', (pipeline) => target(pipeline, 'dev')?.reason === 'KindNotFound')
    await test.until('one', (pipeline) => target(pipeline, 'dev')?.ready)
    expect(test.promoter.observer.size).toBe(2)
    for (const [name, left] of [
      ['one', 2],
      ['odd', 1],
      ['two', 0],
    ] as const) {
      await home.client.deleteObject(pipelineKind.type, { namespace: 'team', name })
      await expect.poll(() => test.promoter.observer.size).toBe(left)
    }
  })
})

describe('promotions', () => {
  it('C14 C15 C23 C24: go through dev, staging and prod, and again with the next revision', async () => {
    const { spec, repository, pulls } = await withRepository({}, ['dev', 'staging', 'prod'])
    const strategy = spec.promotion!.strategy['pull-request']!
    for (const name of ['dev', 'staging', 'prod']) await home.release(name, '1.0.0')
    await test.pipeline('app', {
      ...spec,
      promotion: { strategy: { 'pull-request': { ...strategy, autoMerge: true } } },
    })
    await test.until('app', ({ status }) => status?.run?.phase === 'Complete')
    for (const version of ['1.1.0', '1.2.0']) {
      await home.release('dev', version)
      for (const name of ['staging', 'prod']) {
        await test.until(
          'app',
          (pipeline) => phase(pipeline, name) === 'RollingOut' && pipeline.status?.run?.revision === version,
        )
        expect(await repository.file('main', `${name}/app.yaml`)).toBe(manifest(name, version))
        await home.release(name, version)
      }
      await test.until('app', ({ status }) => status?.run?.phase === 'Complete' && status.run.revision === version)
    }
    expect(pulls().map(({ state }) => state)).toEqual(['merged', 'merged', 'merged', 'merged'])
    const done = await test.get('app')
    expect(done.status?.environments?.['prod']?.promotion).toMatchObject({ phase: 'Succeeded', revision: '1.2.0' })
    expect(done.status?.latestRevision).toBe('1.2.0')
  })

  it('C57: by notification emit one Event with the exact words', async () => {
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    await test.pipeline('app', specOf())
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    const { items } = await home.client.list(events, { namespace: 'team' })
    const promote = items.filter((event) => event['reason'] === 'Promote')
    expect(promote).toMatchObject([
      {
        message: 'Promote pipeline team/app to prod with version 1.1.0',
        metadata: { annotations: { environment: 'prod', version: '1.1.0' } },
      },
    ])
  })

  it('by commit write to the base branch once', async () => {
    const { spec, repository } = await withRepository()
    const { url, baseBranch, secretRef } = spec.promotion!.strategy['pull-request']!
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    await test.pipeline('app', { ...spec, promotion: { strategy: { commit: { url, baseBranch, secretRef } } } })
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    expect(await repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
    expect(await repository.git('rev-list', '--count', 'main')).toBe('2')
  })

  it('take their pull request back when the pipeline is deleted', async () => {
    const { spec, repository, pulls } = await withRepository()
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    await test.pipeline('app', spec)
    const open = await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(open.metadata.finalizers).toEqual(['sojourn.dev/promotions'])
    await home.client.deleteObject(pipelineKind.type, { namespace: 'team', name: 'app' })
    await expect
      .poll(() => home.client.list(pipelineKind.type, { namespace: 'team' }).then(({ items }) => items.length), {
        timeout: 10_000,
      })
      .toBe(0)
    expect(pulls()).toMatchObject([{ state: 'closed' }])
    expect(await repository.branches()).toEqual(['main'])
  })

  it('are held by the freeze and go on with the thaw', async () => {
    await home.namespace('sojourn-system')
    await home.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'sojourn-system', name: 'freeze' },
      data: { promotions: 'frozen' },
    })
    await home.release('dev', '1.0.0')
    await home.release('prod', '1.0.0')
    await test.pipeline('app', specOf())
    await test.until('app', (pipeline) => conditionOf(pipeline, 'Suspended')?.reason === 'Frozen')
    await home.release('dev', '1.1.0')
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Gated')
    await home.client.deleteObject(configMaps, { namespace: 'sojourn-system', name: 'freeze' })
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
  })

  it('of a dry run ask no forge, emit no Event and say what would be done', async () => {
    await test.stop()
    test = new TestPromoter(home, { leaf }, { dryRun: true })
    const { spec } = await withRepository()
    for (const name of ['dev', 'prod']) await home.release(name, name === 'dev' ? '1.1.0' : '1.0.0')
    const asked = forge.requests.length
    const { url } = spec.promotion!.strategy['pull-request']!
    const strategies = {
      pull: spec.promotion!.strategy,
      notice: { notification: {} },
      call: { webhook: { url } },
    }
    for (const [name, strategy] of Object.entries(strategies)) {
      await test.pipeline(name, { ...spec, promotion: { strategy } })
      const held = await test.until(name, (pipeline) => conditionOf(pipeline, 'Suspended')?.message.includes('would'))
      expect(conditionOf(held, 'Suspended')).toMatchObject({ reason: 'DryRun' })
      expect(conditionOf(held, 'Suspended')?.message).toContain('would promote 1.1.0 into prod')
      expect(held.metadata.finalizers).toBeUndefined()
    }
    await test.promoter.controller.whenIdle()
    expect(forge.requests.length).toBe(asked)
    const { items } = await home.client.list(events, { namespace: 'team' })
    expect(items.filter((event) => event['reason'] === 'Promote')).toEqual([])
  })

  it('that failed for their credentials go on with the next version of the Secret', async () => {
    const { spec, pulls } = await withRepository()
    await home.secret('team', 'git', { username: forgeUser, password: 'wrong', token: forgeToken, caFile: forge.ca })
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    await test.pipeline('app', spec)
    const failed = await test.until(
      'app',
      (pipeline) => conditionOf(pipeline, 'Stalled')?.reason === 'CredentialsRefused',
    )
    expect(JSON.stringify(failed)).not.toContain('"wrong"')
    await home.secret('team', 'git', {
      username: forgeUser,
      password: forgePassword,
      token: forgeToken,
      caFile: forge.ca,
    })
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(pulls()).toHaveLength(1)
  })
})

describe('N41: an application that the on-demand proxy has put to sleep', () => {
  const deployment = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true }

  async function asleep(): Promise<void> {
    await home.namespace('dev')
    await home.client.create(deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'dev', name: 'app', labels: { version: '1.1.0' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'app' } },
        template: { metadata: { labels: { app: 'app' } }, spec: { containers: [{ name: 'app', image: 'app' }] } },
      },
    })
    await home.release('prod', '1.0.0')
  }

  function sleeping(adapter: { healthy: string }, over: Partial<PipelineSpec> = {}): PipelineSpec {
    const appRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
    const revision = 'has(self.metadata.labels) ? self.metadata.labels.version : ""'
    return specOf({ appRef, adapter: { ...adapter, revision }, ...over })
  }

  it.each([
    ['self.status.?readyReplicas.orValue(0) > 0', false],
    ['self.spec.replicas == 0 || self.status.?readyReplicas.orValue(0) > 0', true],
  ])('is healthy only if the expression says so: %s', async (healthy, ready) => {
    await asleep()
    await test.pipeline('app', sleeping({ healthy }, { environments: environments('dev') }))
    const seen = await test.until('app', (pipeline) => target(pipeline, 'dev')?.reason === 'Found')
    expect(target(seen, 'dev')).toMatchObject({ ready, revision: '1.1.0' })
  })

  it('is woken by the verification before its revision goes on', async () => {
    await asleep()
    const calls: number[] = []
    // As the activator does: the first call wakes it and waits, later ones find it awake.
    const proxy = createServer((_, response) => {
      calls.push(calls.length)
      response.writeHead(calls.length === 1 ? 503 : 200).end()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`
    const [dev, prod] = environments('dev', 'prod')
    const helm = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'app' }
    const verification = { checks: [{ url }], interval: '1s' }
    await test.pipeline(
      'app',
      sleeping({ healthy: 'true' }, { environments: [dev!, { ...prod!, appRef: helm, verification }] }),
    )
    const failing = await test.until(
      'app',
      ({ status }) => status?.environments?.['prod']?.promotion?.verification?.state === 'Failing',
    )
    expect(failing.status?.environments?.['prod']?.promotion?.verification?.message).toBe(`${url} answered 503`)
    await test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    expect(calls).toHaveLength(2)
    proxy.close()
  })
})

function repositoryOf(over: Partial<PullRequestSpec>): Partial<PipelineSpec> {
  const plain = { type: 'github', url: 'https://a.test/b/c', baseBranch: 'main', secretRef: { name: 'x' } } as const
  return { promotion: { strategy: { 'pull-request': { ...plain, ...over } } } }
}

describe('the schema', () => {
  it.each([
    ['N12: no environments', { environments: [] }, 'spec.environments'],
    ['N12: an environment twice', { environments: environments('dev', 'dev') }, 'spec.environments[1]'],
    ['C37: no targets', { environments: [{ name: 'dev', targets: [] }] }, 'spec.environments[0].targets'],
    ['a name that is no label', { environments: environments('Dev_1') }, 'spec.environments[0].name'],
    [
      'C53: two strategies',
      { promotion: { strategy: { notification: {}, webhook: { url: 'https://a.test/' } } } },
      'spec.promotion.strategy',
    ],
    ['C44 C54: no strategy', { promotion: { strategy: {} } }, 'spec.promotion.strategy'],
    [
      'C55: a plain URL',
      { promotion: { strategy: { webhook: { url: 'http://a.test/' } } } },
      'spec.promotion.strategy.webhook.url',
    ],
    ['C55: no URL', repositoryOf({ url: undefined as never }), 'spec.promotion.strategy.pull-request.url'],
    [
      'C55: a plain URL of a repository',
      repositoryOf({ url: 'http://a.test/b/c' }),
      'spec.promotion.strategy.pull-request.url',
    ],
    ['C55: an empty forge', repositoryOf({ type: '' as never }), 'spec.promotion.strategy.pull-request.type'],
    [
      'C55: no Secret named',
      repositoryOf({ secretRef: { name: '' } }),
      'spec.promotion.strategy.pull-request.secretRef.name',
    ],
    [
      'C55: an unknown forge',
      {
        promotion: {
          strategy: {
            'pull-request': {
              type: 'sourceforge' as never,
              url: 'https://a.test/b/c',
              baseBranch: 'main',
              secretRef: { name: 'x' },
            },
          },
        },
      },
      'spec.promotion.strategy.pull-request.type',
    ],
  ])('refuses %s, naming the field', async (_, over, field) => {
    await expect(test.pipeline('bad', specOf(over))).rejects.toThrow(field)
  })

  it.each(['github', 'gitlab', 'gitea', 'forgejo', 'bitbucket-server', 'bitbucket-cloud', 'azure-devops'] as const)(
    'takes a pull request on %s',
    async (type) => {
      const strategy = {
        'pull-request': { type, url: 'https://a.test/b/c', baseBranch: 'main', secretRef: { name: 'x' } },
      }
      await expect(test.pipeline(`p-${type}`, specOf({ promotion: { strategy } }))).resolves.toBeTruthy()
    },
  )
})
