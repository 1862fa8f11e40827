/** Why a resource is none of a policy's business, or no longer. */
export const exclusions = {
  'opted-out': 'its owner opted out of cleanup',
  'never-expires': 'it is marked expiration_time: never',
  'keep-mark': 'it is marked sojourn.dev/keep',
  'own-machinery': 'it is part of Sojourn itself',
  'system-namespace': 'it belongs to the cluster itself',
  literal: 'an exclusion names it',
  'not-allowlisted': 'no allowlist names it',
  application: 'its application is excluded',
  account: 'its account is excluded',
  tag: 'a tag excludes it',
  label: 'its labels exclude it',
  'ttl-not-over': 'its own ttl is not over yet',
  'too-young': 'it is younger than the policy’s minimum age',
  'being-deleted': 'it is being deleted already',
  owned: 'it goes with its owner, which still exists',
  shielded: 'its provider protects it',
} as const

/** Why a resource may stay. */
export const compliances = {
  'no-rule-matches': 'no rule of the policy matches it',
  'recently-used': 'it was in use not long ago',
} as const

/** What could not be found out: such a resource keeps its mark and is not deleted. */
export const doubts = {
  'age-unknown': 'its age is not known yet',
  'use-unknown': 'it cannot be known whether it is in use',
  'use-not-followed-long-enough': 'its use has not been followed for long enough',
  'rule-undecided': 'a rule could not be decided',
} as const

/** Why a mark has to wait. */
export const waits = {
  'not-announced': 'its owner has not been told yet',
  'owner-unknown': 'nobody is known who could be told',
  'held-by-human': 'somebody put it on hold',
  postponed: 'somebody postponed it',
  'not-due': 'its time has not come',
  'in-batch': 'its batch has its turn later',
  'after-failure': 'the last try failed',
} as const

/** Why a mark ended, or came about. */
export const turns = {
  violates: 'a rule of the policy matches it',
  'gone-by-itself': 'it disappeared without us',
  deleted: 'it was deleted',
  refused: 'its provider did not let it be deleted',
  changed: 'it changed meanwhile and is judged again',
  recalculated: 'somebody brought its date forward',
  'owner-changed': 'it belongs to somebody else by now, who has to be told',
  testing: 'somebody is trying things out',
} as const

export type Exclusion = keyof typeof exclusions
export type Compliance = keyof typeof compliances
export type Doubt = keyof typeof doubts
export type Wait = keyof typeof waits
export type Turn = keyof typeof turns

/** Any word of the janitor as a sentence; an unknown one is shown as it is. */
export function sentenceFor(word: string): string {
  const all: Readonly<Record<string, string>> = { ...exclusions, ...compliances, ...doubts, ...waits, ...turns }
  return all[word] ?? word
}
