import { formatTime } from '../../kube/time.ts'

/** Why Sojourn never deletes an object. The keys are part of the API: metrics and statuses carry them. */
export const refusals = {
  'keep-mark': 'it is marked sojourn.dev/keep',
  'never-expires': 'it is marked expiration_time: never',
  'opted-out': 'its owner opted out of cleanup',
  'bond-denies': 'a Bond forbids its deletion while its dependents exist',
  'system-namespace': 'it belongs to the cluster itself',
  'own-machinery': 'it is one of Sojourn’s own objects, which no rule deletes',
} as const

/** Why Sojourn does not delete an object at the moment. */
export const holds = {
  'dry-run': 'this is a dry run',
  paused: 'deletions are paused until an administrator runs "sojourn departures --resume"',
  'outside-window': 'it is outside the hours in which deletions are allowed',
  'no-such-schedule': 'its WorkSchedule does not exist',
  'breaker-open':
    'too many objects were deleted too quickly: the circuit breaker is open until an administrator runs "sojourn departures --close-breaker"',
  paced: 'more deletions are due than may happen in this time; it was announced and waits for its turn',
  'bond-holds': 'a Bond holds it until its dependents are gone',
  'takes-protected': 'deleting it would also delete a protected object',
  'no-record-key': 'the data of Secrets must be in its record and cannot be encrypted',
  'protections-unknown': 'whether it is protected is not known',
} as const

export type Refusal = keyof typeof refusals
export type Hold = keyof typeof holds

/**
 * How a request to delete an object ended. `leaving`: deleted, but finalizers hold it. `stale`: not the object, or the version, that was judged. Except after
 * `gone` and `leaving`, nothing was deleted.
 */
export type DepartResult =
  | { readonly result: 'gone' | 'leaving' }
  | { readonly result: 'stale' }
  | { readonly result: 'held'; readonly because: Hold; readonly until?: number; readonly detail?: string }
  | { readonly result: 'refused'; readonly because: Refusal; readonly detail?: string }

/** A held or refused result as a sentence. */
export function sentenceOf(result: Extract<DepartResult, { because: string }>): string {
  const text = result.result === 'held' ? holds[result.because] : refusals[result.because]
  const until = 'until' in result && result.until !== undefined ? `, until ${formatTime(result.until)}` : ''
  return result.detail ? `${text}${until} (${result.detail})` : `${text}${until}`
}
