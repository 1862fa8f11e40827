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
  daemonSets,
  isPodFinished,
  isPodReady,
  pods,
  type Pod,
  type Workload,
} from './types.ts'

const revisionLabel = 'controller-revision-hash'

/** Keeps one Pod per DaemonSet: there is one node. */
export function daemonSetController({ client, informers, ports }: WorkloadPorts): Controller {
  const sets = informers.open<Workload>(client, daemonSets)
  const owned = informers.open<Pod>(client, pods, { indexes: { controller: controllerUid } })
  const controller = new Controller({ name: 'daemonsets', reconcile, ports, concurrency: 2 })
  controller.watch(sets)
  controller.watch(owned, ({ object }) => ownerKeys(object, 'DaemonSet'))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const set = sets.get(key.namespace, key.name)
    if (!set || !owned.synced) return settled
    const mine = owned.byIndex('controller', set.metadata.uid)
    if (!set.metadata.deletionTimestamp) await adjust(key, set, mine)
    await writeStatus(client, daemonSets, set, statusOf(set, mine))
    return settled
  }

  async function adjust(key: Key, set: Workload, mine: readonly Pod[]): Promise<void> {
    const hash = templateHash(set.spec.template)
    const isCurrent = (pod: Pod) => pod.metadata.labels?.[revisionLabel] === hash && !isPodFinished(pod)
    for (const pod of mine) if (!isCurrent(pod) && !pod.metadata.deletionTimestamp) await removeOwned(client, pods, pod)
    if (mine.length > 0) return
    const { template } = set.spec
    const created = await createNew(client, pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...template.metadata,
        generateName: `${set.metadata.name}-`,
        namespace: set.metadata.namespace ?? '',
        labels: { ...template.metadata?.labels, [revisionLabel]: hash },
        ownerReferences: [controllerRef(daemonSets, set)],
      },
      spec: template.spec,
    })
    if (created) controller.expect(key, created.metadata.resourceVersion, owned as never)
  }
}

function statusOf(set: Workload, mine: readonly Pod[]): Record<string, unknown> {
  const living = mine.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
  const ready = living.filter(isPodReady).length
  const updated = living.filter(
    (pod) => pod.metadata.labels?.[revisionLabel] === templateHash(set.spec.template),
  ).length
  return {
    observedGeneration: set.metadata.generation,
    currentNumberScheduled: living.length,
    desiredNumberScheduled: 1,
    numberMisscheduled: 0,
    numberReady: ready,
    numberAvailable: ready,
    ...(ready < 1 ? { numberUnavailable: 1 } : {}),
    updatedNumberScheduled: updated,
  }
}
