import { parseQuantity } from '../../kube/basics/quantity.ts'
import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload } from '../functions.ts'
import type { Library } from '../functions.ts'
import { maxInt, toDouble, toInt } from '../numbers.ts'
import type { CelInt } from '../numbers.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque } from '../values.ts'
import type { CelValue } from '../values.ts'

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
    overload(
      'kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity',
      (_frame, a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos),
    ),
    overload(
      'kubernetes.Quantity.add(int) -> kubernetes.Quantity',
      (_frame, a: Quantity, b: CelInt) => new Quantity(a.nanos + BigInt(b) * nano),
    ),
    overload(
      'kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity',
      (_frame, a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos),
    ),
    overload(
      'kubernetes.Quantity.sub(int) -> kubernetes.Quantity',
      (_frame, a: Quantity, b: CelInt) => new Quantity(a.nanos - BigInt(b) * nano),
    ),
    overload(
      'kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool',
      (_frame, a: Quantity, b: Quantity) => order(a, b) < 0,
    ),
    overload(
      'kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool',
      (_frame, a: Quantity, b: Quantity) => order(a, b) > 0,
    ),
    overload('kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int', (_frame, a: Quantity, b: Quantity) =>
      order(a, b),
    ),
  ],
  types: [opaqueType('kubernetes.Quantity')],
}
