import { cleaner, ownCleaner } from './cleaner.ts'
import { conditionalTtl } from './conditional-ttl.ts'

/** The kinds that the cleaner reconciles: one model, one controller each. */
export const cleanerKinds = [cleaner, ownCleaner, conditionalTtl] as const
