import type { Cleaner } from '../../apis/cleaner.ts'
import type { StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { setCondition, type Condition } from '../../kube/conditions.ts'
import type { Because, Decision, Resolution } from './decision/decide.ts'
import { reasons } from './decision/decide.ts'
import type { Model } from './decision/model.ts'
import { objectsOf } from './observe.ts'

export type CleanerStatus = NonNullable<Cleaner['status']>

/** The status that says what was decided and what comes next. */
export function statusFor(
  self: StoredObject,
  decision: Decision,
  { now, resolved }: { readonly now: number; readonly resolved: readonly string[] },
): CleanerStatus {
  const { decision: _, ...before } = (self.status ?? {}) as CleanerStatus
  const until = decision.do === 'wait' ? decision.until : undefined
  const { nextScheduledEvaluation: __, resolvedTargets: ___, resolvedCount: ____, ...rest } = before
  return {
    ...rest,
    conditions: withMonotonic(
      readyCondition(
        self,
        { ready: readiness(decision), reason: reasons[decision.because], message: decision.message },
        now,
      ),
      decision,
      now,
    ),
    ...(resolved.length > 0
      ? { resolvedTargets: resolved.slice(0, shownTargets), resolvedCount: resolved.length }
      : {}),
    ...(until === undefined ? {} : { nextScheduledEvaluation: formatTime(Math.ceil(until / 1000) * 1000) }),
  }
}

/** Whether everything is decided and the door has said: not now. */
export function isHeld({ status }: StoredObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] }
  return conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Held')
}

/** The conditions with Ready set; what held a departure back is said here too. */
export function readyCondition(
  self: StoredObject,
  claim: { readonly ready: Condition['status']; readonly reason: string; readonly message: string },
  now: number,
): Condition[] {
  const { conditions } = (self.status ?? {}) as { conditions?: readonly Condition[] }
  const { generation } = self.metadata
  const { ready: status, reason, message } = claim
  return [
    ...setCondition(
      conditions,
      {
        type: 'Ready',
        status,
        reason,
        message,
        ...(generation === undefined ? {} : { observedGeneration: generation }),
      },
      now,
    ),
  ]
}

/** Says that the user's word `retry.monotonic` does not hold, as long as that is so. */
function withMonotonic(conditions: Condition[], decision: Decision, now: number): Condition[] {
  if (decision.do !== 'wait' || !decision.violatesMonotonic)
    return conditions.filter(({ type }) => type !== 'Monotonic')
  const message = 'conditions become true and then false again by time alone: looked at by retry.period'
  return [
    ...setCondition(conditions, { type: 'Monotonic', status: 'False', reason: 'MonotonicityViolated', message }, now),
  ]
}

/** `name.plural.group/version` of everything that conditions see, as the seed writes it. */
export function resolvedNames(
  { targets }: Model,
  resolutions: ReadonlyMap<string, Resolution>,
  pluralOf: (targetName: string) => string,
): readonly string[] {
  return targets.flatMap(({ name }) =>
    objectsOf(resolutions.get(name)).map(({ metadata }) => `${metadata.name}.${pluralOf(name)}`),
  )
}

/** The evaluated targets for the status and the sink; their states only while all together stay small. */
export function evaluatedTargets(
  { targets }: Model,
  resolutions: ReadonlyMap<string, Resolution>,
): NonNullable<CleanerStatus['targets']> {
  const withState = targets.map(({ name, delete: isDeleted, evaluate }) => ({
    name,
    delete: isDeleted,
    includeWhenEvaluating: evaluate,
    ...stateOf(resolutions.get(name)),
  }))
  const isSmall = JSON.stringify(withState).length <= largestStates
  return isSmall
    ? withState
    : withState.map(
        ({ state: _, ...rest }: { name: string; delete: boolean; includeWhenEvaluating: boolean; state?: unknown }) =>
          rest,
      )
}

function stateOf(resolution: Resolution | undefined): { state?: unknown } {
  if (resolution?.found === 'object') return { state: resolution.object }
  if (resolution?.found === 'list')
    return {
      state: {
        apiVersion: resolution.apiVersion,
        kind: `${resolution.kind}List`,
        metadata: {},
        items: resolution.objects,
      },
    }
  return {}
}

const shownTargets = 100
const largestStates = 48 * 1024

/** What cleaner-controller's users expect of Ready: unknown before the time is up, true while all goes well, false when something is wrong. */
function readiness({ because }: { readonly because: Because }): Condition['status'] {
  switch (because) {
    case 'not-expired':
    case 'suspended':
      return 'Unknown'
    case 'waiting-for-conditions':
    case 'conditions-met':
      return 'True'
    default:
      return 'False'
  }
}
