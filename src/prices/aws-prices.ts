/** Prices of one region by name: volume types, classes of databases, and the other names in `perHour` and below. */
export type RegionPrices = Readonly<Record<string, number>>

/** Names of prices per hour; all others, except classes of databases, are per GiB and month. */
const perHour = ['elasticIp', 'natGateway', 'loadBalancer', 'classicBalancer']

export const hoursOfMonth = 730

/** Prices by name, as price lists state them, per hour. */
export function hourly(listed: RegionPrices): RegionPrices {
  return Object.fromEntries(
    Object.entries(listed).map(([name, price]) => [name, isHourly(name) ? price : price / hoursOfMonth]),
  )
}

function isHourly(name: string): boolean {
  return perHour.includes(name) || name.startsWith('db.')
}

const general = table(`
  gp2 0.1, gp3 0.08, io1 0.125, io2 0.125, st1 0.045, sc1 0.015, standard 0.05, snapshot 0.05,
  elasticIp 0.005, natGateway 0.045, loadBalancer 0.0225, classicBalancer 0.025, dbStorage 0.115, dbSnapshot 0.095, logs 0.03, ecr 0.1,
  db.t3.micro 0.018, db.t3.small 0.036, db.t3.medium 0.072, db.t3.large 0.145,
  db.t4g.micro 0.016, db.t4g.small 0.032, db.t4g.medium 0.065, db.t4g.large 0.129,
  db.m5.large 0.178, db.m5.xlarge 0.356, db.m6g.large 0.159, db.m6g.xlarge 0.318,
  db.r5.large 0.25, db.r5.xlarge 0.5, db.r6g.large 0.225, db.r6g.xlarge 0.45`)

/**
 * On-demand list prices in USD by region; '' holds for regions that are not listed: us-east-1. Databases: PostgreSQL in one zone; regions without
 * a price of their own have that of us-east-1.
 */
export const awsPrices: Readonly<Record<string, RegionPrices>> = {
  '': general,
  'eu-west-1': table(
    `gp2 0.11, gp3 0.088, io1 0.138, io2 0.138, st1 0.05, sc1 0.0168, standard 0.055,
    natGateway 0.048, loadBalancer 0.0252, classicBalancer 0.028, dbStorage 0.127`,
    general,
  ),
  'eu-central-1': table(
    `gp2 0.119, gp3 0.0952, io1 0.149, io2 0.149, st1 0.054, sc1 0.018, standard 0.059,
    snapshot 0.054, natGateway 0.052, loadBalancer 0.027, classicBalancer 0.03, dbStorage 0.137, logs 0.0324`,
    general,
  ),
}

function table(text: string, others: RegionPrices = {}): RegionPrices {
  const rows = text.split(',').map((row) => row.trim().split(' ') as [string, string])
  return { ...others, ...Object.fromEntries(rows.map(([name, price]) => [name, Number(price)])) }
}

/** One priced part of a cloud resource: the name of its price, and how many of it. */
export type PricedPart = readonly [name: string, amount: number]

interface Description {
  readonly Size?: number
  readonly VolumeSize?: number
  readonly VolumeType?: string
  readonly AllocatedStorage?: number
  readonly DBInstanceClass?: string
  readonly DBInstanceStatus?: string
  readonly MultiAZ?: boolean
  readonly storedBytes?: number
  readonly imageSizeInBytes?: number
}

const gib = 2 ** 30

/** What AWS charges for, by type of resource. Types that cost nothing are absent; snapshots are stored incrementally, so theirs is an upper bound. */
const parts: Readonly<Record<string, (described: Description) => readonly PricedPart[]>> = {
  volume: ({ VolumeType = 'gp2', Size = 0 }) => [[VolumeType, Size]],
  snapshot: ({ VolumeSize = 0 }) => [['snapshot', VolumeSize]],
  elasticIp: () => [['elasticIp', 1]],
  natGateway: () => [['natGateway', 1]],
  loadBalancer: () => [['classicBalancer', 1]],
  loadBalancerV2: () => [['loadBalancer', 1]],
  // A stopped database costs its storage only.
  dbInstance: ({ DBInstanceClass = '', DBInstanceStatus, AllocatedStorage = 0, MultiAZ }) => [
    ...(DBInstanceStatus === 'stopped' ? [] : [[DBInstanceClass, MultiAZ ? 2 : 1] as const]),
    ['dbStorage', AllocatedStorage * (MultiAZ ? 2 : 1)],
  ],
  dbSnapshot: ({ AllocatedStorage = 0 }) => [['dbSnapshot', AllocatedStorage]],
  logGroup: ({ storedBytes = 0 }) => [['logs', storedBytes / gib]],
  ecrImage: ({ imageSizeInBytes = 0 }) => [['ecr', imageSizeInBytes / gib]],
}

/** Types of AWS resources that cost something while they exist. */
export const pricedTypes = Object.keys(parts)

/** The priced parts of a resource by its description; undefined for a type that costs nothing. */
export function pricedParts(type: string, description: unknown): readonly PricedPart[] | undefined {
  return parts[type]?.((description ?? {}) as Description)
}

/** GiB among the parts: everything that is not charged by the hour. */
export function storedGiB(priced: readonly PricedPart[]): number {
  return priced.reduce((total, [name, amount]) => total + (isHourly(name) ? 0 : amount), 0)
}

/** The price of the parts for an hour; undefined when one of them has no known price. */
export function hourlyPrice(priced: readonly PricedPart[], prices: RegionPrices): number | undefined {
  let total = 0
  for (const [name, amount] of priced) {
    const price = prices[name]
    if (price === undefined) return undefined
    total += price * amount
  }
  return total
}

/** Size and price for people: `100 GiB gp3, about 8.00 USD a month`. */
export function describePrice(
  priced: readonly PricedPart[],
  { prices, currency }: { readonly prices: RegionPrices; readonly currency: string },
): string {
  const size = storedGiB(priced)
  const types = priced.flatMap(([name]) => (/^(?:gp|io|st|sc)\d$|^db\./.test(name) ? [name] : []))
  const price = hourlyPrice(priced, prices)
  const sizeText = size > 0 ? `${size < 0.01 ? 'less than 0.01' : Number(size.toFixed(2))} GiB` : ''
  return [
    [sizeText, ...types].filter((text) => text !== '').join(' '),
    ...(price === undefined ? ['price unknown'] : [`about ${(price * hoursOfMonth).toFixed(2)} ${currency} a month`]),
  ]
    .filter((text) => text !== '')
    .join(', ')
}
