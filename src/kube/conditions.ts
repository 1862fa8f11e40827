import type { KubeObject } from './object.ts'
import { formatTime } from './time.ts'

/** One entry of `status.conditions`, as metav1.Condition. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
  readonly lastTransitionTime: string
}

/** What a condition says, before the clock has had its part. */
export type ConditionClaim = Omit<Condition, 'lastTransitionTime'>

/** Why an object is in a state, for the setters that choose type and status themselves. */
export type Cause = Pick<ConditionClaim, 'reason' | 'message' | 'observedGeneration'>

/** The conditions with this one set. The transition time moves only when the status does; nothing changed returns the same array. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  claim: ConditionClaim,
  now: number,
): readonly Condition[] {
  const given = conditions ?? []
  const previous = findCondition(given, claim.type)
  const moved = previous?.status !== claim.status
  const { observedGeneration } = claim
  const next: Condition = {
    type: claim.type,
    status: claim.status,
    reason: claim.reason,
    message: shortened(claim.message),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: moved ? formatTime(now) : previous.lastTransitionTime,
  }
  if (!previous) return [...given, next]
  if (isSame(previous, next)) return given
  return given.map((condition) => (condition === previous ? next : condition))
}

/**
 * How an object does, as kstatus, Flux, Argo CD and `helm --wait` read it. `ready`: it does its job, and waiting can be that job.
 * `reconciling`: not known yet. `not-ready`: not yet, and a retry may help. `stalled`: a user must change something.
 */
export type Health = 'ready' | 'reconciling' | 'not-ready' | 'stalled'

/** The fields of a status that report health: every kind of ours has them. */
export function healthStatus(
  { metadata: { generation }, status }: Pick<KubeObject, 'metadata' | 'status'>,
  { health, reason, message }: { readonly health: Health; readonly reason: string; readonly message: string },
  now: number,
): { observedGeneration?: number; conditions: Condition[] } {
  const { conditions } = (status ?? {}) as { conditions?: readonly Condition[] }
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return { ...observed, conditions: [...markers[health](conditions, { reason, message, ...observed }, now)] }
}

/** A setter of Ready and of what goes with it: what would say otherwise is taken away. */
function marker(ready: Condition['status'], also?: 'Reconciling' | 'Stalled') {
  return (conditions: readonly Condition[] | undefined, cause: Cause, now: number): readonly Condition[] => {
    const others = (conditions ?? []).filter(({ type }) => type === also || !['Reconciling', 'Stalled'].includes(type))
    const kept = others.length === conditions?.length ? conditions : others
    const marked = setCondition(kept, { ...cause, type: 'Ready', status: ready }, now)
    return also ? setCondition(marked, { ...cause, type: also, status: 'True' }, now) : marked
  }
}

/** Ready: the object is as its spec asks. */
export const markReady = marker('True')
/** Not ready, neither progressing nor stalled: it waits for something outside the controller. */
export const markNotReady = marker('False')
/** On its way: Reconciling, Ready not known yet, and therefore not Stalled. */
export const markReconciling = marker('Unknown', 'Reconciling')
/** Stuck until someone changes the object: Stalled, not Ready, and therefore not Reconciling. */
export const markStalled = marker('False', 'Stalled')

const markers: Readonly<Record<Health, typeof markReady>> = {
  ready: markReady,
  reconciling: markReconciling,
  'not-ready': markNotReady,
  stalled: markStalled,
}

/** The condition of this type, if there is one. */
export function findCondition<C extends Pick<Condition, 'type'>>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type)
}

/** Whether the condition of this type is there and True. */
export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True'
}

/** A longer message is refused with the whole status, which would then never be written. */
function shortened(message: string): string {
  return message.length <= maxMessage ? message : `${message.slice(0, maxMessage)}…`
}

/** Characters, each at most three bytes of the 32,768 that metav1.Condition allows. */
const maxMessage = 10_000

function isSame(left: Condition, right: Condition): boolean {
  return (
    left.status === right.status &&
    left.reason === right.reason &&
    left.message === right.message &&
    left.observedGeneration === right.observedGeneration
  )
}
