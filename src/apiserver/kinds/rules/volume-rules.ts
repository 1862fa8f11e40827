import type { KindRules } from './kind-rules.ts'

/** A PersistentVolume starts as Pending. */
export const volumeRules: Partial<KindRules> = {
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
}

/** A PersistentVolumeClaim starts as Pending. */
export const volumeClaimRules: Partial<KindRules> = {
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
}
