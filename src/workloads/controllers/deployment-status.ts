import type { Condition } from '../../kube/conditions.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Workload } from '../types.ts'

interface DeploymentSpec {
  readonly strategy?: {
    readonly type?: string
    readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string }
  }
  readonly paused?: boolean
  readonly revisionHistoryLimit?: number
  readonly progressDeadlineSeconds?: number
}

export type Deployment = Workload<DeploymentSpec>

/** What the status follows from, besides the Deployment itself. */
interface RolloutFacts {
  readonly owned: readonly Workload[]
  readonly current: Workload | undefined
  readonly now: number
}

interface DeploymentCondition extends Condition {
  readonly lastUpdateTime: string
}

type Claim = Pick<DeploymentCondition, 'status' | 'reason' | 'message'>

/** A Deployment's status, and when `progressDeadlineSeconds` runs out if the rollout is not complete. */
export function deploymentStatus(
  deployment: Deployment,
  { owned, current, now }: RolloutFacts,
): { status: Record<string, unknown>; deadlineAt?: number } {
  const sum = (field: string) => owned.reduce((total, set) => total + Number(set.status?.[field] ?? 0), 0)
  const wanted = deployment.spec.replicas ?? 1
  const updated = Number(current?.status?.replicas ?? 0)
  const replicas = sum('replicas')
  const available = sum('availableReplicas')
  const isComplete = updated === wanted && replicas === wanted && available === wanted
  const progressedAt = lastProgress(deployment, { updated, replicas, available }) ?? now
  const deadlineAt = progressedAt + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000
  const isLate = !isComplete && now >= deadlineAt
  const name = current?.metadata.name ?? deployment.metadata.name
  const availability = availabilityClaim(available >= wanted - maxUnavailable(deployment))
  return {
    status: {
      observedGeneration: deployment.metadata.generation,
      replicas,
      updatedReplicas: updated,
      readyReplicas: sum('readyReplicas'),
      availableReplicas: available,
      ...(wanted > available ? { unavailableReplicas: Math.max(0, Math.max(wanted, replicas) - available) } : {}),
      conditions: [
        condition(deployment, { type: 'Available', ...availability }, { now, updatedAt: now }),
        condition(
          deployment,
          { type: 'Progressing', ...progressClaim(name, isComplete, isLate) },
          { now, updatedAt: progressedAt },
        ),
      ],
    },
    ...(isComplete || isLate || deployment.spec.paused ? {} : { deadlineAt }),
  }
}

/** When the replica counts last changed, by the Progressing condition; undefined when they have changed since. */
function lastProgress(
  deployment: Deployment,
  counts: { readonly updated: number; readonly replicas: number; readonly available: number },
): number | undefined {
  const { status } = deployment
  const isSame =
    counts.updated === (status?.updatedReplicas ?? 0) &&
    counts.replicas === (status?.replicas ?? 0) &&
    counts.available === (status?.availableReplicas ?? 0)
  const before = conditionsOf(deployment).find(({ type }) => type === 'Progressing')
  return isSame && before ? parseTime(before.lastUpdateTime) : undefined
}

function progressClaim(name: string, isComplete: boolean, isLate: boolean): Claim {
  if (isComplete)
    return {
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `ReplicaSet "${name}" has successfully progressed.`,
    }
  if (isLate)
    return {
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `ReplicaSet "${name}" has timed out progressing.`,
    }
  return { status: 'True', reason: 'ReplicaSetUpdated', message: `ReplicaSet "${name}" is progressing.` }
}

function availabilityClaim(isAvailable: boolean): Claim {
  return isAvailable
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : {
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }
}

/** The transition time moves with the status only. The update time of Available moves with its reason, that of Progressing always. */
function condition(
  deployment: Deployment,
  claim: Claim & { readonly type: string },
  { now, updatedAt }: { readonly now: number; readonly updatedAt: number },
): DeploymentCondition {
  const old = conditionsOf(deployment).find(({ type }) => type === claim.type)
  const isSame = old?.status === claim.status
  const keepsUpdate = isSame && old.reason === claim.reason && claim.type === 'Available'
  return {
    ...claim,
    lastTransitionTime: isSame ? old.lastTransitionTime : formatTime(now),
    lastUpdateTime: keepsUpdate ? old.lastUpdateTime : formatTime(updatedAt),
  }
}

function conditionsOf({ status }: Deployment): readonly DeploymentCondition[] {
  return (status?.conditions ?? []) as readonly DeploymentCondition[]
}

function maxUnavailable({ spec }: Deployment): number {
  const wanted = spec.replicas ?? 1
  if (spec.strategy?.type === 'Recreate') return wanted
  const written = spec.strategy?.rollingUpdate?.maxUnavailable ?? '25%'
  return typeof written === 'number' ? written : Math.floor((Number.parseInt(written, 10) / 100) * wanted)
}
