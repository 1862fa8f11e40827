import { formatQuantity, parseQuantity, type Quantity } from '../../kube/basics/quantity.ts'

/** Amounts of resources, by name. */
export type Amounts = Readonly<Record<string, string>>

export interface Container {
  readonly name: string
  readonly restartPolicy?: string
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts }
}

interface AffinityTerm {
  readonly namespaces?: readonly string[]
  readonly namespaceSelector?: object
}

interface Affinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[]
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly podAffinityTerm: AffinityTerm }[]
}

export interface PodSpec {
  readonly affinity?: { readonly podAffinity?: Affinity; readonly podAntiAffinity?: Affinity }
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly activeDeadlineSeconds?: number
  readonly priorityClassName?: string
}

export function quantityOf(text: string | undefined): Quantity {
  return parseQuantity(text ?? '0') ?? { nanos: 0n, family: 'decimal' }
}

/** The sum of two lists of amounts. */
export function sum(left: Amounts, right: Amounts): Amounts {
  return combine(left, right, (a, b) => a + b)
}

/** What a Pod needs: its containers together, or more where an init container alone needs more. */
export function podAmounts({ containers = [], initContainers = [] }: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const amountsOf = ({ resources }: Container) => resources?.[kind] ?? {}
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  const running = [...containers, ...sidecars].map(amountsOf).reduce(sum, {})
  return initContainers.map(amountsOf).reduce((most, each) => combine(most, each, (a, b) => (a > b ? a : b)), running)
}

function combine(left: Amounts, right: Amounts, merge: (a: bigint, b: bigint) => bigint): Amounts {
  const result: Record<string, string> = { ...left }
  for (const [name, text] of Object.entries(right)) {
    const { nanos, family } = quantityOf(left[name] ?? text)
    const other = quantityOf(text).nanos
    result[name] = name in left ? formatQuantity({ nanos: merge(nanos, other), family }) : text
  }
  return result
}
