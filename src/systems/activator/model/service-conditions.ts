import type { StoredObject } from '../../../kube/object.ts'
import { findCondition, setCondition, type Condition } from '../../../kube/conditions.ts'

/** Whether a Service is understood and has its domains. */
export const onDemandCondition = 'sojourn.dev/OnDemand'
/** Whether its workload may be scaled up; said only once that has been denied. */
const wakeableCondition = 'sojourn.dev/Wakeable'

/** Whether its callers come through the proxy; said of those that ask for it. */
export const takenOverCondition = 'sojourn.dev/TakenOver'

/** Whether another Service claims a domain of it; said only while one does. */
export const domainConflictCondition = 'sojourn.dev/DomainConflict'

/** Whether we set conditions of this type. */
export function isOurs({ type }: Condition): boolean {
  return [onDemandCondition, wakeableCondition, takenOverCondition, domainConflictCondition].includes(type)
}

/** A Service's conditions, ours and others'. */
export function conditionsOf(object: StoredObject): readonly Condition[] {
  return (object.status as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? []
}

/** A Service's conditions after its workload was woken, or could not be as the denial says; undefined if that is no news. */
export function afterWaking(
  service: StoredObject,
  denial: string | undefined,
  now: number,
): readonly Condition[] | undefined {
  const before = conditionsOf(service)
  if (denial === undefined && findCondition(before, wakeableCondition) === undefined) return undefined
  const claim =
    denial === undefined
      ? ({ status: 'True', reason: 'Woken', message: 'It could be scaled up.' } as const)
      : ({ status: 'False', reason: 'WakeDenied', message: denial } as const)
  const after = setCondition(before, { type: wakeableCondition, ...claim }, now)
  return after === before ? undefined : after
}

/** Conditions without those of a type; the same array if there are none. */
export function withoutCondition(conditions: readonly Condition[], unwanted: string): readonly Condition[] {
  const has = conditions.some(({ type }) => type === unwanted)
  return has ? conditions.filter(({ type }) => type !== unwanted) : conditions
}
