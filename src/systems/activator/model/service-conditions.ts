import type { StoredObject } from '../../../kube/object.ts'
import { findCondition, setCondition, type Condition } from '../../../kube/conditions.ts'

/** Whether a Service is understood and has its domains. */
export const onDemandCondition = 'sojourn.dev/OnDemand'
/** Whether its workload could be woken when that was last tried; said only once it failed. */
const wakeableCondition = 'sojourn.dev/Wakeable'

/** Whether its callers come through the proxy; said of those that ask for it. */
export const takenOverCondition = 'sojourn.dev/TakenOver'

/** Whether another Service claims a domain of it; said only while one does. */
export const domainConflictCondition = 'sojourn.dev/DomainConflict'

/** Whether another writer keeps scaling its workload up; said only while one does. */
const contendedCondition = 'sojourn.dev/Contended'

/** Whether we set conditions of this type. */
export function isOurs({ type }: Condition): boolean {
  return [
    onDemandCondition,
    wakeableCondition,
    takenOverCondition,
    domainConflictCondition,
    contendedCondition,
  ].includes(type)
}

/** A Service's conditions, ours and others'. */
export function conditionsOf(object: StoredObject): readonly Condition[] {
  return (object.status as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? []
}

/** Why a workload could not be woken. */
export interface WakeFailure {
  /** CamelCase, from the vocabulary of conditions. */
  readonly reason: string
  readonly message: string
}

/** A Service's conditions after its workload was woken, or could not be; undefined if that is no news. */
export function afterWaking(
  service: StoredObject,
  failure: WakeFailure | undefined,
  now: number,
): readonly Condition[] | undefined {
  const before = conditionsOf(service)
  if (failure === undefined && findCondition(before, wakeableCondition) === undefined) return undefined
  const claim = failure
    ? ({ status: 'False', ...failure } as const)
    : ({ status: 'True', reason: 'Woken', message: 'A pod became ready when it was last woken.' } as const)
  return news(before, setCondition(before, { type: wakeableCondition, ...claim }, now))
}

/** Why the workload of a Service could not be woken when that was last tried. */
export function wakeFailureOf(service: StoredObject): Condition | undefined {
  const condition = findCondition(conditionsOf(service), wakeableCondition)
  return condition?.status === 'False' ? condition : undefined
}

/** A Service's conditions while another writer keeps its workload awake, and after; undefined if that is no news. */
export function whileContended(
  service: StoredObject,
  contention: string | undefined,
  now: number,
): readonly Condition[] | undefined {
  const before = conditionsOf(service)
  if (contention === undefined) return news(before, withoutCondition(before, contendedCondition))
  const claim = { type: contendedCondition, status: 'True', reason: 'Contended', message: contention } as const
  return news(before, setCondition(before, claim, now))
}

function news(before: readonly Condition[], after: readonly Condition[]): readonly Condition[] | undefined {
  return after === before ? undefined : after
}

/** Conditions without those of a type; the same array if there are none. */
export function withoutCondition(conditions: readonly Condition[], unwanted: string): readonly Condition[] {
  const has = conditions.some(({ type }) => type === unwanted)
  return has ? conditions.filter(({ type }) => type !== unwanted) : conditions
}
