import {
  daemonSets,
  deployments,
  jobs,
  nodes,
  pods,
  replicaSets,
  replicationControllers,
  statefulSets,
} from '../../src/kube/core-types.ts'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType, StoredObject } from '../../src/kube/object.ts'
import { type Pod, type PodSpec } from '../../src/workloads/types.ts'
import { isReady, startNodeWorld, until, type NodeWorld } from '../node-world.ts'

let world: NodeWorld

beforeEach(async () => {
  world = await startNodeWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const file = (name: string) => join(world.directory, name)

/** A workload of one container that runs this in a shell. */
function workload(
  kind: string,
  script: string,
  fields: Record<string, unknown> = {},
  pod: Partial<PodSpec> = {},
): KubeObject {
  const labels = { app: 'w' }
  const spec = { ...pod, containers: [{ name: 'c', image: 'none', command: ['sh', '-c', script] }] }
  const isJob = kind === 'Job'
  return {
    apiVersion: isJob ? 'batch/v1' : 'apps/v1',
    kind,
    metadata: { name: 'w', namespace: 'team' },
    spec: {
      ...(isJob ? {} : { selector: { matchLabels: labels } }),
      ...fields,
      template: { metadata: { labels }, spec },
    },
  }
}

const at = { namespace: 'team', name: 'w' }
const setScript = (type: typeof deployments, script: string) =>
  world.client.patch(type, at, {
    type: 'strategic',
    body: { spec: { template: { spec: { containers: [{ name: 'c', command: ['sh', '-c', script] }] } } } },
  })
const areReady = (count: number) =>
  until(async () => {
    const all = await world.pods()
    return all.length === count && all.every(isReady) && all
  })

interface JobStatus {
  readonly active?: number
  readonly succeeded?: number
  readonly completedIndexes?: string
  readonly startTime?: string
  readonly conditions?: readonly { type: string; status: string; reason?: string }[]
}
const job = () => world.client.get<StoredObject & { status?: JobStatus }>(jobs, at)
const jobHas = (condition: string, value = 'True') =>
  until(async () => {
    const { status } = await job()
    return status?.conditions?.find(({ type, status: is }) => type === condition && is === value) && status
  })

describe('a Deployment', () => {
  it('with strategy Recreate has no new Pod before the last old one is deleted', async () => {
    const one = `trap 'sleep 0.5; echo end >> ${file('runs')}; exit 0' TERM; echo start >> ${file('runs')}; while true; do sleep 0.05; done`
    await world.create(workload('Deployment', one, { strategy: { type: 'Recreate' } }))
    await until(() => existsSync(file('runs')))
    await setScript(deployments, `${one} # again`)
    await until(() => readFileSync(file('runs'), 'utf8').split('\n').length > 3)
    expect(readFileSync(file('runs'), 'utf8')).toBe('start\nend\nstart\n')
  })

  it('counts Pods as available only after minReadySeconds', async () => {
    await world.create(workload('Deployment', 'sleep 1000', { minReadySeconds: 2 }))
    const status = async () =>
      (await world.client.get<StoredObject & { status?: Record<string, number> }>(deployments, at)).status
    const early = await until(async () => {
      const found = await status()
      return found?.['readyReplicas'] === 1 && found
    })
    expect(early['availableReplicas'] ?? 0).toBe(0)
    await until(async () => (await status())?.['availableReplicas'] === 1)
  })
})

describe('a StatefulSet', () => {
  it('does not update Pods below its partition, and recreates them unchanged', async () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
    await world.create(
      workload(
        'StatefulSet',
        'sleep 1000',
        { replicas: 2, serviceName: 'w', updateStrategy },
        { terminationGracePeriodSeconds: 0 },
      ),
    )
    await areReady(2)
    await setScript(statefulSets, 'sleep 2000')
    const scripts = async () => {
      const all = (await world.pods()).toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
      return all.length === 2 && all.every(isReady) ? all.map(({ spec }) => spec.containers[0]?.command?.[2]) : []
    }
    await until(async () => (await scripts()).join() === 'sleep 1000,sleep 2000')
    const [first] = await world.pods()
    await world.client.deleteObject(pods, { namespace: 'team', name: 'w-0' }, { gracePeriodSeconds: 0 })
    await until(
      async () => (await world.pod('w-0'))?.metadata.uid !== first?.metadata.uid && (await scripts()).length === 2,
    )
    expect(await scripts()).toEqual(['sleep 1000', 'sleep 2000'])
  })
})

describe('a StatefulSet with volume claims', () => {
  it('runs Pods that refer to their claims', async () => {
    const container = { name: 'c', image: 'none', volumeMounts: [{ name: 'data', mountPath: '/data' }] }
    const set = workload('StatefulSet', '', {
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    })
    const { template } = set.spec as { template: object }
    await world.create({
      ...set,
      spec: { ...(set.spec as object), template: { ...template, spec: { containers: [container] } } },
    })
    const [pod] = await areReady(1)
    expect(pod?.spec.volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: 'data-w-0' } })
  })
})

describe('a Job', () => {
  it('that another controller manages is left alone', async () => {
    await world.create(workload('Job', 'true', { managedBy: 'example.com/queue' }, { restartPolicy: 'Never' }))
    const other = {
      ...workload('Job', 'true', {}, { restartPolicy: 'Never' }),
      metadata: { name: 'o', namespace: 'team' },
    }
    await world.create(other)
    await until(async () => (await world.pods()).length === 1)
    expect((await world.client.get<StoredObject>(jobs, at)).status ?? {}).toEqual({})
  })

  it('with restartPolicy OnFailure fails after backoffLimit restarts', async () => {
    await world.create(workload('Job', 'exit 1', { backoffLimit: 1 }, { restartPolicy: 'OnFailure' }))
    const status = await jobHas('Failed')
    expect(status.conditions?.find(({ type }) => type === 'Failed')?.reason).toBe('BackoffLimitExceeded')
  })

  it('that is indexed runs each index once, and sets JOB_COMPLETION_INDEX', async () => {
    appendFileSync(file('seen'), '')
    const script = `echo $JOB_COMPLETION_INDEX >> ${file('seen')}`
    await world.create(
      workload(
        'Job',
        script,
        { completionMode: 'Indexed', completions: 4, parallelism: 2 },
        { restartPolicy: 'Never' },
      ),
    )
    const status = await jobHas('Complete')
    expect(status.completedIndexes).toBe('0-3')
    expect(readFileSync(file('seen'), 'utf8').split('\n').slice(0, -1).toSorted()).toEqual(['0', '1', '2', '3'])
  })

  it('that is suspended has no Pods until it is resumed', async () => {
    await world.create(
      workload(
        'Job',
        `[ -e ${file('go')} ] || sleep 1000`,
        {},
        { restartPolicy: 'Never', terminationGracePeriodSeconds: 0 },
      ),
    )
    await areReady(1)
    const suspend = (value: boolean) =>
      world.client.patch(jobs, at, { type: 'merge', body: { spec: { suspend: value } } })
    await suspend(true)
    const status = await jobHas('Suspended')
    expect(status.startTime).toBeUndefined()
    await until(async () => (await world.pods()).length === 0)
    appendFileSync(file('go'), '')
    await suspend(false)
    await jobHas('Complete')
    expect((await jobHas('Suspended', 'False')).succeeded).toBe(1)
  })
})

describe('a cordoned node', () => {
  const cordon = (unschedulable: boolean) =>
    world.client.patch(nodes, { namespace: '', name: 'here' }, { type: 'merge', body: { spec: { unschedulable } } })

  it('accepts only Pods of DaemonSets, reports why, and accepts all once uncordoned', async () => {
    await cordon(true)
    await world.create(workload('DaemonSet', 'sleep 1000'))
    const [daemon] = await areReady(1)
    await world.start('p', { command: ['sleep', '1000'] })
    const waiting = await until(async () => {
      const pod = await world.pod('p')
      return pod?.status?.conditions?.some(({ type }) => type === 'PodScheduled') && pod
    })
    expect((waiting as Pod).status?.conditions).toMatchObject([
      { status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available: 1 node(s) were unschedulable.' },
    ])
    expect((waiting as Pod).spec.nodeName).toBeUndefined()
    expect((await world.pods()).map(({ metadata }) => metadata.uid)).toContain(daemon?.metadata.uid)
    await cordon(false)
    await areReady(2)
  })
})

describe('a recreated owner', () => {
  const labelled = (uid: string | undefined) => (pods: readonly Pod[]) =>
    pods.every(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller))

  /** What an orphaning delete leaves, in a world without a garbage collector. */
  const orphan = async (type: ResourceType, ofType: ResourceType, dependents: readonly StoredObject[]) => {
    await world.client.deleteObject(type, at, { propagationPolicy: 'Background' })
    const body = { metadata: { ownerReferences: null } }
    for (const { metadata } of dependents)
      await world.client.patch(ofType, { namespace: 'team', name: metadata.name }, { type: 'merge', body })
  }

  it.each([
    ['ReplicaSet', replicaSets],
    ['StatefulSet', statefulSets],
    ['DaemonSet', daemonSets],
    ['ReplicationController', replicationControllers],
  ] as const)('adopts the Pods that an orphaning delete of a %s left', async (kind, type) => {
    const isPlain = kind === 'ReplicationController'
    const set = {
      ...workload(kind, 'sleep 1000', isPlain ? { selector: { app: 'w' } } : {}),
      ...(isPlain ? { apiVersion: 'v1' } : {}),
    }
    await world.create(set)
    const before = await areReady(1)
    await orphan(type, pods, before)
    const { metadata } = await world.client.create<StoredObject>(type, set)
    await until(async () => labelled(metadata.uid)(await world.pods()))
    await until(async () => isSettled(await world.client.get<StoredObject>(type, at)))
    expect((await world.pods()).map((pod) => pod.metadata.uid)).toEqual(before.map((pod) => pod.metadata.uid))
  })

  it('adopts the ReplicaSets of a Deployment, and so reaches its replicas', async () => {
    const set = workload('Deployment', 'sleep 1000', { replicas: 2 })
    await world.create(set)
    const before = await areReady(2)
    await orphan(
      deployments,
      replicaSets,
      (await world.client.list<StoredObject>(replicaSets, { namespace: 'team' })).items,
    )
    await world.client.create(deployments, set)
    await until(async () => isSettled(await world.client.get<StoredObject>(deployments, at)))
    expect((await world.pods()).map((pod) => pod.metadata.uid)).toEqual(before.map((pod) => pod.metadata.uid))
  })

  it('releases a Pod whose labels no longer match, and replaces it', async () => {
    await world.create(workload('ReplicaSet', 'sleep 1000'))
    const [first] = await areReady(1)
    const name = first?.metadata.name ?? ''
    await world.client.patch(
      pods,
      { namespace: 'team', name },
      { type: 'merge', body: { metadata: { labels: { app: 'x' } } } },
    )
    await areReady(2)
    expect((await world.pod(name))?.metadata.ownerReferences).toBeUndefined()
  })

  it('adopts no Pod while it is being deleted', async () => {
    await world.create(workload('ReplicaSet', 'sleep 1000', { replicas: 0 }))
    const body = { metadata: { finalizers: ['example.com/hold'] } }
    await world.client.patch(replicaSets, at, { type: 'merge', body })
    await world.client.deleteObject(replicaSets, at, { propagationPolicy: 'Background' })
    await world.start('w', { command: ['sleep', '1000'] })
    await areReady(1)
    expect((await world.pod('w'))?.metadata.ownerReferences).toBeUndefined()
  })
})

function isSettled({ status }: StoredObject): boolean {
  const { readyReplicas, numberReady, observedGeneration } = (status ?? {}) as Record<string, number>
  return Boolean(observedGeneration && (readyReplicas ?? numberReady))
}
