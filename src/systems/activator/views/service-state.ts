import type { StoredObject } from '../../../kube/object.ts'
import { windowState, type WindowState } from '../../../apis/work-window.ts'
import { formatTime } from '../../../kube/time.ts'
import { findCondition } from '../../../kube/conditions.ts'
import { annotation } from '../model/annotations.ts'
import { readServiceSettings, settingDefaults } from '../model/service-settings.ts'
import { neverSleeps, persistedLastUsed } from '../cluster/observe.ts'
import type { AnnotatedSleep } from '../model/sleep-annotations.ts'
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

/** What the sleep rule of a workload's annotations, or of its Namespace's, says at a time. */
export interface RuledSleep {
  readonly byHand?: AnnotatedSleep['byHand']
  /** How its awake hours stand; undefined where there are none, or they cannot be found. */
  readonly window?: WindowState | undefined
}

/**
 * The state of a Service at a time. `workload` is the one it names, if that exists; `rule` is that of its annotations. The last use may be newer
 * than the API says.
 */
export function serviceStateOf(
  service: StoredObject,
  workload: StoredObject | undefined,
  now: number,
  rule?: RuledSleep,
): ServiceState {
  const { scaling, workloads } = readServiceSettings(service, settingDefaults)
  const [named] = workloads
  if (!workload) {
    const why = named ? `${named.kind} ${named.name} does not exist.` : 'It names no workload that can be used.'
    return { state: 'unknown', replicas: 0, lastUsedAt: undefined, next: undefined, why }
  }
  const replicas = replicasOf(workload)
  const lastUsedAt = persistedLastUsed(workload)
  const common = { replicas, lastUsedAt }
  const byHand = rule?.byHand && now < rule.byHand.until ? rule.byHand : undefined
  const window = rule?.window ?? (scaling.awakeHours && windowState(scaling.awakeHours, now))
  if (replicas === 0) {
    const isHand = byHand?.power === 'Asleep'
    const at = window && !window.open && !isHand ? window.nextOpenAt : undefined
    const why = isHand
      ? `It was put to sleep by hand until ${formatTime(byHand.until)}`
      : rule?.window?.open === false
        ? 'Its awake hours have ended'
        : 'It is idle'
    return {
      ...common,
      state: 'asleep',
      next: at === undefined ? undefined : { what: 'wake', at },
      why: `${why}; the next request wakes it.`,
    }
  }
  const and = isUnready(workload) ? 'None of its pods is ready: requests wait, or get 503. ' : ''
  const stays = (why: string, at?: number): ServiceState => ({
    ...common,
    state: 'awake',
    next: at === undefined ? undefined : { what: 'sleep', at },
    why: `${and}${why}`,
  })
  const never = neverSleeps(workload)
  if (never) return stays(whyNever[never])
  if (byHand?.power === 'Awake')
    return stays(`It is kept awake by hand until ${formatTime(byHand.until)}.`, byHand.until)
  if (!scaling.maySleep) return stays('It is kept awake by annotation.')
  if (replicas <= scaling.minReplicas) return stays(`It has a minimum of ${scaling.minReplicas}.`)
  // Under a rule a Service without a TTL of its own sleeps by the idle time of the rule.
  const ttlMs = rule?.window && !scaling.hasOwnTtl ? ruledIdleMs : scaling.ttlMs
  const idleAt = (lastUsedAt ?? now) + ttlMs
  const at = Math.max(idleAt, window?.open ? window.until : 0, scaling.awakeUntil ?? 0, now)
  return stays(window?.open ? 'Its awake hours last.' : `It sleeps after ${seconds(ttlMs)} without requests.`, at)
}

const ruledIdleMs = 1_800_000

const whyNever = {
  contended: 'Another writer keeps scaling it up, so it stays awake (Contended).',
  'claims-deleted': 'Sleep would delete its claims, so it stays awake.',
} as const

function seconds(ms: number): string {
  const count = Math.round(ms / 1000)
  return count === 1 ? 'one second' : `${count} seconds`
}

/** Whether its status says that no pod is ready. Without such a status a pod may be. */
function isUnready({ apiVersion, status }: StoredObject): boolean {
  const { replicas, readyReplicas = 0 } = (status ?? {}) as { replicas?: number; readyReplicas?: number }
  return apiVersion.startsWith('apps/') && replicas !== undefined && readyReplicas === 0
}
