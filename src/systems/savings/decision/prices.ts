import { amountNames, type Amounts } from '../../../kube/basics/requests.ts'

/** Prices per hour of one core, GiB of memory, GPU, GiB of storage and load balancer. */
export interface Prices {
  readonly currency: string
  readonly unit: Amounts
  readonly namespaces: Readonly<Record<string, Amounts>>
  /** Of cloud resources by region of AWS; '' for regions that are not listed. */
  readonly aws: Readonly<Record<string, Amounts>>
}

const hoursOfMonth = 730

/**
 * On-demand prices in USD: those of OpenCost's `configs/default.json` (GCP us-central1, October 2024) and 0.025 for a load balancer. In AWS:
 * EBS snapshots and Application Load Balancers in us-east-1.
 */
export const defaultPrices: Prices = {
  currency: 'USD',
  unit: { cpu: 0.031611, memory: 0.004237, gpu: 0.95, storage: 0.04 / hoursOfMonth, loadBalancers: 0.025 },
  namespaces: {},
  aws: { '': { cpu: 0, memory: 0, gpu: 0, storage: 0.05 / hoursOfMonth, loadBalancers: 0.0225 } },
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
  const cloud = currency === 'USD' ? defaultPrices.aws['']! : unit
  const each = (map: unknown, where: string, otherwise: Amounts) =>
    Object.fromEntries(
      Object.entries(mapOf(map, where)).map(([name, prices]) => [
        name,
        amountsOf(prices, `${where}.${name}`, otherwise),
      ]),
    )
  return {
    currency,
    unit,
    namespaces: each(namespaces, 'namespaces', unit),
    aws: { '': cloud, ...each(aws, 'aws', cloud) },
  }
}

/** What amounts cost for this many hours. */
export function costOf(amounts: Amounts, hours: number, unit: Amounts): number {
  return amountNames.reduce((total, name) => total + amounts[name] * unit[name], 0) * hours
}

function mapOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Error(`${where} must be a map of prices, such as "cpuHour: 0.02"`)
}

function amountsOf(given: unknown, where: string, otherwise: Amounts): Amounts {
  const found = Object.entries(mapOf(given, where)).map(([field, price]) => {
    const path = where === '' ? field : `${where}.${field}`
    const name = amountNames[fields.indexOf(field)]
    if (!name) throw new Error(`${path} is not known; known are ${fields.join(', ')}`)
    if (typeof price !== 'number' || !Number.isFinite(price) || price < 0)
      throw new Error(`${path} is ${JSON.stringify(price)}: it must be a number that is not negative`)
    return [name, name === 'storage' ? price / hoursOfMonth : price]
  })
  return { ...otherwise, ...Object.fromEntries(found) }
}
