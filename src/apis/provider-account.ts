import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { health, list, object, oneOf, optional, string, type Static } from './schema.ts'

const spec = object({
  provider: oneOf(['aws'], { description: 'Cloud provider of the account.' }),
  accountId: optional(
    string({
      pattern: '^[0-9]{12}$',
      description: 'Account ID. Sojourn does nothing if the credentials belong to another account.',
    }),
  ),
  regions: list(string({ minLength: 1 }), { minItems: 1, description: 'Regions to look in, such as eu-central-1.' }),
  roleArn: optional(string({ description: 'ARN of the role to assume. Default: the credentials are used directly.' })),
  externalId: optional(string({ description: 'External ID that the trust policy of the role requires.' })),
  endpoint: optional(
    string({ description: 'Endpoint URL to use instead of that of AWS, for private endpoints and tests.' }),
  ),
  eurekaUrl: optional(
    string({
      pattern: '^https?://',
      description:
        'URL of the Eureka server that instances register with, such as `https://eureka.example.org/eureka/v2`.',
    }),
  ),
  secretRef: optional(
    object(
      { name: string({ minLength: 1, description: 'Name of the Secret.' }) },
      {
        description:
          'Secret in the namespace of Sojourn with `accessKeyId` and `secretAccessKey`. Default: the credentials of the environment.',
      },
    ),
  ),
})

const status = object(health)

/** A cloud account and how to reach it. */
export const providerAccount = defineKind({
  ...sojournGroup,
  kind: 'ProviderAccount',
  plural: 'provideraccounts',
  scope: 'Cluster',
  description: 'Registers a cloud account, its regions and the role to assume.',
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
