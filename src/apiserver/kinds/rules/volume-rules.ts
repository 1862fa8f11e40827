import type { KindRules } from './kind-rules.ts'

export const volumeRules: Partial<KindRules> = {
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
}

export const volumeClaimRules: Partial<KindRules> = {
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
}
