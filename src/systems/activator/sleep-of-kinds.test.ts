import { environmentClass } from '../../apis/environment-class.ts'
import { environment } from '../../apis/environment.ts'
import { Client } from '../../client/client.ts'
import { customResourceDefinitions, deployments, horizontalPodAutoscalers, namespaces } from '../../kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { registerKinds } from '../../admission/register-kinds.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'

/** A Wednesday, half a minute before the office closes for one minute. */
const evening = Date.UTC(2026, 10, 18, 17, 59, 30)
const oneMinuteBreak = 'Wed 08:00-18:00 UTC; Wed 18:01-20:00 UTC'
const namespace = 'default'
const paused = 'autoscaling.keda.sh/paused'
const typeOf = (group: string, version: string, kind: string): ResourceType => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
})
const scaledObjects = typeOf('keda.sh', 'v1alpha1', 'ScaledObject')
const rollouts = typeOf('argoproj.io', 'v1alpha1', 'Rollout')
const clusters = typeOf('postgresql.cnpg.io', 'v1', 'Cluster')

let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  // What a test creates is an hour old: nothing new is put to sleep.
  server = await startTestServer({ clock: fastClock(20, evening - 3_600_000) as never })
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
const get = (type: ResourceType, name: string) => cluster.client.get<StoredObject>(type, { namespace, name })
const annotationsOf = async (type: ResourceType, name: string) => (await get(type, name)).metadata.annotations ?? {}
const replicasOf = async (name: string, type = deployments) =>
  ((await get(type, name)).spec as { readonly replicas: number }).replicas

async function serve(type: ResourceType): Promise<void> {
  const { group, version, kind, plural } = type
  await cluster.client.create(customResourceDefinitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  })
  await until(async () => {
    cluster.client.discovery.forget()
    return (await cluster.client.discovery.typeOf({ apiVersion: `${group}/${version}`, kind })) !== undefined
  })
}

const add = (type: ResourceType, name: string, spec: object, annotations: Record<string, string> = {}) =>
  cluster.client.create(type, {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, namespace, annotations },
    spec,
  } as KubeObject)

const annotate = (type: ResourceType, name: string, annotations: Record<string, string>) =>
  cluster.client.patch(
    type,
    { name, ...(type.namespaced ? { namespace } : {}) },
    { type: 'merge', body: { metadata: { annotations } } },
  )

/** Begins half a minute before the break, however long the test took to get here. */
async function closeForAMinute(): Promise<void> {
  await annotate(namespaces, namespace, { 'sojourn.dev/awake': oneMinuteBreak })
  clock = fastClock(20, evening)
}

it('pauses a ScaledObject of KEDA before its target sleeps, and resumes it after that is awake', async () => {
  await serve(scaledObjects)
  await cluster.addDeployment('web', 3)
  await add(scaledObjects, 'web', { scaleTargetRef: { name: 'web' } })
  await add(scaledObjects, 'by-hand', { scaleTargetRef: { name: 'other' } }, { [paused]: 'true' })
  const order: string[] = []
  const watching = new AbortController()
  const follow = async (type: ResourceType, isAwake: (object: StoredObject) => boolean) => {
    let before: boolean | undefined
    for await (const { object } of cluster.client.watch<StoredObject>(type, { namespace, signal: watching.signal })) {
      if (object.metadata.name !== 'web') continue
      if (before !== undefined && before !== isAwake(object))
        order.push(`${object.kind} ${isAwake(object) ? 'awake' : 'asleep'}`)
      before = isAwake(object)
    }
  }
  const ended = Promise.allSettled([
    follow(deployments, ({ spec }) => (spec as { replicas: number }).replicas > 0),
    follow(scaledObjects, ({ metadata }) => metadata.annotations?.[paused] !== 'true'),
  ])
  await closeForAMinute()
  {
    await using _ = await startReplica(server.transport, { clock })
    await until(() => Promise.resolve(order.length === 4))
  }
  watching.abort()
  await ended
  expect(order).toEqual(['ScaledObject asleep', 'Deployment asleep', 'Deployment awake', 'ScaledObject awake'])
  expect(await replicasOf('web')).toBe(3)
  expect(await annotationsOf(scaledObjects, 'web')).not.toHaveProperty(paused)
  // Paused by a person: it stays so.
  expect(await annotationsOf(scaledObjects, 'by-hand')).toEqual({ [paused]: 'true' })
})

it('scales a Rollout of Argo, not the Deployment it takes its pods from, and hibernates a CNPG Cluster', async () => {
  await serve(rollouts)
  await serve(clusters)
  await cluster.addDeployment('template', 1)
  await add(rollouts, 'shop', { replicas: 4, workloadRef: { kind: 'Deployment', name: 'template' } })
  await add(clusters, 'db', { instances: 3 })
  await closeForAMinute()
  await using _ = await startReplica(server.transport, { clock })
  await until(async () => (await replicasOf('shop', rollouts)) === 0)
  await until(async () => (await annotationsOf(clusters, 'db'))['cnpg.io/hibernation'] === 'on')
  expect(await replicasOf('template')).toBe(1)
  await until(async () => (await annotationsOf(clusters, 'db'))['cnpg.io/hibernation'] === 'off')
  await until(async () => (await replicasOf('shop', rollouts)) === 4)
  expect(cluster.history.get('template')).toEqual([1])
})

it('wakes to the former replicas what a HorizontalPodAutoscaler scales, and leaves that as it is', async () => {
  await cluster.addDeployment('web', 5)
  await add(horizontalPodAutoscalers, 'web', {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas: 2,
    maxReplicas: 9,
  })
  const before = await get(horizontalPodAutoscalers, 'web')
  await closeForAMinute()
  await using _ = await startReplica(server.transport, { clock })
  await until(async () => (await replicasOf('web')) === 0)
  // The autoscaler goes on from there.
  await until(async () => (await replicasOf('web')) > 0)
  expect(cluster.history.get('web')).toEqual([5, 0, 5])
  expect(await get(horizontalPodAutoscalers, 'web')).toEqual(before)
})

it('wakes workloads after those they name', async () => {
  for (const name of ['web', 'api', 'queue']) await cluster.addDeployment(name, 1)
  await annotate(deployments, 'web', { 'sojourn.dev/wake-with': 'Deployment/api' })
  await annotate(deployments, 'api', { 'sojourn.dev/wake-with': 'Deployment/queue' })
  await closeForAMinute()
  await using _ = await startReplica(server.transport, { clock })
  const report = (name: string, readyReplicas: number) =>
    cluster.client.patch(
      deployments,
      { namespace, name },
      { type: 'merge', body: { status: { replicas: readyReplicas, readyReplicas } } },
      { subresource: 'status' },
    )
  await until(async () => (await replicasOf('queue')) === 0)
  expect([await replicasOf('web'), await replicasOf('api')]).toEqual([0, 0])
  for (const name of ['web', 'api', 'queue']) await report(name, 0)
  for (const [name, next] of [
    ['queue', 'api'],
    ['api', 'web'],
  ] as const) {
    await until(async () => (await replicasOf(name)) === 1)
    expect(await replicasOf(next)).toBe(0)
    await report(name, 1)
  }
  await until(async () => (await replicasOf('web')) === 1)
})

const sleepsNow = 'Mon 08:00-18:00 UTC'

it('puts a new workload of a sleeping namespace to sleep as soon as it comes, and remembers its replicas', async () => {
  await annotate(namespaces, namespace, { 'sojourn.dev/awake': sleepsNow })
  await cluster.addDeployment('old', 1)
  const now = fastClock(20, Date.parse((await get(deployments, 'old')).metadata.creationTimestamp!))
  await using _ = await startReplica(server.transport, { clock: now })
  await until(async () => (await replicasOf('old')) === 0)
  await cluster.addDeployment('new', 3)
  await until(async () => (await replicasOf('new')) === 0)
  expect(now.now() - Date.parse((await get(deployments, 'new')).metadata.creationTimestamp!)).toBeLessThan(15 * 60_000)
  expect(await annotationsOf(deployments, 'new')).toMatchObject({ 'sojourn.dev/former-replicas': '3' })
  // A person who needs it at night scales it up: that counts as a use.
  const scaled = { type: 'merge', body: { spec: { replicas: 2 } } } as const
  await cluster.client.patch(deployments, { namespace, name: 'new' }, scaled, { fieldManager: 'kubectl' })
  await until(async () => !('sojourn.dev/asleep-since' in (await annotationsOf(deployments, 'new'))))
  const at = now.now()
  await until(() => Promise.resolve(now.now() > at + 60_000))
  expect(cluster.history.get('new')).toEqual([3, 0, 2])
})

it('leaves a new workload awake that is excluded, or in a namespace that was woken by hand', async () => {
  const later = new Date(evening + 3_600_000).toISOString()
  await annotate(namespaces, namespace, { 'sojourn.dev/awake': sleepsNow, 'sojourn.dev/awake-until': later })
  const now = fastClock(20, evening)
  await using _ = await startReplica(server.transport, { clock: now })
  await cluster.addDeployment('new', 1)
  await add(deployments, 'kept', (await get(deployments, 'new')).spec!, { 'sojourn.dev/sleep': 'false' })
  await until(() => Promise.resolve(now.now() > evening + 60_000))
  await annotate(namespaces, namespace, { 'sojourn.dev/awake-until': new Date(evening).toISOString() })
  await until(async () => (await replicasOf('new')) === 0)
  expect([cluster.history.get('new'), cluster.history.get('kept')]).toEqual([[1, 0], [1]])
})

it('gives a new workload of an Environment the grace of its class', async () => {
  await cluster.client.create(environmentClass.type, {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'EnvironmentClass',
    metadata: { name: 'preview' },
    spec: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      sleep: { awake: sleepsNow },
    },
  } as KubeObject)
  await cluster.client.create(environment.type, {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Environment',
    metadata: { name: 'shop', namespace },
    spec: { className: 'preview' },
  } as KubeObject)
  // Made 14 minutes ago by the clock of the activator, which waits for 15.
  await cluster.addDeployment('old', 1)
  const made = Date.parse((await get(deployments, 'old')).metadata.creationTimestamp!)
  const late = fastClock(20, made + 14 * 60_000)
  await using _ = await startReplica(server.transport, { clock: late })
  await until(async () => (await replicasOf('old')) === 0)
  expect(late.now() - made).toBeGreaterThanOrEqual(15 * 60_000)
})
