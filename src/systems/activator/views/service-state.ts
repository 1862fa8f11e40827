import type { StoredObject } from '../../../kube/object.ts'
import { windowState } from '../../../apis/work-window.ts'
import { findCondition } from '../../../kube/conditions.ts'
import { annotation } from '../model/annotations.ts'
import { readServiceSettings, settingDefaults, type SettingDefaults } from '../model/service-settings.ts'
import { persistedLastUsed } from '../cluster/observe.ts'
import { replicasOf } from '../model/scales.ts'
import { conditionsOf, onDemandCondition, takenOverCondition } from '../model/service-conditions.ts'

/** How an on-demand Service stands, told from its objects alone: for tables and for explanations. */
export interface ServiceState {
  readonly state: 'awake' | 'asleep' | 'unknown'
  readonly replicas: number
  readonly lastUsedAt: number | undefined
  /** What happens next if nobody calls, and when; undefined when nothing does. */
  readonly next: { readonly what: 'sleep' | 'wake'; readonly at: number } | undefined
  /** One sentence. */
  readonly why: string
}

/** What else there is to say of a Service: what is wrong with it and, where it asks to be taken over, how its callers reach it. */
export function remarksOf(service: StoredObject): readonly string[] {
  const conditions = conditionsOf(service)
  const onDemand = findCondition(conditions, onDemandCondition)
  const fault = onDemand?.status === 'False' ? `${onDemand.message}.` : undefined
  const remarks = fault === undefined ? [] : [fault]
  if (!readServiceSettings(service, settingDefaults).takeover.enabled || fault?.includes(annotation.takeover))
    return remarks
  return [...remarks, findCondition(conditions, takenOverCondition)?.message ?? 'No proxy has taken it over yet.']
}

/** How a Service stands at a time. `workload` is what it names, if that exists. The last use may be a little newer than is written. */
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
      why: 'Nobody used it; the next request wakes it.',
    }
  }
  const awake = { ...common, state: 'awake' } as const
  const and = isUnready(workload) ? 'None of its pods is ready: callers wait, or are told to come back. ' : ''
  if (!settings.scaling.maySleep) return { ...awake, next: undefined, why: `${and}It is kept awake by annotation.` }
  if (replicas <= settings.scaling.minReplicas)
    return { ...awake, next: undefined, why: `${and}It has a minimum of ${settings.scaling.minReplicas}.` }
  const idleAt = (lastUsedAt ?? now) + settings.scaling.ttlMs
  const at = Math.max(idleAt, hours?.open ? hours.until : 0, settings.scaling.awakeUntil ?? 0, now)
  const why = hours?.open
    ? 'Its awake hours last.'
    : `It sleeps when nobody has used it for ${Math.round(settings.scaling.ttlMs / 1000)} seconds.`
  return { ...awake, next: { what: 'sleep', at }, why: `${and}${why}` }
}

/** Whether it says itself that no pod of it is ready; one that says nothing of them may be. */
function isUnready({ apiVersion, status }: StoredObject): boolean {
  const { replicas, readyReplicas = 0 } = (status ?? {}) as { replicas?: number; readyReplicas?: number }
  return apiVersion.startsWith('apps/') && replicas !== undefined && readyReplicas === 0
}
