/** The pattern of quantities, as the API's message quotes it. */
export const quantityPattern = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'

type Family = 'binary' | 'decimal' | 'exponent'

/** A quantity as an exact number of nanos (10⁻⁹), and the family of suffixes it was written in. */
export interface Quantity {
  readonly nanos: bigint
  readonly family: Family
}

/** No one writes so many digits, and to read them takes the square of their number. */
const maxLength = 128
/** The API's largest quantity: 2⁶³−1. */
const maxNanos = (2n ** 63n - 1n) * 1_000_000_000n

/** Parses `500m`, `1Gi`, `1e3`; undefined when it is not a quantity. Rounds up to nanos and down to the largest quantity, as the API does. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > maxLength) return undefined
  const match = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(.*)$/.exec(text)
  if (!match) return undefined
  const [, sign = '', digits = '', suffix = ''] = match
  const [whole = '', fraction = ''] = digits.split('.')
  const scaled = BigInt(whole + fraction)
  const unit = unitOf(suffix)
  if (!unit) return undefined
  const numerator = scaled * unit.nanos
  const denominator = 10n ** BigInt(fraction.length + unit.shift)
  const nanos = (numerator + denominator - 1n) / denominator
  const bounded = nanos > maxNanos ? maxNanos : nanos
  return { nanos: sign === '-' ? -bounded : bounded, family: unit.family }
}

/** A quantity as a number; 0 when it is none. */
export function amountOf(quantity: string | number | undefined): number {
  return Number(parseQuantity(String(quantity ?? 0))?.nanos ?? 0n) / 1e9
}

/** The canonical form: no fraction, the largest suffix that keeps the number whole. */
export function formatQuantity({ nanos, family }: Quantity): string {
  if (nanos === 0n) return '0'
  const isWhole = nanos % giga === 0n
  if (family === 'binary' && isWhole && abs(nanos) >= 1024n * giga) return formatBinary(nanos / giga)
  let value = nanos
  let exponent = -9
  while (value % 1000n === 0n && exponent < 18) {
    value /= 1000n
    exponent += 3
  }
  if (family === 'exponent') return exponent === 0 ? `${value}` : `${value}e${exponent}`
  return `${value}${decimalSuffixes[exponent / 3 + 3] ?? ''}`
}

/** Normalizes a quantity; undefined when it is not one. Caches up to 4096 results. */
export function canonicalQuantity(text: string): string | undefined {
  const known = canonical.get(text)
  if (known !== undefined) return known
  const parsed = parseQuantity(text)
  if (!parsed) return undefined
  const formatted = formatQuantity(parsed)
  if (canonical.size < 4096) canonical.set(text, formatted)
  return formatted
}

const canonical = new Map<string, string>()
const giga = 1_000_000_000n
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function formatBinary(whole: bigint): string {
  let value = whole
  let power = 0
  while (value % 1024n === 0n && power < 6) {
    value /= 1024n
    power++
  }
  return `${value}${binarySuffixes[power] ?? ''}`
}

/** The value of a suffix: `nanos / 10^shift`. */
function unitOf(suffix: string): { nanos: bigint; shift: number; family: Family } | undefined {
  const binary = binarySuffixes.indexOf(suffix)
  if (binary > 0) return { nanos: giga * 1024n ** BigInt(binary), shift: 0, family: 'binary' }
  const decimal = decimalSuffixes.indexOf(suffix)
  if (decimal >= 0) return { nanos: 1000n ** BigInt(decimal), shift: 0, family: 'decimal' }
  const exponent = /^[eE]([+-]?\d{1,4})$/.exec(suffix)?.[1]
  if (exponent === undefined) return undefined
  const power = Number(exponent) + 9
  return power >= 0
    ? { nanos: 10n ** BigInt(power), shift: 0, family: 'exponent' }
    : { nanos: 1n, shift: -power, family: 'exponent' }
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value
}
