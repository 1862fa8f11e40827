import { kindOf, type GroupVersionKind, type KubeObject } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'
import { ProtobufReader } from './protobuf-reader.ts'
import { readMessageScalar } from './protobuf-scalars.ts'
import { setOwn } from '../../../kube/basics/json.ts'
import { structOfKind, type Field, type Scalar, type StructType, type TypeExpression } from '../types/type-table.ts'
import { completeStruct, isOmitted, zeroValue } from '../types/zero-values.ts'

/**
 * Decodes an `application/vnd.kubernetes.protobuf` body into the object that its JSON form would give. `assume` is
 * the kind of bodies without one, such as the DeleteOptions of old clients.
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

/** Reads fields up to `end` into `target`; those of embedded messages go into the same target. */
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
      if (field.isInline) reader.nested(() => readFields(reader, reader.enter(), type.struct, target))
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
  reader.nested(() => readFields(reader, reader.enter(), struct, value))
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
      return readMessageScalar(reader, scalar, readStruct)
  }
}

function versionOf({ group, version }: GroupVersionKind): string {
  return group ? `${group}/${version}` : version
}

/** Turns any error of a malformed body into a BadRequest. */
function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof StatusError || error instanceof ParseRefusal) throw error
    throw new StatusError('BadRequest', `the body is not a valid protobuf message: ${(error as Error).message}`, {
      cause: error,
    })
  }
}
