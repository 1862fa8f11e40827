import type { Amounts } from '../../kube/basics/requests.ts'
import { readAnswer } from '../../parsing/answer.ts'
import type { Http } from '../../runtime/http/http.ts'
import type { Prices } from '../../prices/prices.ts'

/** What OpenCost allocated to a namespace in the window. */
type Allocation = Readonly<Record<string, unknown>>

/** Cost and hours of each amount, in the fields of an allocation; what it says in bytes is in GiB here. */
const fields = {
  cpu: ['cpuCost', 'cpuCoreHours', 1],
  memory: ['ramCost', 'ramByteHours', 2 ** 30],
  gpu: ['gpuCost', 'gpuHours', 1],
  storage: ['pvCost', 'pvByteHours', 2 ** 30],
} as const

/** The hours below which an allocation says no price: rounding would be most of it. */
const minHours = 0.01
const maxBytes = 16 * 2 ** 20

/**
 * Unit prices of OpenCost's allocations of the last day, by namespace. A namespace that slept has no cost there: the price of the cluster
 * counts for it. What OpenCost does not say stays as given, the currency and load balancers among it.
 */
export function pricesOf(allocations: Readonly<Record<string, Allocation>>, given: Prices): Prices {
  const unitOf = (members: readonly Allocation[], otherwise: Amounts): Amounts => {
    const found = Object.entries(fields).flatMap(([name, [cost, hours, per]]) => {
      const sum = (field: string) => members.reduce((total, each) => total + (Number(each[field]) || 0), 0)
      const used = sum(hours) / per
      return used >= minHours && sum(cost) >= 0 ? [[name, sum(cost) / used]] : []
    })
    return { ...otherwise, ...Object.fromEntries(found) }
  }
  // `__idle__` and its like are no namespaces, but their hours are paid as well.
  const named = Object.entries(allocations).filter(([name]) => !name.startsWith('__'))
  const unit = unitOf(Object.values(allocations), given.unit)
  const namespaces = named.map(([name, allocation]) => [name, unitOf([allocation], unit)])
  return { ...given, unit, namespaces: { ...Object.fromEntries(namespaces), ...given.namespaces } }
}

/** Asks OpenCost for the prices of the last day. Throws when it cannot be reached or answers something else. */
export async function askOpenCost(url: string, http: Http, given: Prices): Promise<Prices> {
  const query = 'window=1d&aggregate=namespace&accumulate=true'
  const { status, body } = await http({
    method: 'GET',
    url: `${url.replace(/\/+$/, '')}/allocation?${query}`,
    maxBytes,
  })
  if (status !== 200) throw new Error(`OpenCost answered ${status}`)
  const { data } = await readAnswer<{ readonly data?: readonly unknown[] }>(body)
  const [allocations] = Array.isArray(data) ? data : []
  if (typeof allocations !== 'object' || allocations === null) throw new Error('OpenCost sent no allocations')
  return pricesOf(allocations as Readonly<Record<string, Allocation>>, given)
}
