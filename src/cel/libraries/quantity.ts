import { parseQuantity } from '../../kube/basics/quantity.ts'
import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { comparisons, overload, type Library, type Overload } from '../functions.ts'
import { maxInt, toDouble, toInt, type CelInt } from '../numbers.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque, type CelValue } from '../values.ts'

const nano = 1_000_000_000n

/** A resource quantity such as `1.5Gi` or `100m`, exact to the nano. */
class Quantity extends CelOpaque {
  readonly typeName = 'kubernetes.Quantity'
  /** In units of 10^-9. */
  readonly nanos: bigint

  constructor(nanos: bigint) {
    super()
    this.nanos = nanos
  }

  override equals(other: CelOpaque): boolean {
    return other instanceof Quantity && other.nanos === this.nanos
  }

  override toString(): string {
    const size = this.nanos < 0n ? -this.nanos : this.nanos
    const fraction = (size % nano).toString().padStart(9, '0').replace(/0+$/, '')
    return `${this.nanos < 0n ? '-' : ''}${size / nano}${fraction && `.${fraction}`}`
  }
}

const maxLength = 128

function readQuantity(text: string): Quantity | CelError {
  const nanos = text.length <= maxLength ? parseQuantity(text)?.nanos : undefined
  if (nanos === undefined) return new CelError(`invalid quantity: ${JSON.stringify(text.slice(0, 64))}`)
  const most = maxInt * nano
  return new Quantity(nanos > most ? most : nanos < -most ? -most : nanos)
}

function asInteger({ nanos }: Quantity): CelValue {
  return nanos % nano === 0n ? toInt(nanos / nano) : new CelError('cannot convert quantity to integer')
}

function order(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
}

/** A quantity and another, or an int, added or subtracted. */
function sums(name: string, sign: bigint): Overload[] {
  const sum = (type: string, nanosOf: (value: never) => bigint) =>
    overload(`kubernetes.Quantity.${name}(${type}) -> kubernetes.Quantity`, (_frame, a: Quantity, b: never) => {
      return new Quantity(a.nanos + sign * nanosOf(b))
    })
  return [
    sum('kubernetes.Quantity', ({ nanos }: Quantity) => nanos),
    sum('int', (whole: CelInt) => BigInt(whole) * nano),
  ]
}

function parsed(frame: Frame, text: string): Quantity | CelError {
  frame.charge(30)
  return readQuantity(text)
}

/** Kubernetes' quantity library. */
export const quantityLibrary: Library = {
  name: 'kubernetes-quantity',
  overloads: [
    overload('quantity(string) -> kubernetes.Quantity', parsed),
    overload('isQuantity(string) -> bool', (frame, text: string) => parsed(frame, text) instanceof Quantity),
    overload(
      'kubernetes.Quantity.isInteger() -> bool',
      (_frame, quantity: Quantity) => !(asInteger(quantity) instanceof CelError),
    ),
    overload('kubernetes.Quantity.asInteger() -> int', (_frame, quantity: Quantity) => asInteger(quantity)),
    overload('kubernetes.Quantity.asApproximateFloat() -> double', (_frame, quantity: Quantity) =>
      toDouble(Number(quantity.toString())),
    ),
    overload('kubernetes.Quantity.sign() -> int', (_frame, { nanos }: Quantity) =>
      nanos < 0n ? -1 : nanos > 0n ? 1 : 0,
    ),
    ...sums('add', 1n),
    ...sums('sub', -1n),
    ...comparisons('kubernetes.Quantity', order),
  ],
  types: [opaqueType('kubernetes.Quantity')],
}
