import { CelError, noSuchOverload } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library, type Overload } from '../functions.ts'
import { doubleValue, intOverflow, isDouble, numericValue, toDouble, toInt, type CelInt } from '../numbers.ts'
import { compare } from '../ordering.ts'
import { CelUint, type CelDouble, type CelValue } from '../values.ts'

type Double = number | CelDouble

/** The greatest (1) or least (-1) number of a list. */
function extreme(frame: Frame, list: readonly CelValue[], sign: 1 | -1): CelValue {
  frame.charge(list.length)
  let best: CelValue | undefined
  for (const value of list) {
    if (numericValue(value) === undefined) return noSuchOverload
    const order = best === undefined ? sign : compare(frame, value, best)
    if (order instanceof CelError) return order
    if (best === undefined || order * sign > 0) best = value
  }
  return best ?? new CelError('math.greatest() and math.least() need a list that is not empty')
}

const extremes = (['max', 'min'] as const).flatMap((name): Overload[] => {
  const sign = name === 'max' ? 1 : -1
  return [
    ...['int', 'uint', 'double'].map((type) =>
      overload(`math.@${name}(${type}) -> ${type}`, (_frame, value: CelValue) => value),
    ),
    ...['int', 'uint', 'double', 'dyn'].map((type) =>
      overload(`math.@${name}(list(${type})) -> ${type}`, (frame, list: readonly CelValue[]) =>
        extreme(frame, list, sign),
      ),
    ),
  ]
})

function rounding(name: string, round: (value: number) => number): Overload {
  return overload(`math.${name}(double) -> double`, (_frame, value: Double) => toDouble(round(doubleValue(value))))
}

/** To the nearest whole number, halves away from zero. */
function roundHalfAway(value: number): number {
  if (!Number.isFinite(value)) return value
  const size = Math.abs(value)
  const floor = Math.floor(size)
  return Math.sign(value) * (size - floor >= 0.5 ? floor + 1 : floor)
}

function absolute(value: CelInt): CelValue {
  const result = toInt(value < 0 ? -BigInt(value) : BigInt(value))
  return result instanceof CelError ? intOverflow : result
}

const signs: readonly Overload[] = [
  overload('math.abs(int) -> int', (_frame, value: CelInt) => absolute(value)),
  overload('math.abs(uint) -> uint', (_frame, value: CelUint) => value),
  overload('math.abs(double) -> double', (_frame, value: Double) => toDouble(Math.abs(doubleValue(value)))),
  overload('math.sign(int) -> int', (_frame, value: CelInt) => (value < 0 ? -1 : value > 0 ? 1 : 0)),
  overload('math.sign(uint) -> uint', (_frame, { value }: CelUint) => new CelUint(value > 0n ? 1n : 0n)),
  overload('math.sign(double) -> double', (_frame, value: Double) => toDouble(Math.sign(doubleValue(value)))),
]

const kinds: readonly Overload[] = [
  overload('math.isNaN(double) -> bool', (_frame, value: Double) => Number.isNaN(doubleValue(value))),
  overload('math.isFinite(double) -> bool', (_frame, value: Double) => Number.isFinite(doubleValue(value))),
  overload('math.isInf(double) -> bool', (_frame, value: Double) => {
    const number = doubleValue(value)
    return !Number.isFinite(number) && !Number.isNaN(number)
  }),
]

function bitwise(name: string, apply: (a: bigint, b: bigint) => bigint): Overload[] {
  return [
    overload(`math.${name}(int, int) -> int`, (_frame, a: CelInt, b: CelInt) =>
      toInt(BigInt.asIntN(64, apply(BigInt(a), BigInt(b)))),
    ),
    overload(
      `math.${name}(uint, uint) -> uint`,
      (_frame, a: CelUint, b: CelUint) => new CelUint(BigInt.asUintN(64, apply(a.value, b.value))),
    ),
  ]
}

/** Shifts by a number of bits, of which more than 63 leave nothing; a negative number is an error. */
function shift(name: string, apply: (value: bigint, by: bigint) => bigint): Overload[] {
  const shifted = (value: bigint, by: CelInt): bigint | CelError => {
    if (by < 0) return new CelError(`math.${name}() by a negative number of bits`)
    return by > 63 ? 0n : BigInt.asUintN(64, apply(BigInt.asUintN(64, value), BigInt(by)))
  }
  return [
    overload(`math.${name}(int, int) -> int`, (_frame, value: CelInt, by: CelInt) => {
      const bits = shifted(BigInt(value), by)
      return bits instanceof CelError ? bits : toInt(BigInt.asIntN(64, bits))
    }),
    overload(`math.${name}(uint, int) -> uint`, (_frame, { value }: CelUint, by: CelInt) => {
      const bits = shifted(value, by)
      return bits instanceof CelError ? bits : new CelUint(bits)
    }),
  ]
}

const squareRoots = ['int', 'uint', 'double'].map((type) =>
  overload(`math.sqrt(${type}) -> double`, (_frame, value: CelValue) => {
    const number = isDouble(value) ? doubleValue(value) : Number(numericValue(value))
    return toDouble(Math.sqrt(number))
  }),
)

/** cel-go's math extension. */
export const mathLibrary: Library = {
  name: 'math',
  overloads: [
    ...extremes,
    rounding('ceil', Math.ceil),
    rounding('floor', Math.floor),
    rounding('trunc', Math.trunc),
    rounding('round', roundHalfAway),
    ...signs,
    ...kinds,
    ...squareRoots,
    ...bitwise('bitAnd', (a, b) => a & b),
    ...bitwise('bitOr', (a, b) => a | b),
    ...bitwise('bitXor', (a, b) => a ^ b),
    overload('math.bitNot(int) -> int', (_frame, value: CelInt) => toInt(BigInt.asIntN(64, ~BigInt(value)))),
    overload('math.bitNot(uint) -> uint', (_frame, { value }: CelUint) => new CelUint(BigInt.asUintN(64, ~value))),
    ...shift('bitShiftLeft', (value, by) => value << by),
    ...shift('bitShiftRight', (value, by) => value >> by),
  ],
  macros: ['math.greatest', 'math.least'],
}
