import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { yaml } from '../../kube/yaml.ts'
import { defaultPrices, readPrices, type Prices } from '../../prices/prices.ts'
import { duration, list, setting, url, type Found } from './settings.ts'

/** How savings are counted and priced: see docs/guide/savings.md. */
export const savingsSettings = {
  prices: setting('FILE: Prices of savings (default: list prices, USD)', pricesIn),
  'opencost-url': url("URL: Take prices from OpenCost's API at this URL, once a day"),
  'savings-mail': list(
    'NAME,…: NotificationChannels of type smtp for a mail on Mondays: one with "to" is the team\'s, others mail owners',
    () => undefined,
  ),
  'savings-horizon': duration('DURATION: How long a deleted object saves', '30d'),
}

/** The prices of a file. Throws ConfigError that names file and field. */
function pricesIn(found: Found | undefined): Prices {
  if (!found) return defaultPrices
  try {
    return readPrices(yaml().parse(readFileSync(found.text, 'utf8')))
  } catch (error) {
    throw new ConfigError(`${found.where}: ${found.text}: ${(error as Error).message.split('\n')[0]}`, { cause: error })
  }
}
