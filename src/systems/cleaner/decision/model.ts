import type { Requirement } from '../../../kube/selector.ts'

/** A Cleaner or a ConditionalTTL, as everything after the adapters sees it. */
export interface Model {
  readonly ttlMs: number
  /** How often to look again when nothing else tells when. */
  readonly periodMs: number
  /** The user's word that conditions, once true, stay true by time alone. */
  readonly monotonic: boolean
  readonly targets: readonly Target[]
  readonly conditions: readonly string[]
  readonly releases: readonly Release[]
  /** How long what follows the targets is held until they are gone. */
  readonly waitMs?: number
  readonly sink?: Sink
  readonly suspend: boolean
  readonly dryRun: boolean
  /** WorkSchedules within which to delete. */
  readonly schedules: readonly string[]
}

/** Something that is looked at, deleted, or both. */
export interface Target {
  /** The variable that stands for it in conditions. */
  readonly name: string
  readonly apiVersion: string
  /** As the user wrote it, in any case. */
  readonly kind: string
  readonly select:
    | { readonly by: 'name'; readonly name: string }
    | { readonly by: 'labels'; readonly requirements: readonly Requirement[] }
  readonly delete: boolean
  readonly evaluate: boolean
  /** `WaitForAny`: wait as long as anything that is to be deleted is left, then count as done. */
  readonly onMissing: 'Wait' | 'WaitForAny' | 'Null' | 'Complete'
  /** What is on its way out already counts as gone. */
  readonly excludeTerminating: boolean
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
}

/** Who is told in the end. */
export interface Sink {
  readonly url: string
  /** Whether it must have been told. */
  readonly required: boolean
}

/** A Helm release to uninstall. */
export interface Release {
  readonly name: string
  readonly driver: 'secret' | 'configmap'
  readonly disableHooks: boolean
  readonly timeoutMs: number
}

/** Something wrong with a spec, and where. */
export interface Problem {
  readonly field: string
  readonly message: string
}

/** A model, or everything that keeps a spec from being one. */
export type Reading = { readonly model: Model } | { readonly problems: readonly Problem[] }

/** Looked at again this often unless the spec says otherwise. */
export const defaultPeriodMs = 3_600_000
