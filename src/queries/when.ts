import { formatAge, formatTime } from '../kube/time.ts'

/** `at 2026-11-17T12:00:00Z, in 3d`; `now` when it has come. */
export function when(at: number, now: number): string {
  return at <= now ? 'now' : `at ${formatTime(at)}, in ${formatAge(at - now)}`
}
