import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { conditions, list, object, oneOf, optional, string, type Static } from './schema.ts'

const spec = object({
  provider: oneOf(['aws']),
  accountId: optional(string({ pattern: '^[0-9]{12}$', description: 'Refuses to work in any other account.' })),
  regions: list(string({ minLength: 1 }), { minItems: 1 }),
  roleArn: optional(string({ description: 'Assumed for every call. Defaults to the credentials at hand.' })),
  externalId: optional(string()),
  endpoint: optional(string({ description: 'Instead of AWS itself, for private endpoints and tests.' })),
  eurekaUrl: optional(
    string({
      pattern: '^https?://',
      description: 'Where its instances register for discovery, such as `https://eureka.example.org/eureka/v2`.',
    }),
  ),
  secretRef: optional(
    object(
      { name: string({ minLength: 1 }) },
      { description: 'Secret in our own namespace with `accessKeyId` and `secretAccessKey`.' },
    ),
  ),
})

const status = object({ conditions: optional(conditions()) })

/** A cloud account and how to reach it. */
export const providerAccount = defineKind({
  ...sojournGroup,
  kind: 'ProviderAccount',
  plural: 'provideraccounts',
  scope: 'Cluster',
  description: 'A cloud account, its regions, and the role to assume in it.',
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Provider', type: 'string', jsonPath: '.spec.provider' },
    { name: 'Account', type: 'string', jsonPath: '.spec.accountId' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type ProviderAccount = ObjectOf<typeof providerAccount>
export type ProviderAccountSpec = Static<typeof spec>
