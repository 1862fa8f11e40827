import type { AwsTypeName } from '../../src/apis/cleanup-policy.ts'
import type { ProviderAccount } from '../../src/apis/provider-account.ts'
import { defaultPrices } from '../../src/prices/prices.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { AwsProvider } from '../../src/systems/janitor/aws/aws-provider.ts'
import { policy } from '../../test/janitor/fixtures.ts'
import { localNetwork } from '../../test/local-network.ts'

/** Judges every resource of these types in a pretended account once, and prints the ids of the unused ones by type. */
const [endpoint, types = '[]', clusters = '[]'] = process.argv.slice(2)
const region = 'eu-west-1'
const resourceTypes = JSON.parse(types) as AwsTypeName[]
const account = {
  metadata: { name: 'main', generation: 1 },
  spec: { provider: 'aws', regions: [region], endpoint, secretRef: { name: 'aws' } },
} as ProviderAccount
const provider = new AwsProvider({
  prices: defaultPrices,
  clock: systemClock,
  network: localNetwork(),
  accounts: () => [account],
  secret: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }),
  clusters: async () => new Map(JSON.parse(clusters) as [string, string][]),
})
const { resources } = await provider.observe({
  policy: policy({ targets: [{ aws: { accounts: ['main'], resourceTypes } }] }),
  location: `aws/main/${region}`,
  signal: new AbortController().signal,
})
provider.close()
const unused = resources.filter(({ use, shield }) => use.state === 'unused' && !shield)
const idsOf = (type: string) => unused.filter(({ kind }) => kind === type).map(({ name }) => name)
process.stdout.write(JSON.stringify(Object.fromEntries(resourceTypes.map((type) => [type, idsOf(type)]))))
