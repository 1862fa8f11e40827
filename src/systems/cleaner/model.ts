import type { Requirement } from '../../kube/selector.ts'

/** A Cleaner or a ConditionalTTL, as everything after the adapters sees it. */
export interface Model {
  readonly ttlMs: number
  /** How often to look again when nothing else tells when. */
  readonly periodMs: number
  readonly targets: readonly Target[]
  readonly conditions: readonly string[]
  readonly releases: readonly Release[]
  readonly sink?: string
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
  readonly onMissing: 'Wait' | 'Null' | 'Complete'
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
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
