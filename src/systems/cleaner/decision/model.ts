import type { Release } from '../../../helm/release.ts'
import type { Cleaner } from '../../../apis/cleaner.ts'
import { formatSelector, type Requirement } from '../../../kube/selector.ts'

/** The status of a Cleaner; a ConditionalTTL's has the same fields. */
export type CleanerStatus = NonNullable<Cleaner['status']>

/** The spec of a Cleaner or a ConditionalTTL, validated and in one form. */
export interface Model {
  readonly ttlMs: number
  /** How often to evaluate again when the next possible change cannot be computed. */
  readonly periodMs: number
  /** How often to evaluate again when time alone can change nothing: a change of the targets triggers an evaluation anyway. */
  readonly idlePeriodMs: number
  /** Asserts that the conditions, once true, stay true as time passes. */
  readonly monotonic: boolean
  readonly targets: readonly Target[]
  readonly conditions: readonly string[]
  readonly releases: readonly Release[]
  /** How long releases and sink wait for the targets' finalizers. */
  readonly waitMs?: number
  readonly sink?: Sink
  /** The notice before the deletion. */
  readonly warn?: { readonly beforeMs: number; readonly channels: readonly string[] }
  readonly suspend: boolean
  readonly dryRun: boolean
  /** Names of the WorkSchedules that must be open for a deletion. */
  readonly schedules: readonly string[]
}

/** Objects that conditions evaluate, that are deleted, or both. */
export interface Target {
  /** Its variable in conditions. */
  readonly name: string
  readonly apiVersion: string
  /** As the user wrote it, in any case. */
  readonly kind: string
  readonly select:
    | { readonly by: 'name'; readonly name: string }
    | { readonly by: 'labels'; readonly requirements: readonly Requirement[] }
  readonly delete: boolean
  readonly evaluate: boolean
  /** `WaitForAny`: wait while any object to delete still exists, then delete only the Cleaner itself. */
  readonly onMissing: 'Wait' | 'WaitForAny' | 'Null' | 'Complete'
  /** Objects with a deletionTimestamp count as missing. */
  readonly excludeTerminating: boolean
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
}

/** Where the CloudEvent goes once everything is deleted. */
export interface Sink {
  readonly url: string
  /** Whether delivery is retried until it succeeds. */
  readonly required: boolean
  /** How long delivery is retried. */
  readonly timeoutSeconds?: number
}

/** An invalid field of a spec. */
export interface Problem {
  readonly field: string
  readonly message: string
}

/** The model, or everything that is wrong with the spec. */
export type Reading = { readonly model: Model } | { readonly problems: readonly Problem[] }

/** `retry.period` when the spec sets none. */
export const defaultPeriodMs = 3_600_000

/** The same where time alone can change nothing. */
export const defaultIdlePeriodMs = 86_400_000

/** What a target selects, for people: its own name means nothing to them. */
export function describeTarget({ kind, select }: Target): string {
  const word = kind.toLowerCase()
  if (select.by === 'name') return `${word}/${select.name}`
  return `every ${word} ${select.requirements.length > 0 ? `with ${formatSelector(select.requirements)}` : 'in the namespace'}`
}
