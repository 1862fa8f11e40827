import { deployments, replicaSets } from '../../kube/core-types.ts'
import { createHash } from 'node:crypto'
import type { Key } from '../../kube/key.ts'
import { type StoredObject, placeOf } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { createNew, writeStatus, type WorkloadPorts } from '../ports.ts'
import { removeOwned } from '../remove.ts'
import { ownerKeys } from './replica-sets.ts'
import { planRollout } from './rollout.ts'
import { controllerRef, controllerUid, type PodTemplate, type Workload } from '../types.ts'

interface DeploymentSpec {
  readonly strategy?: {
    readonly type?: string
    readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string }
  }
  readonly paused?: boolean
  readonly revisionHistoryLimit?: number
  readonly progressDeadlineSeconds?: number
}

type Deployment = Workload<DeploymentSpec>

/** Rolls Deployments out through ReplicaSets, one per revision. */
export function deploymentController({ client, informers, ports, events }: WorkloadPorts): Controller {
  const all = informers.open<Deployment>(client, deployments)
  const sets = informers.open<Workload>(client, replicaSets, { indexes: { controller: controllerUid } })
  const controller = new Controller({ name: 'deployments', reconcile, ports, concurrency: 4 })
  controller.watch(all)
  controller.watch(sets, ({ object }) => ownerKeys(object, 'Deployment'))
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const deployment = all.get(key.namespace, key.name)
    if (!deployment || deployment.metadata.deletionTimestamp || !sets.synced) return settled
    const owned = sets
      .byIndex('controller', deployment.metadata.uid)
      .filter(({ metadata }) => !metadata.deletionTimestamp)
    const current = owned.find((set) => isOfTemplate(set, deployment.spec.template))
    if (!current && !deployment.spec.paused) {
      const created = await createNew(client, replicaSets, replicaSetFor(deployment, owned))
      if (created) controller.expect(key, created.metadata.resourceVersion, sets as never)
      return settled
    }
    if (current) await followRevision(key, deployment, current, owned)
    await rollOut(key, deployment, owned, current)
    await pruneHistory(deployment, owned, current)
    return report(key, deployment, owned, current)
  }

  async function rollOut(
    key: Key,
    deployment: Deployment,
    owned: readonly Workload[],
    current: Workload | undefined,
  ): Promise<void> {
    const { replicas = 1, strategy } = deployment.spec
    const plan = planRollout({
      wanted: replicas,
      strategy: strategy ?? {},
      current,
      owned,
      isPaused: deployment.spec.paused ?? false,
    })
    for (const { set, replicas: next } of plan) {
      const { name, namespace = '', resourceVersion } = set.metadata
      const scaled = await client.patch<StoredObject>(
        replicaSets,
        { namespace, name },
        { type: 'merge', body: { metadata: { resourceVersion }, spec: { replicas: next } } },
      )
      controller.expect(key, scaled.metadata.resourceVersion, sets as never)
      const direction = next > (set.spec.replicas ?? 0) ? 'up' : 'down'
      events.record(deployment, {
        type: 'Normal',
        reason: 'ScalingReplicaSet',
        message: `Scaled ${direction} replica set ${name} from ${set.spec.replicas ?? 0} to ${next}`,
      })
    }
  }

  /** An old template that is wanted again gets the newest number, and the Deployment shows which revision it is at. */
  async function followRevision(
    key: Key,
    deployment: Deployment,
    current: Workload,
    owned: readonly Workload[],
  ): Promise<void> {
    const newest = Math.max(...owned.map(revisionOf))
    const revision = revisionOf(current) < newest ? newest + 1 : newest
    if (revision !== revisionOf(current))
      await annotate(replicaSets, current, { [revisionAnnotation]: String(revision) })
    if (deployment.metadata.annotations?.[revisionAnnotation] === String(revision)) return
    const written = await annotate(deployments, deployment, { [revisionAnnotation]: String(revision) })
    controller.expect(key, written.metadata.resourceVersion)
  }

  function annotate(
    type: typeof deployments,
    { metadata }: StoredObject,
    annotations: Record<string, string>,
  ): Promise<StoredObject> {
    return client.patch(type, placeOf(metadata), { type: 'merge', body: { metadata: { annotations } } })
  }

  async function pruneHistory(
    deployment: Deployment,
    owned: readonly Workload[],
    current: Workload | undefined,
  ): Promise<void> {
    const old = owned
      .filter((set) => set !== current && (set.spec.replicas ?? 0) === 0 && Number(set.status?.replicas ?? 0) === 0)
      .toSorted((left, right) => revisionOf(right) - revisionOf(left))
    for (const set of old.slice(deployment.spec.revisionHistoryLimit ?? 10)) await removeOwned(client, replicaSets, set)
  }

  async function report(
    key: Key,
    deployment: Deployment,
    owned: readonly Workload[],
    current: Workload | undefined,
  ): Promise<Outcome> {
    const now = ports.clock.now()
    const { status, deadlineAt } = deploymentStatus(deployment, { owned, current, now })
    const written = await writeStatus(client, deployments, deployment, status)
    if (written) controller.expect(key, written.metadata.resourceVersion)
    return deadlineAt === undefined ? settled : wakeAt(deadlineAt)
  }
}

const revisionAnnotation = 'deployment.kubernetes.io/revision'

/** The hash by which a template's ReplicaSet is named and its Pods are labelled. */
export function templateHash(template: PodTemplate): string {
  const digest = createHash('sha256').update(JSON.stringify(template)).digest()
  return Array.from(digest.subarray(0, 10), (byte) => safeLetters[byte % safeLetters.length]).join('')
}

const safeLetters = 'bcdfghjklmnpqrstvwxz2456789'

function isOfTemplate(set: Workload, template: PodTemplate): boolean {
  const { 'pod-template-hash': _, ...labels } = set.spec.template.metadata?.labels ?? {}
  return deepEqual(
    { ...set.spec.template, metadata: { ...set.spec.template.metadata, labels } },
    { ...template, metadata: { ...template.metadata, labels: template.metadata?.labels ?? {} } },
  )
}

function replicaSetFor(deployment: Deployment, owned: readonly Workload[]) {
  const { selector, template, minReadySeconds } = deployment.spec
  const hash = templateHash(template)
  const labels = { ...template.metadata?.labels, 'pod-template-hash': hash }
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...annotations } =
    deployment.metadata.annotations ?? {}
  const revision = Math.max(0, ...owned.map(revisionOf)) + 1
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: { ...annotations, [revisionAnnotation]: String(revision) },
      ownerReferences: [controllerRef(deployments, deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds ? { minReadySeconds } : {}),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, 'pod-template-hash': hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

function revisionOf({ metadata }: StoredObject): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0)
}

interface RolloutFacts {
  readonly owned: readonly Workload[]
  readonly current: Workload | undefined
  readonly now: number
}

interface DeploymentCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly lastUpdateTime: string
}

/** What a Deployment's status says, and when its progress is overdue if it is not complete. */
function deploymentStatus(
  deployment: Deployment,
  { owned, current, now }: RolloutFacts,
): { status: Record<string, unknown>; deadlineAt?: number } {
  const sum = (field: string) => owned.reduce((total, set) => total + Number(set.status?.[field] ?? 0), 0)
  const wanted = deployment.spec.replicas ?? 1
  const updated = Number(current?.status?.replicas ?? 0)
  const replicas = sum('replicas')
  const available = sum('availableReplicas')
  const isComplete = updated === wanted && replicas === wanted && available === wanted
  const leastAvailable = wanted - unavailableAllowed(deployment)
  const conditions = (deployment.status?.conditions ?? []) as readonly DeploymentCondition[]
  const progress = { updated, replicas, available }
  const before = conditions.find(({ type }) => type === 'Progressing')
  const hasMoved =
    JSON.stringify(progress) !==
    JSON.stringify({
      updated: deployment.status?.updatedReplicas ?? 0,
      replicas: deployment.status?.replicas ?? 0,
      available: deployment.status?.availableReplicas ?? 0,
    })
  const lastMoveAt = hasMoved || !before ? now : (parseTime(before.lastUpdateTime) ?? now)
  const deadlineAt = lastMoveAt + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000
  const isLate = !isComplete && now >= deadlineAt
  const name = current?.metadata.name ?? deployment.metadata.name
  const progressing = isComplete
    ? { status: 'True', reason: 'NewReplicaSetAvailable', message: `ReplicaSet "${name}" has successfully progressed.` }
    : isLate
      ? {
          status: 'False',
          reason: 'ProgressDeadlineExceeded',
          message: `ReplicaSet "${name}" has timed out progressing.`,
        }
      : { status: 'True', reason: 'ReplicaSetUpdated', message: `ReplicaSet "${name}" is progressing.` }
  const availability =
    available >= leastAvailable
      ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
      : {
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        }
  const set = (
    type: string,
    claim: { status: string; reason: string; message: string },
    updateAt: number,
  ): DeploymentCondition => {
    const old = conditions.find((condition) => condition.type === type)
    const isSame = old?.status === claim.status
    return {
      type,
      ...claim,
      lastTransitionTime: isSame ? old.lastTransitionTime : formatTime(now),
      lastUpdateTime:
        isSame && old.reason === claim.reason && type === 'Available' ? old.lastUpdateTime : formatTime(updateAt),
    }
  }
  return {
    status: {
      observedGeneration: deployment.metadata.generation,
      replicas,
      updatedReplicas: updated,
      readyReplicas: sum('readyReplicas'),
      availableReplicas: available,
      ...(wanted > available ? { unavailableReplicas: Math.max(0, Math.max(wanted, replicas) - available) } : {}),
      conditions: [set('Available', availability, now), set('Progressing', progressing, lastMoveAt)],
    },
    ...(isComplete || isLate || deployment.spec.paused ? {} : { deadlineAt }),
  }
}

function unavailableAllowed({ spec }: Deployment): number {
  const wanted = spec.replicas ?? 1
  if (spec.strategy?.type === 'Recreate') return wanted
  const written = spec.strategy?.rollingUpdate?.maxUnavailable ?? '25%'
  return typeof written === 'number' ? written : Math.floor((Number.parseInt(written, 10) / 100) * wanted)
}
