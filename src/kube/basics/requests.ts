import { amountOf } from './quantity.ts'

/** What capacity is requested: cores, GiB of memory, GPUs, GiB of storage, load balancers. */
export type Amounts = Readonly<Record<(typeof amountNames)[number], number>>

export const amountNames = ['cpu', 'memory', 'gpu', 'storage', 'loadBalancers'] as const
export const nothing: Amounts = { cpu: 0, memory: 0, gpu: 0, storage: 0, loadBalancers: 0 }

function combined(left: Amounts, right: Amounts, combine: (left: number, right: number) => number): Amounts {
  return Object.fromEntries(amountNames.map((name) => [name, combine(left[name], right[name])])) as Amounts
}

export const sum = (left: Amounts, right: Amounts) => combined(left, right, (one, other) => one + other)
export const times = (amounts: Amounts, factor: number) => combined(amounts, amounts, (value) => value * factor)
const larger = (left: Amounts, right: Amounts) => combined(left, right, Math.max)

type Quantities = Readonly<Record<string, string | number>>

interface Container {
  readonly restartPolicy?: string
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities }
}

export interface PodSpec extends Container {
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly overhead?: Quantities
}

/** What the scheduler reserves for one Pod: the larger of its containers together and its largest init container, plus overhead. */
export function podRequests({ containers = [], initContainers = [], overhead = {}, resources = {} }: PodSpec): Amounts {
  let [sidecars, peak] = [nothing, nothing]
  for (const container of initContainers) {
    // A sidecar runs on beside everything that starts after it.
    if (container.restartPolicy === 'Always') sidecars = sum(sidecars, requestsOf(container))
    else peak = larger(peak, sum(sidecars, requestsOf(container)))
  }
  const ofContainers = larger(containers.map(requestsOf).reduce(sum, sidecars), peak)
  const chosen = combined(requestsOf({ resources }), ofContainers, (ofPod, other) => ofPod || other)
  return sum(chosen, amountsIn(overhead))
}

/** A limit without a request is the request, as the API server sets it. */
function requestsOf({ resources: { requests = {}, limits = {} } = {} }: Container): Amounts {
  return amountsIn({ ...limits, ...requests })
}

function amountsIn(quantities: Quantities): Amounts {
  const gpu = Object.entries(quantities).reduce((total, [name, count]) => {
    // A MIG slice is a share of a GPU: `mig-1g.5gb` is one of seven.
    const [, slices = '7'] = /^[a-z.]+\/(?:gpu|mig-(\d)g\S*)$/.exec(name) ?? [name, '0']
    return total + (amountOf(count) * Number(slices)) / 7
  }, 0)
  return { ...nothing, cpu: amountOf(quantities['cpu']), memory: amountOf(quantities['memory']) / 2 ** 30, gpu }
}
