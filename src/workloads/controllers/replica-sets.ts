import { pods } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { ResourceType } from '../../kube/object.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { formatTime } from '../../kube/time.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { ownerController } from '../adoption.ts'
import { createNew, maxPodsAtOnce, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { availability, isPodFinished, isPodReady, podOf, type Pod, type PodCondition, type Workload } from '../types.ts'

/** Plans which Pods a ReplicaSet creates and deletes to reach its replicas. */
export function planReplicas(
  wanted: number,
  owned: readonly Pod[],
): { readonly create: number; readonly delete: readonly Pod[] } {
  const running = owned.filter((pod) => !pod.metadata.deletionTimestamp && !isPodFinished(pod))
  const missing = wanted - running.length
  if (missing >= 0) return { create: missing, delete: [] }
  return { create: 0, delete: running.toSorted(byDeletionOrder).slice(0, -missing) }
}

/** Runs the replicas of each object of a kind: ReplicaSets or ReplicationControllers. */
export function replicaController(type: ResourceType, workloadPorts: WorkloadPorts): Controller {
  const { client, ports } = workloadPorts
  const options = { ownerType: type, type: pods, reconcile, concurrency: 4 }
  const { controller, owners: sets, claims } = ownerController<Workload, Pod>(workloadPorts, options)
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const set = sets.get(key.namespace, key.name)
    if (!set) return settled
    if (!claims.dependents.synced) return whenRead(workloadPorts)
    const mine = await claims.of(set)
    const failure = set.metadata.deletionTimestamp ? undefined : await failureOf(adjust(key, set, mine))
    const now = ports.clock.now()
    const { available, nextAt } = availability(mine, set.spec.minReadySeconds, now)
    await writeStatus(client, type, set, withFailure(statusOf(set, mine, available), failure, now))
    if (failure) throw failure
    return nextAt === undefined ? settled : wakeAt(nextAt)
  }

  async function adjust(key: Key, set: Workload, mine: readonly Pod[]): Promise<void> {
    const plan = planReplicas(set.spec.replicas ?? 1, mine)
    const pod = podOf({ type, owner: set, template: set.spec.template }, { generateName: `${set.metadata.name}-` })
    for (let index = 0; index < Math.min(plan.create, maxPodsAtOnce); index++)
      claims.expect(key, await createNew(client, pods, pod))
    for (const pod of plan.delete.slice(0, maxPodsAtOnce)) await deleteOwned(client, pods, pod)
  }
}

const replicaFailure = 'ReplicaFailure'

/** The status with the reason why Pods could not be created, such as a quota, if there is one. */
function withFailure({ conditions = [], ...status }: Status, failure: Error | undefined, now: number): Status {
  const before = conditions.find(({ type }) => type === replicaFailure)
  const others = conditions.filter((condition) => condition !== before)
  if (!failure) return others.length > 0 ? { ...status, conditions: others } : status
  // The message names another Pod each time: the first one stays, so that retries write nothing.
  const { message } = failure
  const condition = { type: replicaFailure, status: 'True', reason: 'FailedCreate', message } as const
  return { ...status, conditions: [...others, before ?? { ...condition, lastTransitionTime: formatTime(now) }] }
}

interface Status extends Record<string, unknown> {
  readonly conditions?: readonly PodCondition[]
}

function failureOf(work: Promise<void>): Promise<Error | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => error as Error,
  )
}

function statusOf(set: Workload, mine: readonly Pod[], available: number): Status {
  const running = mine.filter((pod) => !pod.metadata.deletionTimestamp && !isPodFinished(pod))
  return {
    ...set.status,
    replicas: running.length,
    fullyLabeledReplicas: running.length,
    readyReplicas: running.filter(isPodReady).length,
    availableReplicas: available,
    terminatingReplicas: mine.filter((pod) => pod.metadata.deletionTimestamp && !isPodFinished(pod)).length,
    observedGeneration: set.metadata.generation,
  }
}

/** Deletion order of surplus Pods: those that are not ready first, then the newest. */
function byDeletionOrder(left: Pod, right: Pod): number {
  const readiness = Number(isPodReady(left)) - Number(isPodReady(right))
  if (readiness !== 0) return readiness
  return left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1
}
