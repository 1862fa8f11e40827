import type { DepartResult, Hold } from '../../departures/door/because.ts'

/** When to ask the door again about what it did not let go. Only for who says `Held`: the door calls those. */
export function lookAgainAt(answer: Extract<DepartResult, { because: string }>, now: number): number {
  if (answer.result === 'held' && answer.until !== undefined) return answer.until
  return now + (endsByCall.has(answer.because) ? longestMs : shortestMs)
}

/** What ends these, the Cleaner itself, a switch, a schedule or a Bond, calls when it changes: no clock has to look for it. */
const endsByCall: ReadonlySet<string> = new Set<Hold>([
  'dry-run',
  'paused',
  'breaker-open',
  'outside-window',
  'no-such-schedule',
  'bond-holds',
])
const shortestMs = 60_000
const longestMs = 3_600_000
