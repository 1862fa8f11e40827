import type { StoredObject } from '../../../kube/object.ts'
import { findCondition, type Condition } from '../../../kube/conditions.ts'
import type { WakeFailure } from './service-conditions.ts'

interface PodStatus {
  readonly conditions?: readonly Condition[]
  readonly containerStatuses?: readonly ContainerStatus[]
  readonly initContainerStatuses?: readonly ContainerStatus[]
}

interface ContainerStatus {
  readonly name: string
  readonly ready?: boolean
  /** False until its startup probe has succeeded. */
  readonly started?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

interface ContainerState {
  readonly running?: object
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode?: number }
}

/** States in which every container is for a moment. */
const passing = new Set(['ContainerCreating', 'PodInitializing'])
const maxMessage = 300

/** What keeps a pod from becoming ready, if its status says: CrashLoopBackOff, ImagePullBackOff, Unschedulable and the like. */
export function podFailure({ metadata, status }: StoredObject): WakeFailure | undefined {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = (status ?? {}) as PodStatus
  const statuses = [...initContainerStatuses, ...containerStatuses]
  for (const { name, state, lastState } of statuses) {
    const { reason, message = '' } = state?.waiting ?? {}
    const { exitCode } = lastState?.terminated ?? {}
    const code = exitCode === undefined ? '' : `; it ended with code ${exitCode}`
    if (reason !== undefined && !passing.has(reason))
      return {
        reason,
        message:
          `Pod ${metadata.name}, container ${name}: ${`${reason} ${message}`.trim()}`.slice(0, maxMessage) + code,
      }
  }
  // Between two starts, or just started again.
  for (const { name, state, lastState, restartCount = 0 } of statuses) {
    const { exitCode, reason } = state?.terminated ?? (restartCount > 0 ? lastState?.terminated : undefined) ?? {}
    if (exitCode === undefined || (exitCode === 0 && restartCount === 0)) continue
    const ended =
      reason === 'OOMKilled' ? 'was killed: it took more memory than its limit' : `ended with code ${exitCode}`
    return {
      reason: reason === 'OOMKilled' ? reason : 'CrashLoopBackOff',
      message: `Pod ${metadata.name}, container ${name} ${ended}, and has been restarted ${restartCount} times.`,
    }
  }
  const scheduled = findCondition(conditions, 'PodScheduled')
  if (scheduled?.status === 'False')
    return {
      reason: scheduled.reason || 'Unschedulable',
      message: `Pod ${metadata.name}: ${scheduled.message}`.slice(0, maxMessage),
    }
  const unready = containerStatuses.find(({ ready, state }) => ready === false && state?.running)
  if (!unready) return undefined
  const probe = unready.started === false ? 'startup' : 'readiness'
  return {
    reason: 'NotReadyInTime',
    message: `Pod ${metadata.name}, container ${unready.name} runs, but its ${probe} probe does not succeed`,
  }
}
