import type { StoredObject } from '../../../kube/object.ts'
import { windowState } from '../../../apis/work-window.ts'
import { findCondition } from '../../../kube/conditions.ts'
import { annotation } from '../model/annotations.ts'
import { readServiceSettings, settingDefaults, type SettingDefaults } from '../model/service-settings.ts'
import { persistedLastUsed } from '../cluster/observe.ts'
import { replicasOf } from '../model/power-kinds.ts'
import { conditionsOf, onDemandCondition, takenOverCondition, wakeFailureOf } from '../model/service-conditions.ts'

/** The state of an on-demand Service, derived from its objects alone: for `sojourn status` and `sojourn explain`. */
export interface ServiceState {
  readonly state: 'awake' | 'asleep' | 'unknown'
  readonly replicas: number
  readonly lastUsedAt: number | undefined
  /** What happens next without requests, and when; undefined when nothing does. */
  readonly next: { readonly what: 'sleep' | 'wake'; readonly at: number } | undefined
  /** One sentence. */
  readonly why: string
}

/** What is wrong with a Service and, where it asks to be taken over, how its callers reach it. */
export function remarksOf(service: StoredObject): readonly string[] {
  const conditions = conditionsOf(service)
  const onDemand = findCondition(conditions, onDemandCondition)
  const fault = onDemand?.status === 'False' ? `${onDemand.message}.` : undefined
  const failure = wakeFailureOf(service)
  const remarks = [
    ...(fault === undefined ? [] : [fault]),
    ...(failure
      ? [`The last attempt to wake it failed (${failure.reason}): ${failure.message.replace(/\.?$/, '.')}`]
      : []),
  ]
  if (!readServiceSettings(service, settingDefaults).takeover.enabled || fault?.includes(annotation.takeover))
    return remarks
  return [...remarks, findCondition(conditions, takenOverCondition)?.message ?? 'No proxy has taken it over yet.']
}

/** The state of a Service at a time. `workload` is the one it names, if that exists. The last use may be newer than the API says. */
export function serviceStateOf(
  service: StoredObject,
  workload: StoredObject | undefined,
  now: number,
  defaults: SettingDefaults = settingDefaults,
): ServiceState {
  const settings = readServiceSettings(service, defaults)
  const [named] = settings.workloads
  if (!workload) {
    const why = named ? `${named.kind} ${named.name} does not exist.` : 'It names no workload that can be used.'
    return { state: 'unknown', replicas: 0, lastUsedAt: undefined, next: undefined, why }
  }
  const replicas = replicasOf(workload)
  const lastUsedAt = persistedLastUsed(workload)
  const hours = settings.scaling.awakeHours && windowState(settings.scaling.awakeHours, now)
  const common = { replicas, lastUsedAt }
  if (replicas === 0) {
    const at = hours && !hours.open ? hours.nextOpenAt : undefined
    return {
      ...common,
      state: 'asleep',
      next: at === undefined ? undefined : { what: 'wake', at },
      why: 'It is idle; the next request wakes it.',
    }
  }
  const awake = { ...common, state: 'awake' } as const
  const and = isUnready(workload) ? 'None of its pods is ready: requests wait, or get 503. ' : ''
  if (!settings.scaling.maySleep) return { ...awake, next: undefined, why: `${and}It is kept awake by annotation.` }
  if (replicas <= settings.scaling.minReplicas)
    return { ...awake, next: undefined, why: `${and}It has a minimum of ${settings.scaling.minReplicas}.` }
  const idleAt = (lastUsedAt ?? now) + settings.scaling.ttlMs
  const at = Math.max(idleAt, hours?.open ? hours.until : 0, settings.scaling.awakeUntil ?? 0, now)
  const why = hours?.open
    ? 'Its awake hours last.'
    : `It sleeps after ${Math.round(settings.scaling.ttlMs / 1000)} seconds without requests.`
  return { ...awake, next: { what: 'sleep', at }, why: `${and}${why}` }
}

/** Whether its status says that no pod is ready. Without such a status a pod may be. */
function isUnready({ apiVersion, status }: StoredObject): boolean {
  const { replicas, readyReplicas = 0 } = (status ?? {}) as { replicas?: number; readyReplicas?: number }
  return apiVersion.startsWith('apps/') && replicas !== undefined && readyReplicas === 0
}
