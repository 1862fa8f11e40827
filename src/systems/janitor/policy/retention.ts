import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import { addWorkDays, isWorkDay, windowState } from '../../../apis/work-window.ts'
import { wallTimeAt } from '../../../kube/calendar/zoned-time.ts'

/** How long a resource is kept after its owner was notified. */
export type Retention = { readonly ms: number } | { readonly businessDays: number }

/** Monday to Friday in UTC, for business days of a policy that names no schedule. */
const plainWeek: WorkScheduleSpec = {
  windows: [{ days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'] }],
}

/**
 * The deletion date: the retention after `from`, then the first moment at which the schedule is open.
 * Undefined when there is none within two years.
 */
export function deletionDate(
  retention: Retention,
  { from, schedule }: { readonly from: number; readonly schedule: WorkScheduleSpec | undefined },
): number | undefined {
  const earliest =
    'ms' in retention ? from + retention.ms : addWorkDays(schedule ?? plainWeek, from, retention.businessDays)
  if (earliest === undefined || !schedule) return earliest
  return nextAllowedTime(schedule, earliest)
}

/** The given time, or the same time on the next work day, moved to the next open window. */
export function nextAllowedTime(schedule: WorkScheduleSpec, at: number): number | undefined {
  const here = windowState(schedule, at)
  if (here.open) return at
  const zone = schedule.timeZone ?? 'UTC'
  const sameTime = isWorkDay(schedule, wallTimeAt(at, zone)) ? at : addWorkDays(schedule, at, 1)
  if (sameTime === undefined) return undefined
  const there = windowState(schedule, sameTime)
  return there.open ? sameTime : there.nextOpenAt
}
