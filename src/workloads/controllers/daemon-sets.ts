import { daemonSets, pods } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { templateHash } from './deployments.ts'
import { ownerController } from '../adoption.ts'
import { createNew, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { RevisionHistory, revisionLabel } from './revisions.ts'
import { availability, isPodFinished, isPodReady, podOf, type Pod, type Workload } from '../types.ts'

interface DaemonSetSpec {
  readonly updateStrategy?: { readonly type?: 'RollingUpdate' | 'OnDelete' }
}

type DaemonSet = Workload<DaemonSetSpec>

/** Runs one Pod per DaemonSet, because there is one node. */
export function daemonSetController(workloadPorts: WorkloadPorts): Controller {
  const { client, ports } = workloadPorts
  const own = ownerController<DaemonSet, Pod>(workloadPorts, { ownerType: daemonSets, type: pods, reconcile })
  const { owners: sets, claims } = own
  const history = new RevisionHistory(workloadPorts, daemonSets, own)
  return own.controller

  async function reconcile(key: Key): Promise<Outcome> {
    const set = sets.get(key.namespace, key.name)
    if (!set) return settled
    if (!claims.dependents.synced || !history.informer.synced) return whenRead(workloadPorts)
    const mine = await claims.of(set)
    if (!set.metadata.deletionTimestamp) await adjust(key, set, mine)
    const { available, nextAt } = availability(mine, set.spec.minReadySeconds, ports.clock.now())
    await writeStatus(client, daemonSets, set, statusOf(set, mine, available))
    return nextAt === undefined ? settled : wakeAt(nextAt)
  }

  async function adjust(key: Key, set: DaemonSet, mine: readonly Pod[]): Promise<void> {
    const hash = templateHash(set.spec.template)
    const hashOf = (pod: Pod) => pod.metadata.labels?.[revisionLabel] ?? ''
    await history.record(key, set, new Set(mine.map((pod) => `${set.metadata.name}-${hashOf(pod)}`)))
    const isOutdated = (pod: Pod) => hashOf(pod) !== hash && set.spec.updateStrategy?.type !== 'OnDelete'
    for (const pod of mine)
      if ((isOutdated(pod) || isPodFinished(pod)) && !pod.metadata.deletionTimestamp)
        await deleteOwned(client, pods, pod)
    if (mine.length > 0) return
    const { template } = set.spec
    const labels = { ...template.metadata?.labels, [revisionLabel]: hash }
    const tolerations = [...(template.spec.tolerations ?? []), ...daemonTolerations]
    const metadata = { generateName: `${set.metadata.name}-`, labels }
    const pod = podOf({ type: daemonSets, owner: set, template }, metadata, { tolerations })
    claims.expect(key, await createNew(client, pods, pod))
  }
}

/** As in Kubernetes, Pods of a DaemonSet run on a cordoned node. */
const daemonTolerations = [
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
] as const

function statusOf(set: DaemonSet, mine: readonly Pod[], available: number): Record<string, unknown> {
  const running = mine.filter((pod) => !isPodFinished(pod) && !pod.metadata.deletionTimestamp)
  const ready = running.filter(isPodReady).length
  const updated = running.filter(
    (pod) => pod.metadata.labels?.[revisionLabel] === templateHash(set.spec.template),
  ).length
  return {
    observedGeneration: set.metadata.generation,
    currentNumberScheduled: running.length,
    desiredNumberScheduled: 1,
    numberMisscheduled: 0,
    numberReady: ready,
    numberAvailable: available,
    ...(available < 1 ? { numberUnavailable: 1 } : {}),
    updatedNumberScheduled: updated,
  }
}
