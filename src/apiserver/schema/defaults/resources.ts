import { formatQuantity, parseQuantity } from '../../../kube/basics/quantity.ts'
import { fill, part, type Json } from './fill.ts'
import { given } from '../validation/parts/checks.ts'

const milli = 1_000_000n

/** Rounds quantities up to thousandths, the API's precision. Changes its argument. */
export function roundResources(list: Json): void {
  for (const [name, value] of Object.entries(list)) {
    const quantity = typeof value === 'string' ? parseQuantity(value) : undefined
    if (!quantity || quantity.nanos % milli === 0n) continue
    const floor = quantity.nanos - (((quantity.nanos % milli) + milli) % milli)
    list[name] = formatQuantity({ ...quantity, nanos: floor + milli })
  }
}

/** Requests default to the limits of a container. Changes its argument. */
export function requestLimits(container: Json): void {
  const limits = given(part(container, 'resources'), 'limits')
  if (limits) fill(part(part(container, 'resources'), 'requests'), limits)
}
