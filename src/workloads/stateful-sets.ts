import type { Key } from '../kube/key.ts'
import { Controller } from '../runtime/controller.ts'
import { settled, type Outcome } from '../runtime/outcome.ts'
import { templateHash } from './deployments.ts'
import { createNew, writeStatus, type WorkloadPorts } from './ports.ts'
import { removeOwned } from './remove.ts'
import { ownerKeys } from './replica-sets.ts'
import {
  controllerRef,
  controllerUid,
  isPodFinished,
  isPodReady,
  pods,
  statefulSets,
  type Pod,
  type Workload,
} from './types.ts'

interface StatefulSetSpec {
  readonly serviceName?: string
  readonly podManagementPolicy?: 'OrderedReady' | 'Parallel'
}

type StatefulSet = Workload<StatefulSetSpec>

const revisionLabel = 'controller-revision-hash'

/** What a StatefulSet does next: Pods come in order and go in reverse, each ready before the next is touched. */
export function planOrdinals(
  set: StatefulSet,
  owned: readonly Pod[],
): { readonly create: readonly number[]; readonly remove: readonly Pod[] } {
  const wanted = set.spec.replicas ?? 1
  const byOrdinal = new Map(owned.map((pod) => [ordinalOf(pod), pod]))
  const surplus = owned
    .filter((pod) => ordinalOf(pod) >= wanted || isPodFinished(pod))
    .toSorted((left, right) => ordinalOf(right) - ordinalOf(left))
  const isParallel = set.spec.podManagementPolicy === 'Parallel'
  const missing = Array.from({ length: wanted }, (_, ordinal) => ordinal).filter((ordinal) => !byOrdinal.has(ordinal))
  if (isParallel) return { create: missing, remove: surplus.filter(isStaying) }
  const [first] = missing
  const unready = owned.filter((pod) => ordinalOf(pod) < (first ?? wanted) && !isPodReady(pod))
  if (first !== undefined && unready.length === 0) return { create: [first], remove: [] }
  if (surplus.length > 0)
    return { create: [], remove: surplus.some((pod) => !isStaying(pod)) ? [] : surplus.slice(0, 1) }
  const hash = templateHash(set.spec.template)
  const outdated = owned
    .filter((pod) => pod.metadata.labels?.[revisionLabel] !== hash)
    .toSorted((left, right) => ordinalOf(right) - ordinalOf(left))
  const isMoving = owned.some((pod) => !isPodReady(pod) && pod.metadata.labels?.[revisionLabel] === hash)
  return { create: [], remove: isMoving ? [] : outdated.slice(0, 1).filter(isStaying) }
}

/** Keeps the numbered Pods of StatefulSets. */
export function statefulSetController({ client, informers, ports }: WorkloadPorts): Controller {
  const sets = informers.open<StatefulSet>(client, statefulSets)
  const owned = informers.open<Pod>(client, pods, { indexes: { controller: controllerUid } })
  const controller = new Controller({ name: 'statefulsets', reconcile, ports, concurrency: 2 })
  controller.watch(sets)
  controller.watch(owned, ({ object }) => ownerKeys(object, 'StatefulSet'))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const set = sets.get(key.namespace, key.name)
    if (!set || !owned.synced) return settled
    const mine = owned.byIndex('controller', set.metadata.uid)
    if (!set.metadata.deletionTimestamp) {
      const plan = planOrdinals(set, mine)
      for (const ordinal of plan.create) {
        const pod = await createNew(client, pods, podFor(set, ordinal))
        if (pod) controller.expect(key, pod.metadata.resourceVersion, owned as never)
      }
      for (const pod of plan.remove) await removeOwned(client, pods, pod)
    }
    await writeStatus(client, statefulSets, set, statusOf(set, mine))
    return settled
  }
}

function podFor(set: StatefulSet, ordinal: number) {
  const { template, serviceName } = set.spec
  const name = `${set.metadata.name}-${ordinal}`
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      name,
      namespace: set.metadata.namespace ?? '',
      labels: {
        ...template.metadata?.labels,
        [revisionLabel]: templateHash(template),
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
      },
      ownerReferences: [controllerRef(statefulSets, set)],
    },
    spec: { ...template.spec, hostname: name, ...(serviceName ? { subdomain: serviceName } : {}) },
  }
}

function statusOf(set: StatefulSet, mine: readonly Pod[]): Record<string, unknown> {
  const hash = templateHash(set.spec.template)
  const living = mine.filter((pod) => !isPodFinished(pod))
  const ready = living.filter(isPodReady)
  const updated = living.filter((pod) => pod.metadata.labels?.[revisionLabel] === hash)
  return {
    observedGeneration: set.metadata.generation,
    replicas: living.length,
    readyReplicas: ready.length,
    availableReplicas: ready.length,
    currentReplicas: updated.length,
    updatedReplicas: updated.length,
    currentRevision: `${set.metadata.name}-${hash}`,
    updateRevision: `${set.metadata.name}-${hash}`,
    collisionCount: 0,
  }
}

function ordinalOf({ metadata }: Pod): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1))
}

function isStaying({ metadata }: Pod): boolean {
  return !metadata.deletionTimestamp
}
