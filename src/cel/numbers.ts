import { CelError } from './errors.ts'
import { CelDouble, CelUint, type CelValue } from './values.ts'

export type CelInt = number | bigint

export const maxInt = 9223372036854775807n
const minInt = -9223372036854775808n
export const maxUint = 18446744073709551615n
const twoTo63 = 2 ** 63

export const intOverflow = new CelError('integer overflow')
export const uintOverflow = new CelError('unsigned integer overflow')

/** Whether this is an int: a bigint, or an integral number that fits 64 bits. */
export function isInt(value: CelValue): value is CelInt {
  if (typeof value === 'number') return Number.isSafeInteger(value) || isWideInt(value)
  return typeof value === 'bigint'
}

/** Whether this is a double: a boxed one, or a number that is no int. */
export function isDouble(value: CelValue): value is number | CelDouble {
  if (typeof value === 'number') return !Number.isSafeInteger(value) && !isWideInt(value)
  return value instanceof CelDouble
}

function isWideInt(value: number): boolean {
  return Number.isInteger(value) && value >= -twoTo63 && value < twoTo63
}

/** The int in its one form: a number up to 2^53, a bigint beyond; an error outside 64 bits. */
export function toInt(value: bigint): CelInt | CelError {
  const small = Number(value)
  if (Number.isSafeInteger(small)) return small
  return value > maxInt || value < minInt ? intOverflow : value
}

export function toUint(value: bigint): CelUint | CelError {
  return value < 0n || value > maxUint ? uintOverflow : new CelUint(value)
}

/** The double in its one form: boxed when integral, so that it is not taken for an int. */
export function toDouble(value: number): number | CelDouble {
  return Number.isInteger(value) ? new CelDouble(value) : value
}

export function doubleValue(value: number | CelDouble): number {
  return typeof value === 'number' ? value : value.value
}

/** The number behind any numeric value, comparable with `<` across types; `undefined` for what is no number. */
export function numericValue(value: CelValue): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  return value instanceof CelDouble || value instanceof CelUint ? value.value : undefined
}

/** A number usable as an index or count; `undefined` when it is no integral value of safe size. */
export function indexValue(value: CelValue): number | undefined {
  const number = Number(numericValue(value) ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}
