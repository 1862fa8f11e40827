import { ConfigError } from '../../client/cluster-config.ts'
import type { Settings } from './activator-config.ts'
import { flagsOf } from './flags.ts'
import type { TenancyOptions } from '../../tenancy/act-as.ts'

/** What operators of a cluster with several tenants choose: see docs/guide/security.md. */
export interface TenancyConfig extends TenancyOptions {
  readonly requireServiceAccount: boolean
  readonly withoutCreator: 'Confine' | 'Hold'
  readonly noCrossNamespaceRefs: boolean
  /** Whether the webhook answers only callers whose token may call it. */
  readonly requireWebhookToken: boolean
}

export const tenancyFlags = flagsOf({
  'default-service-account':
    'NAME: ServiceAccount that acts for objects without spec.serviceAccountName, in their namespace (default: none)',
  'require-service-account':
    'Hold objects without spec.serviceAccountName (default: act with the rights of their creator)',
  'without-creator': {
    type: 'string',
    help: 'What becomes of objects whose creator is not recorded: Confine (to their namespace) or Hold (default: Confine; Hold with a default or required ServiceAccount)',
    value: 'RULE',
    completes: ['Confine', 'Hold'],
  },
  'no-cross-namespace-refs':
    'Objects may refer to their own namespace only (default: also to others, with the rights of their creator)',
  'require-webhook-token':
    'The validating webhook answers only callers with a token that may post to its path (default: API servers call it without one)',
})

export function readTenancyConfig({ text, boolean, oneOf }: Settings): TenancyConfig {
  const account = text('default-service-account')
  if (account && !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(account.text))
    throw new ConfigError(
      `${account.where} is ${JSON.stringify(account.text)}: it must be the name of a ServiceAccount`,
    )
  const requireServiceAccount = boolean('require-service-account', false)
  const usesAccounts = requireServiceAccount || account !== undefined
  return {
    ...(account ? { defaultServiceAccount: account.text } : {}),
    requireServiceAccount,
    withoutCreator: oneOf('without-creator', ['Confine', 'Hold'] as const, usesAccounts ? 'Hold' : 'Confine'),
    noCrossNamespaceRefs: boolean('no-cross-namespace-refs', false),
    requireWebhookToken: boolean('require-webhook-token', false),
  }
}
