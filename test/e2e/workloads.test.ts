import {
  deployments,
  endpointSlices,
  jobs,
  podDisruptionBudgets,
  pods,
  replicaSets,
} from '../../src/kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import type { DisruptionBudget } from '../../src/workloads/controllers/disruption-status.ts'
import { type Pod } from '../../src/workloads/types.ts'
import { isReady, startNodeWorld, until, type NodeWorld } from '../node-world.ts'

let world: NodeWorld

beforeEach(async () => {
  world = await startNodeWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const listen = `require('http').createServer((q, s) => s.end('hello from ' + process.env.NAME)).listen(process.env.PORT, '127.0.0.1')`

function deployment(replicas: number): KubeObject {
  const container = {
    name: 'web',
    image: 'none',
    command: [process.execPath, '-e', listen],
    env: [{ name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    ports: [{ containerPort: 8080 }],
    readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
  }
  const labels = { app: 'web' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'team' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  }
}

const podsOf = () => world.pods()

describe('workloads on the embedded server', () => {
  it('take no name from the template of their Pods', async () => {
    const { spec, ...rest } = deployment(2)
    const { template } = spec as { template: { metadata: object } }
    const named = { ...template, metadata: { ...template.metadata, name: 'fixed' } }
    await world.create({ ...rest, spec: { ...(spec as object), template: named } })
    const found = await until(async () => {
      const all = await podsOf()
      return all.length === 2 && all
    })
    for (const pod of found || []) expect(pod.metadata.name).toMatch(/^web-/)
  })

  it('says in the status of a ReplicaSet why its Pods cannot be created', async () => {
    const { spec, ...rest } = deployment(1)
    const { template } = spec as { template: { spec: object } }
    const refused = { ...template, spec: { ...template.spec, serviceAccountName: 'missing' } }
    await world.create({ ...rest, spec: { ...(spec as object), template: refused } })
    const conditions = async () => {
      const { items } = await world.client.list<StoredObject>(replicaSets, { namespace: 'team' })
      return (items[0]?.status as { conditions?: object[] } | undefined)?.conditions?.[0]
    }
    expect(await until(conditions)).toMatchObject({ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' })
  })

  it('runs a Deployment as processes behind a Service', async () => {
    await world.create(deployment(2))
    await world.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'team' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    })
    const slices = await until(async () => {
      const { items } = await world.client.list<
        StoredObject & { endpoints: { conditions: { ready: boolean } }[]; ports: { port: number }[] }
      >(endpointSlices, { namespace: 'team' })
      return items.length === 2 && items.every(({ endpoints }) => endpoints[0]?.conditions.ready) && items
    })
    const answers = await Promise.all(
      slices.map(async ({ ports }) => (await fetch(`http://127.0.0.1:${ports[0]?.port}/`)).text()),
    )
    const names = (await podsOf()).map(({ metadata }) => `hello from ${metadata.name}`)
    expect(answers.toSorted()).toEqual(names.toSorted())
  })

  it('stops its processes when it is scaled to zero', async () => {
    await world.create(deployment(1))
    const [pod] = await until(async () => {
      const all = await podsOf()
      return all.length === 1 && all.every(isReady) && all
    })
    const pid = Number(pod?.status?.containerStatuses?.[0]?.containerID?.replace('process://', ''))
    expect(process.kill(pid, 0)).toBe(true)
    await world.client.patch(
      deployments,
      { namespace: 'team', name: 'web' },
      { type: 'merge', body: { spec: { replicas: 0 } } },
      { subresource: 'scale' },
    )
    await until(async () => (await podsOf()).length === 0)
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it('runs a Job to completion and keeps its log', async () => {
    await world.create({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'team' },
      spec: {
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'c', image: 'none', command: ['sh', '-c', 'echo one; echo two >&2; exit 0'] }],
          },
        },
      },
    })
    await until(async () => {
      const job = await world.client.get<
        StoredObject & { status?: { succeeded?: number; conditions?: { type: string }[] } }
      >(jobs, { namespace: 'team', name: 'j' })
      return job.status?.conditions?.some(({ type }) => type === 'Complete')
    })
    const [pod] = await podsOf()
    const said: string[] = []
    for await (const chunk of world.node.logs(pod as Pod, 'c', { timestamps: false, follow: false, previous: false }))
      said.push(chunk)
    expect(said.join('').split('\n').toSorted()).toEqual(['', 'one', 'two'])
  })

  it('restarts a crashed container, and reports it', async () => {
    await world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'team' },
      spec: { containers: [{ name: 'c', image: 'x', command: ['sh', '-c', 'exit 3'] }] },
    })
    const pod = await until(async () =>
      (await podsOf()).find(({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1),
    )
    expect(pod.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(3)
  })

  it('simulates a container without a command, and reports it', async () => {
    await world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'team' },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    })
    const pod = await until(async () => (await podsOf()).find(isReady))
    expect(pod.metadata.annotations?.['sojourn.dev/simulated']).toBe('true')
  })

  it('reports what is missing when a container cannot start', async () => {
    const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'absent', key: 'a' } } }]
    await world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'team' },
      spec: { containers: [{ name: 'c', image: 'x', command: ['true'], env }] },
    })
    const pod = await until(async () =>
      (await podsOf()).find(
        ({ status }) => status?.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
      ),
    )
    expect(pod.status?.containerStatuses?.[0]?.state.waiting?.message).toBe('configmap "absent" not found')
  })

  it('evicts no more pods at a time than a disruption budget allows', async () => {
    const template = { metadata: { labels: { app: 'kept' } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } }
    await world.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'kept', namespace: 'team' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'kept' } }, template },
    })
    await world.create({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'kept', namespace: 'team' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'kept' } } },
    })
    const budget = () => world.client.get<DisruptionBudget>(podDisruptionBudgets, { namespace: 'team', name: 'kept' })
    await until(async () => (await budget()).status?.disruptionsAllowed === 1)
    const evict = ({ metadata }: Pod) =>
      world.client.create(
        pods,
        { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name, namespace: 'team' } },
        { subresource: 'eviction' },
      )
    const [first, second] = await podsOf()
    const outcomes = await Promise.allSettled([evict(first as Pod), evict(second as Pod)])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await until(async () => (await budget()).status?.disruptionsAllowed === 1 && (await podsOf()).every(isReady))
    expect((await podsOf()).map(({ metadata }) => metadata.uid)).toContain(second?.metadata.uid)
  })
})
