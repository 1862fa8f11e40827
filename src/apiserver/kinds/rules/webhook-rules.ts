import { forbidden } from '../../schema/types/field-error.ts'
import type { KindRules } from './kind-rules.ts'

/**
 * Refuses webhook configurations: this server calls no webhooks, and a stored one would suggest a protection that
 * does not exist.
 */
export const webhookRules: Partial<KindRules> = {
  validate: () => [forbidden('webhooks', 'this server does not call admission webhooks')],
}
