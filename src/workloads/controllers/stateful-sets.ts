import { pods, statefulSets } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { ownerController } from '../adoption.ts'
import { createNew, maxPodsAtOnce, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { RevisionHistory, revisionLabel, revisionName } from './revisions.ts'
import { availability, isPodFinished, isPodReady, podOf, type Pod, type PodTemplate, type Workload } from '../types.ts'

interface StatefulSetSpec {
  readonly serviceName?: string
  readonly podManagementPolicy?: 'OrderedReady' | 'Parallel'
  readonly ordinals?: { readonly start?: number }
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  readonly updateStrategy?: {
    readonly type?: 'RollingUpdate' | 'OnDelete'
    readonly rollingUpdate?: { readonly partition?: number }
  }
}

type StatefulSet = Workload<StatefulSetSpec>

/** Plans the next step: Pods are created in order and deleted in reverse order, each ready before the next is touched. */
export function planOrdinals(
  set: StatefulSet,
  owned: readonly Pod[],
): { readonly create: readonly number[]; readonly delete: readonly Pod[] } {
  const wanted = set.spec.replicas ?? 1
  const start = set.spec.ordinals?.start ?? 0
  const byOrdinal = new Map(owned.map((pod) => [ordinalOf(pod), pod]))
  const isSurplus = (pod: Pod) => ordinalOf(pod) < start || ordinalOf(pod) >= start + wanted
  const surplus = owned.filter((pod) => isSurplus(pod) || isPodFinished(pod)).toSorted(lastFirst)
  const isParallel = set.spec.podManagementPolicy === 'Parallel'
  const missing: number[] = []
  for (let ordinal = start; ordinal < start + wanted && missing.length < maxPodsAtOnce; ordinal++)
    if (!byOrdinal.has(ordinal)) missing.push(ordinal)
  if (isParallel && missing.length + surplus.length > 0)
    return { create: missing, delete: surplus.filter(isNotTerminating).slice(0, maxPodsAtOnce) }
  const [first] = missing
  const unready = owned.filter((pod) => ordinalOf(pod) < (first ?? start + wanted) && !isPodReady(pod))
  if (first !== undefined && unready.length === 0) return { create: [first], delete: [] }
  if (surplus.length > 0)
    return { create: [], delete: surplus.some((pod) => !isNotTerminating(pod)) ? [] : surplus.slice(0, 1) }
  return { create: [], delete: nextOutdated(set, owned) }
}

/** The next Pod to recreate from the current template: highest ordinal first, one at a time, none below the partition. */
function nextOutdated(set: StatefulSet, owned: readonly Pod[]): readonly Pod[] {
  if (set.spec.updateStrategy?.type === 'OnDelete') return []
  const isOutdated = ({ metadata }: Pod) => metadata.labels?.[revisionLabel] !== revisionName(set)
  const outdated = owned.filter((pod) => isOutdated(pod) && ordinalOf(pod) >= partitionOf(set)).toSorted(lastFirst)
  const isUpdating = owned.some((pod) => !isPodReady(pod) && !isOutdated(pod))
  return isUpdating ? [] : outdated.slice(0, 1).filter(isNotTerminating)
}

function partitionOf({ spec }: StatefulSet): number {
  return spec.updateStrategy?.rollingUpdate?.partition ?? 0
}

/** Runs the ordinal Pods of StatefulSets. */
export function statefulSetController(workloadPorts: WorkloadPorts): Controller {
  const { client, ports } = workloadPorts
  const own = ownerController<StatefulSet, Pod>(workloadPorts, {
    ownerType: statefulSets,
    type: pods,
    reconcile,
    isMember: (set, pod) => pod.metadata.name.replace(/-\d+$/, '') === set.metadata.name,
  })
  const { controller, owners: sets, claims } = own
  const history = new RevisionHistory(workloadPorts, statefulSets, own)
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const set = sets.get(key.namespace, key.name)
    if (!set) return settled
    if (!claims.dependents.synced || !history.informer.synced) return whenRead(workloadPorts)
    const mine = await claims.of(set)
    if (!set.metadata.deletionTimestamp) await adjust(key, set, mine)
    const now = ports.clock.now()
    const { available, nextAt } = availability(mine, set.spec.minReadySeconds, now)
    const written = await writeStatus(client, statefulSets, set, statusOf(set, mine, available))
    if (written) controller.expect(key, written.metadata.resourceVersion)
    return nextAt === undefined ? settled : wakeAt(nextAt)
  }

  async function adjust(key: Key, set: StatefulSet, mine: readonly Pod[]): Promise<void> {
    const used = new Set(mine.map(({ metadata }) => metadata.labels?.[revisionLabel] ?? ''))
    await history.record(key, set, new Set([...used, currentRevisionOf(set)]))
    const plan = planOrdinals(set, mine)
    for (const ordinal of plan.create)
      claims.expect(key, await createNew(client, pods, podFor(set, ordinal, revisionFor(set, ordinal))))
    for (const pod of plan.delete) await deleteOwned(client, pods, pod)
  }

  /** The template of a Pod: below the partition the current revision, otherwise the update revision. */
  function revisionFor(set: StatefulSet, ordinal: number): { name: string; template: PodTemplate } {
    const current = currentRevisionOf(set)
    const old = ordinal < partitionOf(set) ? history.templateOf(set, current) : undefined
    return old ? { name: current, template: old } : { name: revisionName(set), template: set.spec.template }
  }
}

/** The last revision that all Pods had. */
function currentRevisionOf(set: StatefulSet): string {
  const { currentRevision } = (set.status ?? {}) as { currentRevision?: string }
  return currentRevision ?? revisionName(set)
}

function podFor(set: StatefulSet, ordinal: number, revision: { name: string; template: PodTemplate }) {
  const { template } = revision
  const { serviceName } = set.spec
  const name = `${set.metadata.name}-${ordinal}`
  const labels = {
    ...template.metadata?.labels,
    [revisionLabel]: revision.name,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
  }
  const claims = set.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name) ?? []
  const others = template.spec.volumes?.filter((volume) => !claims.includes(volume.name)) ?? []
  const claimed = claims.map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: `${claim}-${name}` } }))
  const volumes = claims.length > 0 ? { volumes: [...others, ...claimed] } : {}
  const spec = { hostname: name, ...(serviceName ? { subdomain: serviceName } : {}), ...volumes }
  return podOf({ type: statefulSets, owner: set, template }, { name, labels }, spec)
}

function statusOf(set: StatefulSet, mine: readonly Pod[], available: number): Record<string, unknown> {
  const update = revisionName(set)
  const running = mine.filter((pod) => !isPodFinished(pod))
  const ready = running.filter(isPodReady).length
  const countOf = (revision: string) =>
    running.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision).length
  const updated = countOf(update)
  const isComplete = updated === running.length && ready === running.length
  const current = isComplete ? update : currentRevisionOf(set)
  return {
    observedGeneration: set.metadata.generation,
    replicas: running.length,
    readyReplicas: ready,
    availableReplicas: available,
    currentReplicas: countOf(current),
    updatedReplicas: updated,
    currentRevision: current,
    updateRevision: update,
    collisionCount: 0,
  }
}

function lastFirst(left: Pod, right: Pod): number {
  return ordinalOf(right) - ordinalOf(left)
}

function ordinalOf({ metadata }: Pod): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1))
}

function isNotTerminating({ metadata }: Pod): boolean {
  return !metadata.deletionTimestamp
}
