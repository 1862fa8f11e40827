import { environmentClass } from '../../apis/environment-class.ts'
import { environment } from '../../apis/environment.ts'
import { workSchedule } from '../../apis/work-schedule.ts'
import { Client } from '../../client/client.ts'
import { cronJobs, deployments, namespaces, services, statefulSets } from '../../kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { registerKinds } from '../../admission/register-kinds.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { roundTrip } from '../../../test/activator/proxy.ts'

/** A Wednesday, half a minute before the office closes. */
const evening = Date.UTC(2026, 10, 18, 17, 59, 30)
const hour = 3_600_000
const namespace = 'default'
const oneMinuteBreak = 'Wed 08:00-18:00 UTC; Wed 18:01-20:00 UTC'
const closesAtSix = 'Mon-Fri 08:00-18:00 UTC'

let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(20, evening)
  // Objects that tests create are an hour old: nothing new is put to sleep.
  server = await startTestServer({ clock: fastClock(20, evening - hour) as never })
  await registerKinds(new Client(server.transport))
  cluster = await startFakeCluster(server.transport)
})

afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const untilTime = (at: number) => until(() => Promise.resolve(clock.now() >= at))
const get = (type: ResourceType, name: string) => cluster.client.get<StoredObject>(type, { namespace, name })
const specOf = async (type: ResourceType, name: string) => (await get(type, name)).spec as Record<string, unknown>
const replicasOf = async (name: string, type = deployments) => (await specOf(type, name))['replicas']
const annotate = (type: ResourceType, name: string, annotations: Record<string, string | null>) =>
  cluster.client.patch(
    type,
    { name, ...(type.namespaced ? { namespace } : {}) },
    { type: 'merge', body: { metadata: { annotations } } },
  )
const pods = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'app', image: 'app' }] } }

async function addStatefulSet(name: string, more: object = {}): Promise<void> {
  const selector = { matchLabels: { app: 'x' } }
  await cluster.client.create(statefulSets, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace },
    spec: { replicas: 2, serviceName: name, selector, template: pods, ...more },
  } as KubeObject)
}

async function addCronJob(name: string, suspend: boolean): Promise<void> {
  const jobTemplate = { spec: { template: { ...pods, spec: { ...pods.spec, restartPolicy: 'Never' } } } }
  await cluster.client.create(cronJobs, {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name, namespace },
    spec: { schedule: '0 3 * * *', suspend, jobTemplate },
  } as KubeObject)
}

describe('sleep by schedule', () => {
  it('puts everything in an annotated Namespace to sleep, and wakes it as it was', async () => {
    await cluster.addDeployment('web', 3)
    await cluster.addDeployment('at-zero', 0)
    await cluster.addDeployment('kept', 1)
    await annotate(deployments, 'kept', { 'sojourn.dev/sleep': 'false' })
    await addStatefulSet('db')
    await addCronJob('nightly', false)
    await addCronJob('suspended', true)
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': oneMinuteBreak })
    await using it = await startReplica(server.transport, { clock })
    await untilTime(evening + 25_000)
    expect(cluster.history.get('web')).toEqual([3])
    await until(async () => (await replicasOf('db', statefulSets)) === 0)
    expect(clock.now()).toBeGreaterThanOrEqual(evening + 30_000)
    expect([await replicasOf('web'), await replicasOf('kept')]).toEqual([0, 1])
    await until(async () => (await specOf(cronJobs, 'nightly'))['suspend'] === true)
    expect((await get(deployments, 'web')).metadata.annotations).toMatchObject({ 'sojourn.dev/former-replicas': '3' })
    await until(async () => (await replicasOf('db', statefulSets)) === 2)
    await annotateReady('db')
    await until(async () => (await replicasOf('web')) === 3)
    await until(async () => (await specOf(cronJobs, 'nightly'))['suspend'] === false)
    expect((await get(deployments, 'web')).metadata.annotations).not.toHaveProperty('sojourn.dev/asleep-since')
    expect([await replicasOf('at-zero'), (await specOf(cronJobs, 'suspended'))['suspend']]).toEqual([0, true])
    expect(cluster.history.get('web')).toEqual([3, 0, 3])
    expect(it.events.filter(({ about }) => about === 'web').map(({ message }) => message)).toEqual([
      'Scaled from 3 to 0: its awake hours have ended.',
      'Scaled to 3: its awake hours have begun.',
    ])
  })

  it('takes its own wake for no use', async () => {
    await cluster.addApp('web', { 'proxless/ttl-seconds': '120' }, 2)
    await annotate(deployments, 'web', { 'proxless/last-used': '2026-11-18T12:00:00Z' })
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': oneMinuteBreak })
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    await until(async () => (await replicasOf('web')) === 2)
    const wokenAt = clock.now()
    await untilTime(wokenAt + 40_000)
    const { 'proxless/last-used': usedAt = '' } = (await get(deployments, 'web')).metadata.annotations ?? {}
    expect(Date.parse(usedAt)).toBeLessThan(evening + 30_000)
  })

  const annotateReady = (name: string) =>
    cluster.client.patch(
      statefulSets,
      { namespace, name },
      { type: 'merge', body: { status: { replicas: 2, readyReplicas: 2 } } },
      { subresource: 'status' },
    )

  it('wakes databases first, and sleeps them last', async () => {
    await cluster.addDeployment('web', 1)
    await addStatefulSet('db')
    await annotateReady('db')
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': oneMinuteBreak })
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('db', statefulSets)) === 0)
    expect(await replicasOf('web')).toBe(0)
    const status = { replicas: 0, readyReplicas: 0 }
    await cluster.client.patch(
      statefulSets,
      { namespace, name: 'db' },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    )
    await until(async () => (await replicasOf('db', statefulSets)) === 2)
    const wokenAt = clock.now()
    await untilTime(wokenAt + 10_000)
    expect(await replicasOf('web')).toBe(0)
    await annotateReady('db')
    await until(async () => (await replicasOf('web')) === 1)
    expect(clock.now() - wokenAt).toBeLessThan(60_000)
  })

  it('follows a WorkSchedule by name, and stays awake while there is none of that name', async () => {
    await cluster.addDeployment('web', 2)
    await annotate(deployments, 'web', { 'sojourn.dev/awake': 'office' })
    await using it = await startReplica(server.transport, { clock })
    await untilTime(evening + 60_000)
    expect(cluster.history.get('web')).toEqual([2])
    expect(it.events).toContainEqual(expect.objectContaining({ reason: 'NoSuchSchedule', about: 'web' }))
    await cluster.client.create(workSchedule.type, {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'WorkSchedule',
      metadata: { name: 'office' },
      spec: { windows: [{ days: ['Wednesday'], start: '08:00', end: '18:00' }] },
    } as KubeObject)
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('wakes what lost its rule', async () => {
    await cluster.addDeployment('web', 2)
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': closesAtSix })
    await using it = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': null })
    await until(async () => (await replicasOf('web')) === 2)
    expect(it.events.at(-1)).toMatchObject({ reason: 'Woken', about: 'web' })
    expect((await get(deployments, 'web')).metadata.annotations ?? {}).toEqual({})
  })

  it('remembers replicas over a restart, and takes a change by hand while asleep for a use', async () => {
    await cluster.addDeployment('web', 3)
    await cluster.addDeployment('other', 2)
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': oneMinuteBreak })
    const first = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0 && (await replicasOf('other')) === 0)
    await first.stop()
    const second = await startReplica(server.transport, { clock })
    const scaled = { type: 'merge', body: { spec: { replicas: 1 } } } as const
    await cluster.client.patch(deployments, { namespace, name: 'other' }, scaled, { fieldManager: 'kubectl-edit' })
    await until(
      async () => (await get(deployments, 'other')).metadata.annotations?.['sojourn.dev/asleep-since'] === undefined,
    )
    await second.stop()
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 3)
    expect(cluster.history.get('other')).toEqual([2, 0, 1])
  })

  it('never sleeps what would lose its data, nor what another object controls', async () => {
    await addStatefulSet('scratch', { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } })
    await cluster.addDeployment('owned', 1)
    const owner = { apiVersion: 'acme.io/v1', kind: 'App', name: 'x', uid: 'u1', controller: true }
    await cluster.client.patch(
      deployments,
      { namespace, name: 'owned' },
      { type: 'merge', body: { metadata: { ownerReferences: [owner] } } },
    )
    await cluster.addDeployment('web', 1)
    await annotate(namespaces, namespace, { 'sojourn.dev/awake': closesAtSix })
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    await untilTime(evening + 90_000)
    expect([await replicasOf('scratch', statefulSets), await replicasOf('owned')]).toEqual([2, 1])
  })

  it('sleeps and wakes by hand', async () => {
    await cluster.addDeployment('web', 2)
    await using _ = await startReplica(server.transport, { clock })
    await annotate(deployments, 'web', { 'sojourn.dev/asleep-until': '2026-11-18T18:00:00Z' })
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now()).toBeLessThan(evening + 30_000)
    await until(async () => (await replicasOf('web')) === 2)
    expect(clock.now()).toBeGreaterThanOrEqual(evening + 30_000)
  })
})

describe('an Environment', () => {
  async function addEnvironment(sleep: object, byHand: object = {}): Promise<void> {
    await cluster.client.create(environmentClass.type, {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } }, sleep },
    } as KubeObject)
    await cluster.client.create(environment.type, {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Environment',
      metadata: { name: 'shop', namespace },
      spec: { className: 'preview', ...byHand },
    } as KubeObject)
  }

  it('sleeps as a whole, and a request to any of its domains wakes all of it', async () => {
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3600' }, 2)
    await cluster.addDeployment('worker', 1)
    await addEnvironment({ awake: closesAtSix, idleAfter: '1m' })
    await using it = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0 && (await replicasOf('worker')) === 0)
    const answer = await roundTrip(it.port, 'GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')
    expect(answer).toContain('200 OK')
    await until(async () => (await replicasOf('worker')) === 1)
    const usedAt = clock.now()
    await until(async () => (await replicasOf('web')) === 0 && (await replicasOf('worker')) === 0)
    expect(clock.now() - usedAt).toBeGreaterThan(50_000)
    expect(cluster.history.get('worker')).toEqual([1, 0, 1, 0])
  })

  it('sleeps as a whole when it was idle as long as its class says, whatever the default TTL of Services', async () => {
    await cluster.addApp('web', {}, 1)
    await cluster.addDeployment('worker', 1)
    await addEnvironment({ idleAfter: '1m' })
    const startedAt = clock.now()
    await using _ = await startReplica(server.transport, {
      clock,
      defaults: { ttlMs: 2000, readinessTimeoutMs: 60_000 },
    })
    await until(async () => (await replicasOf('web')) === 0 || (await replicasOf('worker')) === 0)
    expect(clock.now() - startedAt).toBeGreaterThan(59_000)
    await until(async () => (await replicasOf('web')) === 0 && (await replicasOf('worker')) === 0)
  })

  it.each([
    ['outside its awake hours', { awake: closesAtSix }, {}],
    ['while it is put to sleep by hand', {}, { power: 'Asleep', powerUntil: '2026-11-19T18:00:00Z' }],
  ])('that was used %s stays awake over a restart', async (_, sleep, byHand) => {
    await cluster.addApp('web', {}, 0)
    await addEnvironment(sleep, byHand)
    await untilTime(evening + 40_000)
    const first = await startReplica(server.transport, { clock })
    expect(await roundTrip(first.port, 'GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')).toContain(
      '200',
    )
    await first.stop()
    await using second = await startReplica(server.transport, { clock })
    const at = clock.now()
    await untilTime(at + 20_000)
    expect(second.events.map(({ reason }) => reason)).toEqual([])
    expect(cluster.history.get('web')).toEqual([0, 1])
  })

  it('leaves what a selector of its class excludes', async () => {
    await cluster.addDeployment('web', 1)
    await cluster.addDeployment('cache', 1)
    await cluster.client.patch(
      deployments,
      { namespace, name: 'cache' },
      { type: 'merge', body: { metadata: { labels: { tier: 'cache' } } } },
    )
    await addEnvironment({ awake: closesAtSix, exclude: [{ matchLabels: { tier: 'cache' } }] })
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    await untilTime(evening + 60_000)
    expect(await replicasOf('cache')).toBe(1)
  })
})

describe('a workload that leaves Sojourn while it sleeps', () => {
  it.each([
    ['its Service loses the annotations', () => annotate(services, 'web', { 'proxless/deployment': null })],
    ['its Service is deleted', () => cluster.client.deleteObject(services, { namespace, name: 'web' })],
  ])('is woken to its former replicas when %s', async (_, leave) => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 3)
    await until(async () => (await replicasOf('web')) === 0)
    await leave()
    await until(async () => (await replicasOf('web')) === 3)
    expect(it.events.at(-1)).toMatchObject({ reason: 'Woken', about: 'web' })
    expect((await get(deployments, 'web')).metadata.labels ?? {}).not.toHaveProperty('proxless')
  })
})

describe('another writer of replicas', () => {
  const gitSays = (replicas: number) =>
    cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas } } },
      { fieldManager: 'argocd-controller' },
    )

  const managers = async () => {
    const { managedFields = [] } = (await get(deployments, 'web')).metadata
    return (managedFields as { manager: string; fieldsV1: object }[])
      .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('f:replicas'))
      .map(({ manager }) => manager)
  }

  it('may ignore what sojourn owns: it owns replicas only while a workload sleeps (Argo CD)', async () => {
    await cluster.addDeployment('web', 2)
    await gitSays(3)
    await annotate(deployments, 'web', { 'sojourn.dev/asleep-until': '2026-11-18T18:00:00Z' })
    await using _ = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    expect(await managers()).toEqual(['sojourn'])
    await until(async () => (await replicasOf('web')) === 3)
    expect(await managers()).toEqual(['sojourn-awake'])
  })

  it('syncs as often as it likes where it respects what sojourn owns, and its replicas count by day (Argo CD)', async () => {
    let inGit = 3
    // RespectIgnoreDifferences leaves out of a sync the fields of managedFieldsManagers: [sojourn].
    const sync = async () => void ((await managers()).includes('sojourn') || (await gitSays(inGit)))
    await cluster.addDeployment('web', 1)
    await sync()
    await annotate(deployments, 'web', { 'sojourn.dev/asleep-until': '2026-11-18T18:00:00Z' })
    await using it = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    inGit = 4
    for (let round = 0; round < 5; round++) await sync()
    expect(await replicasOf('web')).toBe(0)
    await until(async () => (await replicasOf('web')) === 3)
    await sync()
    expect(await replicasOf('web')).toBe(4)
    const wokenAt = clock.now()
    await untilTime(wokenAt + 10_000)
    expect(await replicasOf('web')).toBe(4)
    expect(it.events.map(({ reason }) => reason)).toEqual(['Slept', 'Woken'])
  })

  it('may apply a manifest without replicas as often as it likes (Flux)', async () => {
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'app', image: 'app' }] } }
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace },
      spec: { selector: { matchLabels: { app: 'web' } }, template },
    }
    const apply = () =>
      cluster.client.patch(deployments, { namespace, name: 'web' }, { type: 'apply', body, force: true } as never, {
        fieldManager: 'kustomize-controller',
      })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 2)
    await using it = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('web')) === 0)
    for (let round = 0; round < 4; round++) await apply()
    const at = clock.now()
    await untilTime(at + 10_000)
    expect(cluster.history.get('web')).toEqual([2, 0])
    expect(it.events.map(({ reason }) => reason)).not.toContain('Contended')
  })

  it('that undoes a sleep three times in ten minutes is given way to, by name', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 2)
    for (let round = 0; round < 3; round++) {
      await until(async () => (await replicasOf('web')) === 0)
      await gitSays(2)
    }
    const contended = async () => (await get(deployments, 'web')).metadata.annotations?.['sojourn.dev/contended']
    await until(async () => (await contended()) !== undefined)
    expect(await contended()).toContain('argocd-controller')
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'Contended', about: 'web' }))
    const { status } = await cluster.service('web')
    expect(status).toMatchObject({
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'sojourn.dev/Contended', status: 'True' }),
      ]) as unknown,
    })
    const at = clock.now()
    await untilTime(at + 20_000)
    expect(await replicasOf('web')).toBe(2)
    await annotate(deployments, 'web', { 'sojourn.dev/contended': null })
    await until(async () => (await replicasOf('web')) === 0)
  })
})
