import { isRecord } from '../kube/basics/json.ts'
import { amountNames, type Amounts } from '../kube/basics/requests.ts'
import { awsPrices, hourly, hoursOfMonth, type RegionPrices } from './aws-prices.ts'

/** Prices per hour of one core, GiB of memory, GPU, GiB of storage and load balancer. */
export interface Prices {
  readonly currency: string
  readonly unit: Amounts
  readonly namespaces: Readonly<Record<string, Amounts>>
  /** Of cloud resources per hour, by region of AWS; '' for regions that are not listed. */
  readonly aws: Readonly<Record<string, RegionPrices>>
}

/**
 * On-demand prices in USD: those of OpenCost's `configs/default.json` (GCP us-central1, October 2024) and 0.025 for a load balancer. In AWS:
 * `awsPrices`.
 */
export const defaultPrices: Prices = {
  currency: 'USD',
  unit: { cpu: 0.031611, memory: 0.004237, gpu: 0.95, storage: 0.04 / hoursOfMonth, loadBalancers: 0.025 },
  namespaces: {},
  aws: Object.fromEntries(Object.entries(awsPrices).map(([region, listed]) => [region, hourly(listed)])),
}

const fields = ['cpuHour', 'memoryGiBHour', 'gpuHour', 'storageGiBMonth', 'loadBalancerHour']

/** Reads a parsed price file. Throws an Error that names the field. What is absent keeps its default, in USD only. */
export function readPrices(given: unknown): Prices {
  const { currency = 'USD', namespaces = {}, aws = {}, ...rest } = mapOf(given, 'the file')
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency))
    throw new Error(`currency is ${JSON.stringify(currency)}: it must be three capital letters, such as "EUR"`)
  const missing = fields.find((field) => rest[field] === undefined)
  if (currency !== 'USD' && missing)
    throw new Error(`${missing} is missing: the built-in prices are in USD, not in ${currency}`)
  const unit = amountsOf(rest, '', defaultPrices.unit)
  const cloud =
    currency === 'USD' ? defaultPrices.aws : { '': { snapshot: unit.storage, loadBalancer: unit.loadBalancers } }
  const each = <T>(map: unknown, where: string, read: (prices: unknown, path: string, name: string) => T) =>
    Object.fromEntries(
      Object.entries(mapOf(map, where)).map(([name, prices]) => [name, read(prices, `${where}.${name}`, name)]),
    )
  return {
    currency,
    unit,
    namespaces: each(namespaces, 'namespaces', (prices, path) => amountsOf(prices, path, unit)),
    aws: {
      ...cloud,
      ...each(aws, 'aws', (prices, path, region) => ({ ...pricesIn(cloud, region), ...regionOf(prices, path) })),
    },
  }
}

/** The prices of a region of AWS. */
export function pricesIn(aws: Prices['aws'], region: string): RegionPrices {
  return aws[region] ?? aws[''] ?? {}
}

/** What amounts cost for this many hours. */
export function costOf(amounts: Amounts, hours: number, unit: Amounts): number {
  return amountNames.reduce((total, name) => total + amounts[name] * unit[name], 0) * hours
}

function mapOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value
  throw new Error(`${where} must be a map of prices, such as "cpuHour: 0.02"`)
}

/** The prices of a region, by the names of the price table; the first two fields of the file have other names for two of them. */
function regionOf(given: unknown, where: string): RegionPrices {
  const names: Readonly<Record<string, string>> = { storageGiBMonth: 'snapshot', loadBalancerHour: 'loadBalancer' }
  const known = Object.keys(awsPrices['']!)
  const listed = Object.entries(mapOf(given, where)).map(([field, price]) => {
    const name = names[field] ?? field
    if (!known.includes(name) && !name.startsWith('db.'))
      throw new Error(`${where}.${field} is not known; known are ${known.join(', ')} and classes of databases`)
    return [name, priceOf(price, `${where}.${field}`)]
  })
  return hourly(Object.fromEntries(listed) as RegionPrices)
}

function priceOf(price: unknown, path: string): number {
  if (typeof price === 'number' && Number.isFinite(price) && price >= 0) return price
  throw new Error(`${path} is ${JSON.stringify(price)}: it must be a number that is not negative`)
}

function amountsOf(given: unknown, where: string, otherwise: Amounts): Amounts {
  const found = Object.entries(mapOf(given, where)).map(([field, price]) => {
    const path = where === '' ? field : `${where}.${field}`
    const name = amountNames[fields.indexOf(field)]
    if (!name) throw new Error(`${path} is not known; known are ${fields.join(', ')}`)
    const read = priceOf(price, path)
    return [name, name === 'storage' ? read / hoursOfMonth : read]
  })
  return { ...otherwise, ...Object.fromEntries(found) }
}
