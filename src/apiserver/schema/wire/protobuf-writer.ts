import { kindOf } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { structOfKind, StructType, structType, type Scalar, type TypeExpression } from '../types/type-table.ts'

/**
 * An object or list of a built-in kind as `application/vnd.kubernetes.protobuf`; undefined for kinds without that form,
 * such as custom resources. Decoding the bytes gives the same object.
 */
export function encodeProtobuf(value: unknown): Buffer | undefined {
  if (!isRecord(value)) return undefined
  const { apiVersion = '', kind = '' } = value as { readonly apiVersion?: string; readonly kind?: string }
  const struct = structOf(apiVersion, kind)
  if (struct) return unknown(apiVersion, kind, message(value, struct))
  const list = Array.isArray(value['items']) ? protobufList(value) : undefined
  return list?.whole((value['items'] as Record<string, unknown>[]).map(list.item))
}

/** Writes a list of a built-in kind: `item` gives the bytes of each item, `whole` the list around them. Undefined for kinds without that form. */
export function protobufList({ apiVersion, kind, metadata }: Readonly<Record<string, unknown>>) {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  // All lists look alike: their metadata is field 1, their items are field 2.
  const struct = kind.endsWith('List') ? structOf(apiVersion, kind.slice(0, -'List'.length)) : undefined
  const meta = structType('meta/v1.ListMeta')
  if (!struct || !meta) return undefined
  return {
    item: (value: unknown) => field(2, message(value as Record<string, unknown>, struct)),
    whole: (items: readonly Buffer[]) =>
      unknown(
        apiVersion,
        kind,
        Buffer.concat([field(1, message((metadata ?? {}) as Record<string, unknown>, meta)), ...items]),
      ),
  }
}

/** The bytes of an object in runtime.Unknown, behind the magic number. */
function unknown(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const typeMeta = Buffer.concat([text(1, apiVersion), text(2, kind)])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, raw)])
}

/** One event of a watch: four bytes of length, then a WatchEvent around the encoded object. */
export function encodeWatchEvent(type: string, object: unknown): Buffer | undefined {
  const encoded = encodeProtobuf(object)
  if (!encoded) return undefined
  const event = Buffer.concat([text(1, type), field(2, field(1, encoded))])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

function structOf(apiVersion: string, kind: string): StructType | undefined {
  return kind === partial ? metadataOnly : structOfKind(kindOf({ apiVersion, kind }))
}

const partial = 'PartialObjectMetadata'
const metadataOnly = new StructType(`meta/v1.${partial}`, { fields: [['metadata', 1, '@meta/v1.ObjectMeta', 'o']] })

function message(value: Record<string, unknown>, struct: StructType): Buffer {
  const parts: Buffer[] = []
  for (const { name, number, type, isInline } of struct.own) {
    if (number === 0) continue
    if (isInline && type.is === 'struct') parts.push(field(number, message(value, type.struct)))
    else if (value[name] !== undefined && value[name] !== null) parts.push(...values(number, value[name], type))
  }
  return Buffer.concat(parts)
}

function values(number: number, value: unknown, type: TypeExpression): Buffer[] {
  switch (type.is) {
    case 'struct':
      return [field(number, message(value as Record<string, unknown>, type.struct))]
    case 'list':
      return (value as unknown[]).flatMap((each) => values(number, each, type.of))
    case 'map':
      return Object.entries(value as object).map(([key, each]) =>
        field(number, Buffer.concat([text(1, key), ...values(2, each, type.of)])),
      )
    case 'scalar':
      return [scalar(number, value, type.scalar)]
  }
}

function scalar(number: number, value: unknown, type: Scalar): Buffer {
  switch (type) {
    case 'string':
      return text(number, value as string)
    case 'bool':
    case 'int32':
    case 'int64':
      return integer(number, Number(value))
    case 'double': {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(Number(value))
      return Buffer.concat([varint(number * 8 + 1), bytes])
    }
    case 'bytes':
      return field(number, Buffer.from(value as string, 'base64'))
    default:
      return field(number, messageScalar(value, type))
  }
}

/** A scalar that protobuf encodes as a message. */
function messageScalar(value: unknown, type: Scalar): Buffer {
  switch (type) {
    case 'Time':
    case 'MicroTime':
      return timeMessage(value as string)
    case 'Duration':
      return integer(1, goNanoseconds(value as string))
    case 'Quantity':
      return text(1, String(value))
    case 'IntOrString':
      return typeof value === 'number'
        ? Buffer.concat([integer(1, 0), integer(2, value)])
        : Buffer.concat([integer(1, 1), text(3, value as string)])
    case 'Strings':
      return Buffer.concat((value as string[]).map((each) => text(1, each)))
    case 'SchemaOrArray':
      return Array.isArray(value) ? Buffer.concat(value.map((each) => schema(2, each))) : schema(1, value)
    case 'SchemaOrBool':
      return typeof value === 'boolean' ? integer(1, Number(value)) : Buffer.concat([integer(1, 1), schema(2, value)])
    case 'SchemaOrStrings':
      return Array.isArray(value) ? Buffer.concat(value.map((each) => text(2, each as string))) : schema(1, value)
    default:
      return text(1, JSON.stringify(value))
  }
}

function schema(number: number, value: unknown): Buffer {
  const props = structType('apiextensions/v1.JSONSchemaProps')
  if (!props) throw new RangeError('no schema type')
  return field(number, message(value as Record<string, unknown>, props))
}

function timeMessage(value: string): Buffer {
  const [, fraction = ''] = /\.(\d+)/.exec(value) ?? []
  const seconds = Math.floor((parseTime(value) ?? 0) / 1000)
  return Buffer.concat([integer(1, seconds), integer(2, Number(fraction.padEnd(9, '0').slice(0, 9)))])
}

const nanoseconds: Readonly<Record<string, number>> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 }

function goNanoseconds(value: string): number {
  let sum = 0
  for (const [, amount, unit = ''] of value.matchAll(/([\d.]+)(ns|µs|ms|s|m|h)/g))
    sum += Number(amount) * (nanoseconds[unit] ?? 0)
  return value.startsWith('-') ? -sum : sum
}

function text(number: number, value: string): Buffer {
  return field(number, Buffer.from(value))
}

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

function integer(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}

/** Negative numbers take ten bytes, as two's complement of 64 bits. */
function varint(value: number): Buffer {
  if (value >= 0 && value < 0x80) return Buffer.of(value)
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(Math.round(value)))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
