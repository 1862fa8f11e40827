import { formatTime } from '../../../kube/time.ts'
import { limits } from '../../../parsing/limits.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'
import { isTextTooDeep } from './depth.ts'
import type { ProtobufReader } from './protobuf-reader.ts'
import { structType, type Scalar, type StructType } from '../types/type-table.ts'

/** Reads a scalar that protobuf encodes as a message: times, quantities, int-or-string and others. */
export function readMessageScalar(reader: ProtobufReader, scalar: Scalar, readStruct: ReadStruct): unknown {
  const end = reader.enter()
  const parts: Parts = { one: undefined, two: undefined, three: undefined, many: [] }
  const types = messageScalars[scalar] ?? {}
  while (reader.at < end) {
    const tag = reader.tag()
    const number = tag >>> 3
    const read = types[number]
    if (read === undefined) reader.skip(tag)
    else {
      const value = read(reader, readStruct)
      if (number === 1) parts.one = value
      else if (number === 2) parts.two = value
      else parts.three = value
      parts.many.push(value)
    }
  }
  return fromParts(scalar, parts)
}

interface Parts {
  one: unknown
  two: unknown
  three: unknown
  readonly many: unknown[]
}

/** Reads a nested message of a built-in type. */
export type ReadStruct = (reader: ProtobufReader, struct: StructType) => unknown

type Read = (reader: ProtobufReader, readStruct: ReadStruct) => unknown

const string: Read = (reader) => reader.string()
const varint: Read = (reader) => reader.varint()
const schema: Read = (reader, readStruct) => {
  const props = structType('apiextensions/v1.JSONSchemaProps')
  if (!props) throw new RangeError('no schema type')
  return readStruct(reader, props)
}

/** The fields of each of these messages, by number. */
const messageScalars: Partial<Record<Scalar, Readonly<Record<number, Read>>>> = {
  Time: { 1: varint, 2: varint },
  MicroTime: { 1: varint, 2: varint },
  Duration: { 1: varint },
  Quantity: { 1: string },
  IntOrString: { 1: varint, 2: varint, 3: string },
  RawExtension: { 1: string },
  FieldsV1: { 1: string },
  JSON: { 1: string },
  Strings: { 1: string },
  SchemaOrArray: { 1: schema, 2: schema },
  SchemaOrBool: { 1: varint, 2: schema },
  SchemaOrStrings: { 1: schema, 2: string },
}

function fromParts(scalar: Scalar, { one, two, three, many }: Parts): unknown {
  switch (scalar) {
    case 'Time':
      return one === undefined ? null : formatTime(Number(one) * 1000)
    case 'MicroTime':
      return one === undefined ? null : microTime(Number(one), Number(two ?? 0))
    case 'Duration':
      return goDuration(Number(one ?? 0))
    case 'Quantity':
      return (one as string | undefined) || '0'
    case 'IntOrString':
      return one === 1 ? (three ?? '') : (two ?? 0)
    case 'RawExtension':
    case 'FieldsV1':
    case 'JSON':
      return typeof one === 'string' && one !== '' ? readRaw(one) : null
    case 'Strings':
      return many
    case 'SchemaOrArray':
      return one ?? many
    case 'SchemaOrBool':
      return two ?? one === 1
    case 'SchemaOrStrings':
      return one ?? many
    default:
      throw new RangeError(`${scalar} is not a message`)
  }
}

/** JSON inside a message is bounded as the message is. */
function readRaw(text: string): unknown {
  if (isTextTooDeep(text, limits.apiProtobuf.depth)) throw new ParseRefusal('depth', 'it is nested too deep')
  return JSON.parse(text) as unknown
}

function microTime(seconds: number, nanos: number): string {
  const micros = Math.floor(nanos / 1000)
  return formatTime(seconds * 1000).replace('Z', `.${String(micros).padStart(6, '0')}Z`)
}

/** A duration as Go prints it: `1h30m0s`, `1.5s`, `300ms`. */
function goDuration(nanos: number): string {
  if (nanos === 0) return '0s'
  const magnitude = Math.abs(nanos)
  const sign = nanos < 0 ? '-' : ''
  if (magnitude < 1000) return `${sign}${magnitude}ns`
  if (magnitude < 1e6) return `${sign}${magnitude / 1e3}µs`
  if (magnitude < 1e9) return `${sign}${magnitude / 1e6}ms`
  const hours = Math.floor(magnitude / 3.6e12)
  const minutes = Math.floor((magnitude % 3.6e12) / 6e10)
  const seconds = Math.round(magnitude % 6e10) / 1e9
  return `${sign}${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${seconds}s`
}
