import { kindOf, type GroupVersionKind, type KubeObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { ProtobufReader } from './protobuf-reader.ts'
import { setOwn } from './set-own.ts'
import {
  structOfKind,
  structType,
  type Field,
  type Scalar,
  type StructType,
  type TypeExpression,
} from './type-table.ts'
import { completeStruct, isOmitted, zeroValue } from './zero-values.ts'

/**
 * Decodes an `application/vnd.kubernetes.protobuf` body into the object its JSON form would give.
 * `assume` names the kind of bodies that do not carry one, such as DeleteOptions of old clients.
 */
export function decodeProtobuf(bytes: Uint8Array, assume?: GroupVersionKind): KubeObject {
  const envelope = readEnvelope(bytes)
  const apiVersion = envelope.apiVersion || (assume ? versionOf(assume) : '')
  const kind = envelope.kind || (assume?.kind ?? '')
  if (!kind) throw new StatusError('BadRequest', "Object 'Kind' is missing in the protobuf envelope")
  const struct = structOfKind(kindOf({ apiVersion, kind }))
  if (!struct) {
    throw new StatusError(
      'BadRequest',
      `no kind "${kind}" is registered for version "${apiVersion}" in the protobuf decoder`,
    )
  }
  return guarded(() => {
    const object: Record<string, unknown> = { kind, apiVersion }
    readFields(new ProtobufReader(envelope.raw), envelope.raw.length, struct, object)
    return completeStruct(object, struct) as unknown as KubeObject
  })
}

const magic = [0x6b, 0x38, 0x73, 0x00]

function readEnvelope(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    throw new StatusError(
      'BadRequest',
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  }
  return guarded(() => {
    const reader = new ProtobufReader(bytes.subarray(4))
    let apiVersion = ''
    let kind = ''
    let raw: Uint8Array = new Uint8Array()
    while (!reader.isAtEnd) {
      const tag = reader.tag()
      if (tag === 0x0a) {
        const end = reader.enter()
        while (reader.at < end) {
          const inner = reader.tag()
          if (inner === 0x0a) apiVersion = reader.string()
          else if (inner === 0x12) kind = reader.string()
          else reader.skip(inner)
        }
      } else if (tag === 0x12) raw = reader.bytes()
      else reader.skip(tag)
    }
    return { apiVersion, kind, raw }
  })
}

/** Reads fields up to `end` into `target`; an inline message's fields land in the same target. */
function readFields(reader: ProtobufReader, end: number, struct: StructType, target: Record<string, unknown>): void {
  const fields = struct.byNumber
  while (reader.at < end) {
    const tag = reader.tag()
    const field = fields[tag >>> 3]
    if (field === undefined) reader.skip(tag)
    else readField(reader, tag, field, target)
  }
  if (reader.at !== end) throw new RangeError('a message ends inside a field')
}

function readField(reader: ProtobufReader, tag: number, field: Field, target: Record<string, unknown>): void {
  const { type, name } = field
  switch (type.is) {
    case 'struct':
      if (field.isInline) readFields(reader, reader.enter(), type.struct, target)
      else target[name] = readStruct(reader, type.struct)
      return
    case 'list': {
      const list = (target[name] ??= []) as unknown[]
      list.push(readValue(reader, tag, type.of))
      return
    }
    case 'map': {
      const map = (target[name] ??= {}) as Record<string, unknown>
      readMapEntry(reader, type.of, map)
      return
    }
    case 'scalar': {
      const value = readScalar(reader, tag, type.scalar)
      if (!isOmitted(field, value)) target[name] = value
    }
  }
}

function readStruct(reader: ProtobufReader, struct: StructType): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  readFields(reader, reader.enter(), struct, value)
  return completeStruct(value, struct)
}

function readValue(reader: ProtobufReader, tag: number, type: TypeExpression): unknown {
  switch (type.is) {
    case 'struct':
      return readStruct(reader, type.struct)
    case 'scalar':
      return readScalar(reader, tag, type.scalar)
    default:
      throw new RangeError('lists and maps do not nest on the wire')
  }
}

function readMapEntry(reader: ProtobufReader, type: TypeExpression, map: Record<string, unknown>): void {
  const end = reader.enter()
  let key = ''
  let value: unknown
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag >>> 3 === 1) key = reader.string()
    else if (tag >>> 3 === 2) value = readValue(reader, tag, type)
    else reader.skip(tag)
  }
  setOwn(map, key, value ?? zeroValue(type))
}

function readScalar(reader: ProtobufReader, tag: number, scalar: Scalar): unknown {
  switch (scalar) {
    case 'string':
      return reader.string()
    case 'bool':
      return reader.varint() !== 0
    case 'int32':
    case 'int64':
      return reader.varint()
    case 'double':
      return (tag & 7) === 1 ? reader.double() : reader.varint()
    case 'bytes':
      return reader.base64()
    default:
      return readMessageScalar(reader, scalar)
  }
}

/** Scalars that travel as a message of their own. */
function readMessageScalar(reader: ProtobufReader, scalar: Scalar): unknown {
  const end = reader.enter()
  const parts: Parts = { one: undefined, two: undefined, three: undefined, many: [] }
  const types = messageScalars[scalar] ?? {}
  while (reader.at < end) {
    const tag = reader.tag()
    const number = tag >>> 3
    const read = types[number]
    if (read === undefined) reader.skip(tag)
    else {
      const value = read(reader)
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

type Read = (reader: ProtobufReader) => unknown

const string: Read = (reader) => reader.string()
const varint: Read = (reader) => reader.varint()
const schema: Read = (reader) => {
  const props = structType('apiextensions/v1.JSONSchemaProps')
  if (!props) throw new RangeError('no schema type')
  return readStruct(reader, props)
}

/** The fields of each such message, by number. */
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
      return typeof one === 'string' && one !== '' ? (JSON.parse(one) as unknown) : null
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

function versionOf({ group, version }: GroupVersionKind): string {
  return group ? `${group}/${version}` : version
}

/** Turns whatever a malformed body provokes into the one answer a client can act on. */
function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw new StatusError('BadRequest', `the body is not a valid protobuf message: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
