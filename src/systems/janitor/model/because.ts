/** Why a policy does not apply to a resource. */
export const exclusions = {
  'opted-out': 'its owner opted out of cleanup',
  'never-expires': 'it is marked expiration_time: never',
  'keep-mark': 'it is marked sojourn.dev/keep',
  'own-machinery': 'it is one of Sojourn’s own objects, which no rule deletes',
  'system-namespace': 'it belongs to the cluster itself',
  literal: 'an exclusion names it',
  'not-allowlisted': 'no allowlist names it',
  application: 'its application is excluded',
  account: 'its account is excluded',
  tag: 'a tag excludes it',
  label: 'its labels exclude it',
  'ttl-not-over': 'its own ttl has not expired yet',
  'ttl-malformed': 'its own ttl cannot be read, so it never expires',
  'too-young': 'it is younger than the policy’s minimum age',
  'being-deleted': 'it is already being deleted',
  owned: 'it is owned by another object, which still exists',
  shielded: 'its provider protects it',
  'takes-protected': 'deleting it would also delete a protected object',
} as const

/** Why a policy has no objection to a resource. */
export const compliances = {
  'no-rule-matches': 'no rule of the policy matches it',
  'recently-used': 'it is or was recently in use',
} as const

/** What could not be determined: such a resource is neither marked nor unmarked nor deleted. */
export const doubts = {
  'age-unknown': 'its age is not known yet',
  'use-unknown': 'its use is unknown',
  'use-not-followed-long-enough': 'its use has not been recorded for long enough',
  'rule-undecided': 'a rule could not be evaluated',
} as const

/** Why a mark has to wait. */
export const waits = {
  'not-announced': 'its owner has not been notified yet',
  'owner-unknown': 'no owner is known who could be notified',
  'held-by-human': 'its mark has spec.hold set',
  postponed: 'its mark has spec.notBefore set',
  'not-due': 'its deletion date has not been reached',
  'in-batch': 'its batch is scheduled for later',
  'after-failure': 'the last attempt failed',
} as const

/** Why a mark was made, changed or ended. */
export const phaseReasons = {
  violates: 'a rule of the policy matches it',
  'gone-by-itself': 'it was deleted by other means',
  deleted: 'it was deleted',
  refused: 'its provider refused the deletion',
  changed: 'it changed meanwhile and will be judged again',
  recalculated: 'its deletion date was brought forward by request',
  'owner-changed': 'its owner changed; the new owner has to be notified first',
  testing: 'it was changed through a testing path',
} as const

export type Exclusion = keyof typeof exclusions
export type Compliance = keyof typeof compliances
export type Doubt = keyof typeof doubts
export type Wait = keyof typeof waits
export type PhaseReason = keyof typeof phaseReasons

/** A reason of the janitor as a clause for users; an unknown one is shown as it is. */
export function sentenceFor(word: string): string {
  const all: Readonly<Record<string, string>> = { ...exclusions, ...compliances, ...doubts, ...waits, ...phaseReasons }
  return all[word] ?? word
}
