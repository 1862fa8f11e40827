import { invalidValue, required, type FieldError } from '../../types/field-error.ts'
import { parseQuantity } from '../../../../kube/basics/quantity.ts'
import { checked, given, text, type Json } from './checks.ts'
import { qualifiedNameFaults } from '../../../../kube/names.ts'

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])

/** Faults of a container's requests and limits. */
export function* resourcesFaults(resources: Json | undefined, path: string): Generator<FieldError> {
  const limits = given(resources, 'limits') ?? {}
  const requests = given(resources, 'requests') ?? {}
  for (const [name, value] of Object.entries(limits)) yield* amountFaults(name, text(value), `${path}.limits[${name}]`)
  for (const [name, value] of Object.entries(requests)) {
    yield* amountFaults(name, text(value), `${path}.requests[${name}]`)
    const limit = text(limits[name])
    if (limit && isMore(text(value), limit)) {
      const isExact = !containerResources.has(name)
      const detail = isExact
        ? `must be equal to ${name} limit of ${limit}`
        : `must be less than or equal to ${name} limit of ${limit}`
      yield invalidValue(`${path}.requests`, value, detail)
    }
  }
}

/** Faults of a quantity that must not be negative. */
export function* quantityFaults(value: string, path: string): Generator<FieldError> {
  const quantity = parseQuantity(value)
  if (quantity && quantity.nanos < 0n) yield invalidValue(path, value, 'must be greater than or equal to 0')
}

/** Faults of a resource name: a standard name, or one qualified by a domain. */
export function* resourceNameFaults(name: string, path: string): Generator<FieldError> {
  yield* checked(path, name, qualifiedNameFaults)
  if (!name.includes('/') && !standardResources.has(name) && !name.startsWith('hugepages-')) {
    yield invalidValue(path, name, 'must be a standard resource type or fully qualified')
  }
}

/** Whether one quantity is greater than another. */
export function isMore(one: string, other: string): boolean {
  const [left, right] = [parseQuantity(one), parseQuantity(other)]
  return left !== undefined && right !== undefined && left.nanos > right.nanos
}

function* amountFaults(name: string, value: string, path: string): Generator<FieldError> {
  yield* resourceNameFaults(name, path)
  if (!name.includes('/') && !containerResources.has(name) && !name.startsWith('hugepages-')) {
    yield invalidValue(path, name, 'must be a standard resource for containers')
  }
  yield* quantityFaults(value, path)
  const quantity = parseQuantity(value)
  if (name.includes('/') && quantity && quantity.nanos % 1_000_000_000n !== 0n)
    yield invalidValue(path, value, 'must be an integer')
}

/** Faults of a claim's or volume's size. */
export function* storageFaults(list: Json | undefined, path: string): Generator<FieldError> {
  const storage = text(list?.storage)
  if (!storage) yield required(`${path}[storage]`)
  else if ((parseQuantity(storage)?.nanos ?? 0n) <= 0n)
    yield invalidValue(`${path}[storage]`, storage, 'must be greater than zero')
}

/** What quotas and containers can name without a domain. */
export const standardResources: ReadonlySet<string> = new Set([
  ...containerResources,
  'storage',
  'pods',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
])
