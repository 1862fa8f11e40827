import { addDays, instantOf, isTimeZone, wallTimeAt } from '../../../kube/calendar/zoned-time.ts'
import { parseCron, type Cron } from '../../../kube/calendar/cron.ts'

/** A window as the plan holds it. */
export interface Window {
  readonly kind: 'Allow' | 'Deny'
  readonly cron: Cron
  readonly durationMs: number
  readonly timeZone: string
}

/** An active Deny always wins. If there is any Allow window, one of them must be active. */
export function windowsState(windows: readonly Window[], now: number) {
  const states = windows.map((window) => ({ kind: window.kind, ...stateOf(window, now) }))
  const denied = states.some(({ kind, activeUntil }) => kind === 'Deny' && activeUntil !== undefined)
  const allows = states.filter(({ kind }) => kind === 'Allow')
  const allowed = allows.length === 0 || allows.some(({ activeUntil }) => activeUntil !== undefined)
  const changes = states.flatMap(({ activeUntil, nextAt }) => [activeUntil ?? nextAt ?? []].flat())
  return { open: allowed && !denied, nextCheckAt: changes.length > 0 ? Math.min(...changes) : undefined }
}

/** Parses a window; returns a message when it is invalid. */
export function parseWindow(
  spec: { readonly kind: 'Allow' | 'Deny'; readonly schedule: string; readonly timeZone?: string },
  durationMs: number,
): Window | string {
  const timeZone = spec.timeZone ?? 'UTC'
  const cron = parseCron(spec.schedule)
  if (!cron) return `"${spec.schedule}" is not a cron schedule with five fields`
  if (!isTimeZone(timeZone)) return `"${timeZone}" is not an IANA time zone`
  return { kind: spec.kind, cron, durationMs, timeZone }
}

const dayMs = 86_400_000
const horizonDays = 366
const maxShiftMs = 3 * 3_600_000

/** The end of the active opening, if any, and the start of the next one within a year. */
function stateOf(window: Window, now: number): { activeUntil: number | undefined; nextAt: number | undefined } {
  const today = wallTimeAt(now, window.timeZone)
  const backDays = Math.ceil(window.durationMs / dayMs) + 1
  let activeUntil: number | undefined
  for (let offset = -backDays; offset <= horizonDays; offset++) {
    const date = addDays(today, offset)
    if (!window.cron.firesOn(date)) continue
    const midnight = instantOf({ ...date, minute: 0 }, window.timeZone)
    for (const minute of window.cron.minutesOfDay) {
      // Over even if the zone shifted that day: skip the exact calculation.
      if (midnight + minute * 60_000 + window.durationMs + maxShiftMs < now) continue
      const opensAt = instantOf({ ...date, minute }, window.timeZone)
      if (opensAt > now) return { activeUntil, nextAt: opensAt }
      const closesAt = opensAt + window.durationMs
      if (closesAt > now) activeUntil = Math.max(activeUntil ?? 0, closesAt)
    }
  }
  return { activeUntil, nextAt: undefined }
}
