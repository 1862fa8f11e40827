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
  readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } }
}

/** States in which every container is for a moment. */
const passing = new Set(['ContainerCreating', 'PodInitializing'])
const maxMessage = 300

/** What keeps a pod from becoming ready, if its status says: CrashLoopBackOff, ImagePullBackOff, Unschedulable and the like. */
export function podFailure({ metadata, status }: StoredObject): WakeFailure | undefined {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = (status ?? {}) as PodStatus
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const { reason, message = '' } = state?.waiting ?? {}
    if (reason !== undefined && !passing.has(reason))
      return {
        reason,
        message: `Pod ${metadata.name}, container ${name}: ${reason} ${message}`.trim().slice(0, maxMessage),
      }
  }
  const scheduled = findCondition(conditions, 'PodScheduled')
  if (scheduled?.status !== 'False') return undefined
  return {
    reason: scheduled.reason || 'Unschedulable',
    message: `Pod ${metadata.name}: ${scheduled.message}`.slice(0, maxMessage),
  }
}
