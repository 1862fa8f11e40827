import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { health, list, object, oneOf, secretName, string, type Static } from './schema.ts'

const spec = object({
  provider: oneOf('Cloud provider of the account.', ['aws']),
  'accountId?': string('Account ID. Sojourn does nothing if the credentials belong to another account.', {
    pattern: '^[0-9]{12}$',
  }),
  regions: list('Regions to look in, such as eu-central-1.', string({ minLength: 1 }), { minItems: 1 }),
  'roleArn?': string('ARN of the role to assume. Default: the credentials are used directly.'),
  'externalId?': string('External ID that the trust policy of the role requires.'),
  'endpoint?': string('Endpoint URL to use instead of that of AWS, for private endpoints and tests.'),
  'eurekaUrl?': string(
    'URL of the Eureka server that instances register with, such as `https://eureka.example.org/eureka/v2`.',
    { pattern: '^https?://' },
  ),
  'secretRef?': object(
    'Secret in the namespace of Sojourn with `accessKeyId` and `secretAccessKey`. Default: the credentials of the environment.',
    { name: secretName },
  ),
})

const status = object(health)

/** A cloud account and how to reach it. */
export const providerAccount = defineOwnKind({
  kind: 'ProviderAccount',
  scope: 'Cluster',
  description: 'Registers a cloud account, its regions and the role to assume.',
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
