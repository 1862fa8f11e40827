import { deployments, podDisruptionBudgets, pods, replicaSets, statefulSets } from '../../kube/core-types.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import { selects } from '../../kube/selector.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { disruptionStatus, nextRecount, type DisruptionBudget, type Observed } from './disruption-status.ts'
import { writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { type Pod, type Workload } from '../types.ts'

/** Keeps `disruptionsAllowed` of PodDisruptionBudgets current; the API server decrements it with each eviction. */
export function disruptionBudgetController({ client, informers, ports }: WorkloadPorts): Controller {
  const budgets = informers.open<DisruptionBudget>(client, podDisruptionBudgets)
  const running = informers.open<Pod>(client, pods)
  const owners = [deployments, replicaSets, statefulSets].map((type) => ({
    kind: type.kind,
    informer: informers.open<Workload>(client, type),
  }))
  const controller = new Controller({ name: 'disruptionbudgets', reconcile, ports, concurrency: 2 })
  controller.watch(budgets)
  controller.watch(running, ({ object, previous }) =>
    budgets
      .list(object.metadata.namespace)
      .filter(
        (budget) =>
          selects(budget.spec.selector, object.metadata.labels) ||
          (previous && selects(budget.spec.selector, previous.metadata.labels)),
      )
      .map((budget) => keyOf(budget)),
  )
  // The expected Pods of a budget follow from the replicas of their controllers.
  for (const { informer } of owners)
    controller.watch(informer, ({ object }) => budgets.list(object.metadata.namespace).map((budget) => keyOf(budget)))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const budget = budgets.get(key.namespace, key.name)
    if (!budget || budget.metadata.deletionTimestamp) return settled
    if (!running.synced || owners.some(({ informer }) => !informer.synced)) return whenRead({ ports })
    const selected = running.list(key.namespace).filter((pod) => selects(budget.spec.selector, pod.metadata.labels))
    const status = disruptionStatus({ budget, pods: selected, wanted: wantedBy(selected) }, ports.clock.now())
    const written = await writeStatus(client, podDisruptionBudgets, budget, status)
    if (written) controller.expect(key, written.metadata.resourceVersion, budgets as never)
    const at = nextRecount(status)
    return at === undefined ? settled : wakeAt(at)
  }

  /** The sum of the replicas of these Pods' controllers, each counted once. */
  function wantedBy(selected: readonly Pod[]): Observed['wanted'] {
    const replicas = new Map<string, number>()
    for (const pod of selected) {
      const owner = scalerOf(pod)
      if (!owner) return { problem: `found no controller ref for pod "${pod.metadata.name}"` }
      replicas.set(owner.metadata.uid, owner.spec.replicas ?? 1)
    }
    return [...replicas.values()].reduce((sum, each) => sum + each, 0)
  }

  /** The top-most controller with replicas: a Deployment, a ReplicaSet without one, or a StatefulSet. */
  function scalerOf(object: Pod | Workload): Workload | undefined {
    const reference = object.metadata.ownerReferences?.find((each) => each.controller)
    const informer = owners.find(({ kind }) => kind === reference?.kind)?.informer
    const owner = informer?.get(object.metadata.namespace ?? '', reference?.name ?? '')
    if (!owner || owner.metadata.uid !== reference?.uid) return undefined
    return scalerOf(owner) ?? owner
  }
}
