import { formatTime } from '../../kube/time.ts'
import type { Place, ResourceType } from '../../kube/object.ts'
import { annotation } from '../../systems/activator/model/annotations.ts'
import { canSleep } from '../../systems/activator/model/power-kinds.ts'
import { isNeverAsleep } from '../../systems/activator/model/sleep-annotations.ts'

/** The namespace of an object, or of a Namespace itself, in which nothing ever sleeps. */
export function sleeplessHome(type: ResourceType, { name, namespace }: Place): string | undefined {
  const home = type.group === '' && type.kind === 'Namespace' ? name : (namespace ?? '')
  return isNeverAsleep(home) ? home : undefined
}

/** Whether objects of this type, or everything in them, can be put to sleep by hand. */
export function hasPower(type: ResourceType & { readonly subresources?: readonly string[] }): boolean {
  return (type.group === '' && type.kind === 'Namespace') || canSleep(type, type.subresources ?? [])
}

/** The merge patch that wakes a workload or a Namespace, or puts it to sleep, until an instant. */
export function byHandPatch(power: 'Awake' | 'Asleep', now: number, until: number): object {
  const isAwake = power === 'Awake'
  const annotations = {
    [annotation.awakeUntil]: isAwake ? formatTime(until) : null,
    [annotation.asleepUntil]: isAwake ? null : formatTime(until),
    [annotation.byHandSince]: isAwake ? null : formatTime(now),
    // Asked for by a person, it is tried again.
    [annotation.contended]: null,
  }
  return { metadata: { annotations } }
}
