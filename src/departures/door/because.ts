import { formatTime } from '../../kube/time.ts'

/** Why something may not leave at all. */
export const refusals = {
  'keep-mark': 'it is marked sojourn.dev/keep',
  'never-expires': 'it is marked expiration_time: never',
  'opted-out': 'its owner opted out of cleanup',
  'bond-denies': 'something still in use needs it and its Bond refuses the deletion',
  'system-namespace': 'it belongs to the cluster itself',
  'own-machinery': 'it is part of Sojourn itself',
} as const

/** Why something may not leave now. */
export const holds = {
  'dry-run': 'this is a dry run',
  paused: 'departures are paused',
  'outside-window': 'it is outside the hours in which things may leave',
  'no-such-schedule': 'the work schedule it must keep to cannot be found',
  'breaker-open': 'too much left too quickly and the breaker is open',
  'bond-holds': 'something that needs it has to leave first',
  'takes-protected': 'it would take something along that may not leave',
  'protections-unknown': 'it cannot be known whether something protects it',
} as const

export type Refusal = keyof typeof refusals
export type Hold = keyof typeof holds

/** How a wish to let something leave ended. Everything but `gone` and `leaving` means that it is still there. */
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
