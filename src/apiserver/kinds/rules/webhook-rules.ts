import { forbidden } from '../../schema/types/field-error.ts'
import type { KindRules } from './kind-rules.ts'

/** A webhook that is stored but never called would give false safety, so none is stored. */
export const webhookRules: Partial<KindRules> = {
  validate: () => [forbidden('webhooks', 'this server does not call admission webhooks')],
}
