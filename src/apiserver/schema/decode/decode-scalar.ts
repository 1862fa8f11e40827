import { formatTime, parseDuration, parseTime } from '../../../kube/time.ts'
import { canonicalQuantity, quantityPattern } from '../../../kube/basics/quantity.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import type { Scalar } from '../types/type-table.ts'

/** A value of the wrong type for its field, with the message of Go's decoder. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

type Mismatch = (value: unknown, goType: string) => DecodeError

/** Decodes a scalar and normalizes it as Go's decoder and encoder would; throws `mismatch` for a wrong type. */
export function decodeScalar(value: unknown, scalar: Scalar, mismatch: Mismatch, goType?: string): unknown {
  switch (scalar) {
    case 'string':
      if (typeof value !== 'string') throw mismatch(value, goType ?? 'string')
      return value
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(value, goType ?? 'bool')
      return value
    case 'int32':
    case 'int64':
      if (!isInteger(value, scalar)) throw mismatch(value, goType ?? scalar)
      return value
    case 'double':
      if (typeof value !== 'number') throw mismatch(value, 'float64')
      return value
    case 'bytes':
      return decodeBytes(value, mismatch)
    case 'Strings':
      if (!Array.isArray(value)) throw mismatch(value, 'v1.ExtraValue')
      return value.map((item) => decodeScalar(item, 'string', mismatch))
    case 'RawExtension':
    case 'FieldsV1':
    case 'JSON':
      return value
    case 'SchemaOrArray':
    case 'SchemaOrBool':
    case 'SchemaOrStrings':
      return decodeSchema(value, scalar)
    default:
      return decodeText(value, scalar, mismatch)
  }
}

/** What Go's JSON errors call the kind of a value; with an integer `goType` they quote the number, too. */
export function kindOfJson(value: unknown, goType = ''): string {
  if (typeof value === 'number') return /^u?int/.test(goType) ? `number ${value}` : 'number'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return Array.isArray(value) ? 'array' : isRecord(value) ? 'object' : 'null'
}

function isInteger(value: unknown, scalar: 'int32' | 'int64'): value is number {
  if (!Number.isInteger(value)) return false
  if (scalar === 'int64') return Math.abs(value as number) < 2 ** 63 || value === -(2 ** 63)
  return Math.abs(value as number) <= 2_147_483_648 && value !== 2_147_483_648
}

function decodeBytes(value: unknown, mismatch: Mismatch): string {
  if (typeof value !== 'string') throw mismatch(value, '[]uint8')
  const text = value.replaceAll(/[\r\n]/g, '')
  const bad = /[^A-Za-z0-9+/]/.exec(text.replace(/={1,2}$/, ''))
  if (bad || text.length % 4 !== 0) {
    throw new DecodeError(`illegal base64 data at input byte ${bad?.index ?? text.length - (text.length % 4)}`)
  }
  return text
}

function decodeSchema(value: unknown, scalar: 'SchemaOrArray' | 'SchemaOrBool' | 'SchemaOrStrings'): unknown {
  const isFine = isRecord(value) || (scalar === 'SchemaOrBool' ? typeof value === 'boolean' : Array.isArray(value))
  if (!isFine) {
    throw new DecodeError(
      scalar === 'SchemaOrBool' ? 'boolean or JSON schema expected' : 'array or JSON schema expected',
    )
  }
  return value
}

type TextScalar = 'Time' | 'MicroTime' | 'Duration' | 'Quantity' | 'IntOrString'

/** Scalars with a textual form. */
function decodeText(value: unknown, scalar: TextScalar, mismatch: Mismatch): unknown {
  switch (scalar) {
    case 'IntOrString':
      if (typeof value === 'string' || isInteger(value, 'int32')) return value
      throw mismatch(value, 'int32')
    case 'Quantity':
      return decodeQuantity(value)
    case 'Duration':
      if (typeof value !== 'string') throw mismatch(value, 'string')
      if (parseDuration(value) === undefined) throw new DecodeError(`time: invalid duration "${value}"`)
      return value
    case 'Time':
    case 'MicroTime':
      return decodeTime(value, scalar, mismatch)
  }
}

function decodeQuantity(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new DecodeError(badQuantity)
  const quantity = canonicalQuantity(String(value))
  if (quantity === undefined) throw new DecodeError(badQuantity)
  return quantity
}

const badQuantity = `quantities must match the regular expression '${quantityPattern}'`

function decodeTime(value: unknown, scalar: 'Time' | 'MicroTime', mismatch: Mismatch): string | null {
  if (typeof value !== 'string') throw mismatch(value, 'string')
  if (value === '') return null
  const atMs = parseTime(value)
  const layout = scalar === 'Time' ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00'
  if (atMs === undefined)
    throw new DecodeError(`parsing time "${value}" as "${layout}": cannot parse "${value}" as "2006"`)
  if (scalar === 'Time') return formatTime(atMs)
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? ''
  return formatTime(atMs).replace('Z', `.${fraction.slice(0, 6).padEnd(6, '0')}Z`)
}
