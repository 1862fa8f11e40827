import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { SleepRule } from '../../../apis/environment-sleep.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import { annotation } from './annotations.ts'

/** What the annotations of a Namespace or a workload say about sleep. */
export type AnnotatedSleep = Pick<SleepRule, 'awake' | 'byHand'>

/** Undefined where nothing is said. */
export function annotatedSleep({ metadata: { annotations = {} } }: StoredObject): AnnotatedSleep | undefined {
  const text = annotations[annotation.awake]?.trim()
  const hours = text === undefined ? undefined : parseAwakeHours(text)
  const awake = text === undefined ? undefined : hours ? { hours } : { schedule: text }
  const byHand = byHandOf(annotations)
  return awake || byHand ? { awake, byHand } : undefined
}

function byHandOf(annotations: Readonly<Record<string, string>>): SleepRule['byHand'] {
  const awakeUntil = parseTime(annotations[annotation.awakeUntil])
  if (awakeUntil !== undefined) return { power: 'Awake', since: 0, until: awakeUntil }
  const asleepUntil = parseTime(annotations[annotation.asleepUntil])
  if (asleepUntil === undefined) return undefined
  return { power: 'Asleep', since: parseTime(annotations[annotation.byHandSince]) ?? 0, until: asleepUntil }
}

/** Whether an object, or all of a namespace, is excluded from every sleep rule. A misspelt value excludes too. */
export function isExcluded({ metadata: { annotations = {} } }: StoredObject): boolean {
  const text = annotations[annotation.sleep]?.trim().toLowerCase()
  return text !== undefined && !['true', 'on', 'yes'].includes(text)
}

/** Namespaces that no rule puts to sleep: nothing could wake them again. */
export function isNeverAsleep(namespace: string): boolean {
  return namespace === sojournNamespace || namespace.startsWith('kube-')
}

/** Since when the activator keeps a workload asleep, as the workload itself says. */
export function asleepSince({ metadata: { annotations = {} } }: StoredObject): number | undefined {
  return parseTime(annotations[annotation.asleepSince])
}
