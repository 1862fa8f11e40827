import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { yaml } from '../../kube/yaml.ts'
import { defaultPrices, readPrices, type Prices } from '../../systems/savings/decision/prices.ts'

/** How savings are counted and priced: see docs/guide/savings.md. */
export interface SavingsConfig {
  readonly prices: Prices
  /** How long a deleted object counts. Defaults to 30 days. */
  readonly horizonMs: number
}

export const savingsFlags = {
  prices: { type: 'string', help: 'Prices of savings (default: list prices, USD)', value: 'FILE', completes: 'files' },
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
