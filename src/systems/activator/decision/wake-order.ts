import type { StoredObject } from '../../../kube/object.ts'
import { annotation } from '../model/annotations.ts'
import { isDatabase, targetOf } from '../model/power-kinds.ts'

/**
 * Whether one workload of a namespace wakes after another, and sleeps before it: a ScaledObject after its target, a workload
 * after those that its annotation names and, without one, after the databases.
 */
export function wakesAfter(later: StoredObject, earlier: StoredObject): boolean {
  const name = `${earlier.kind}/${earlier.metadata.name}`
  if (later.kind === 'ScaledObject') return targetOf(later) === name
  const named = later.metadata.annotations?.[annotation.wakeWith]
  if (named === undefined) return isDatabase(earlier) && !isDatabase(later)
  // `GROUP/VERSION/KIND/NAME` ends in `KIND/NAME`.
  return named.split(',').some((each) => each.trim() === name || each.trim().endsWith(`/${name}`))
}
