import type { WorkScheduleSpec } from '../../apis/work-schedule.ts'
import { windowState } from '../../apis/work-window.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { DepartResult } from './because.ts'
import type { DoorState } from './door-state.ts'
import { protectionOf, type ProtectionFacts } from './protection.ts'

/** Everything a decision about a deletion depends on. `undefined` stands for what is not known. */
export interface DepartureFacts {
  /** Whose circuit the deletion needs closed, besides the global one; undefined outside namespaces. */
  readonly scope?: string | undefined
  /** The object as it is now. */
  readonly object: KubeObject | undefined
  /** The uid of the object that the system judged. */
  readonly uid: string
  /** The version that the system judged, where its decision depends on the content. */
  readonly resourceVersion?: string
  readonly protections: Omit<ProtectionFacts, 'now'> | undefined
  readonly state: DoorState | undefined
  /** Where configuration, system or policy sets a dry run; undefined where none does. */
  readonly dryRun: string | undefined
  /** Schedules that must all be open. Without a spec: it does not exist. */
  readonly schedules: readonly { readonly name: string; readonly spec: WorkScheduleSpec | 'unknown' | undefined }[]
  readonly now: number
}

/** Whether an object may be deleted, before the budget is checked. The order of these lines is the order of the door's rules. */
export function judge(facts: DepartureFacts): DepartResult | { readonly result: 'allowed' } {
  const { scope, object, uid, resourceVersion, protections, state, dryRun, schedules, now } = facts
  if (!object) return { result: 'gone' }
  if (object.metadata.uid !== uid) return { result: 'stale' }
  if (object.metadata.deletionTimestamp) return { result: 'leaving' }
  if (resourceVersion !== undefined && object.metadata.resourceVersion !== resourceVersion) return { result: 'stale' }
  if (!protections || !state) return { result: 'held', because: 'protections-unknown' }
  const protection = protectionOf(object, { ...protections, now })
  if (protection) return protection
  const isDry = dryRun ?? (state.dryRun ? 'dryRun is set in the ConfigMap sojourn-system/sojourn-door' : undefined)
  if (isDry !== undefined) return { result: 'held', because: 'dry-run', detail: isDry }
  if (state.paused) return { result: 'held', because: 'paused' }
  for (const { name, spec } of schedules) {
    if (spec === 'unknown') return { result: 'held', because: 'protections-unknown' }
    if (!spec) return { result: 'held', because: 'no-such-schedule', detail: name }
    const window = windowState(spec, now)
    if (!window.open)
      return {
        result: 'held',
        because: 'outside-window',
        detail: `WorkSchedule ${name}`,
        ...(window.nextOpenAt === undefined ? {} : { until: window.nextOpenAt }),
      }
  }
  if (state.breaker === 'open')
    return { result: 'held', because: 'breaker-open', ...(state.because ? { detail: state.because } : {}) }
  const circuit = scope === undefined ? undefined : state.circuits[scope]
  if (circuit !== undefined) return { result: 'held', because: 'breaker-open', detail: circuit }
  return { result: 'allowed' }
}
