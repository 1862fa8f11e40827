import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { yaml } from '../../kube/yaml.ts'
import { defaultPrices, readPrices, type Prices } from '../../prices/prices.ts'

/** How savings are counted and priced: see docs/guide/savings.md. */
export interface SavingsConfig {
  readonly prices: Prices
  /** How long a deleted object counts. Defaults to 30 days. */
  readonly horizonMs: number
  /** Where OpenCost's API is, for its prices. Defaults to none. */
  readonly opencostUrl?: string
  /** NotificationChannels of the weekly mail. Defaults to none. */
  readonly mailChannels: readonly string[]
}

export const savingsFlags = {
  prices: { type: 'string', help: 'Prices of savings (default: list prices, USD)', value: 'FILE', completes: 'files' },
  'opencost-url': { type: 'string', help: "Take prices from OpenCost's API at this URL, once a day", value: 'URL' },
  'savings-mail': {
    type: 'string',
    help: 'NotificationChannels of type smtp for a mail on Mondays: one with "to" is the team\'s, others mail owners',
    value: 'NAME,…',
  },
  'savings-horizon': { type: 'string', help: 'How long a deleted object saves (default: 30d)', value: 'DURATION' },
} as const

/** The prices of a file. Throws ConfigError that names file and field. */
export function pricesIn(found: { readonly text: string; readonly where: string } | undefined): Prices {
  if (!found) return defaultPrices
  try {
    return readPrices(yaml().parse(readFileSync(found.text, 'utf8')))
  } catch (error) {
    throw new ConfigError(`${found.where}: ${found.text}: ${(error as Error).message.split('\n')[0]}`, { cause: error })
  }
}
