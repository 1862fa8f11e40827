import type { GroupVersionKind } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { yaml } from '../../../kube/yaml.ts'
import { parseJson } from '../../schema/wire/json-text.ts'
import { decodeProtobuf } from '../../schema/wire/protobuf.ts'
import { isTextTooDeep, isValueTooDeep } from '../../schema/wire/depth.ts'
import type { BodyType, DecodedBody, RequestBody } from './edge-request.ts'
import { goJsonError } from '../../schema/wire/go-json-error.ts'

/** Thrown for a body that cannot be parsed. The endpoint turns it into the message for the kind it expected. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody'
  /** The first bytes of the body, for the error message. */
  readonly summary: string
  readonly type: BodyType

  constructor(message: string, options: ErrorOptions & { readonly summary: string; readonly type: BodyType }) {
    super(message, options)
    this.summary = options.summary
    this.type = options.type
  }
}

/** A body that arrived over the network. */
export function bytesBody(bytes: Uint8Array, contentType: string | undefined): RequestBody {
  return {
    isEmpty: bytes.length === 0,
    mediaType: mediaTypeOf(contentType),
    decode: ({ types, assume }) => {
      const type = acceptedType(contentType, types)
      const unreadable = (message: string, cause: unknown) =>
        new UnreadableBody(message, { cause, type, summary: summarize(bytes) })
      if (type === 'application/vnd.kubernetes.protobuf') {
        if (!isProtobuf(bytes)) throw unreadable(notProtobuf, undefined)
        return { value: readProtobuf(bytes, assume, unreadable), duplicates: [], type }
      }
      const text = new TextDecoder().decode(bytes)
      return { ...(isYaml(type) ? readYaml(text, unreadable) : readJson(text, unreadable)), type }
    },
  }
}

/** A body that a caller in the same process passed as a value. */
export function valueBody(value: unknown, contentType: string | undefined): RequestBody {
  return {
    isEmpty: value === undefined,
    mediaType: mediaTypeOf(contentType),
    decode: ({ types }) => ({ value, duplicates: [], type: acceptedType(contentType, types) }),
  }
}

/** Without a Content-Type, the body is JSON. */
function mediaTypeOf(header: string | undefined): string {
  return header?.split(';')[0]?.trim().toLowerCase() || 'application/json'
}

function acceptedType(header: string | undefined, accepted: readonly BodyType[]): BodyType {
  const type = mediaTypeOf(header)
  const known = accepted.find((candidate) => candidate === type)
  if (known) return known
  throw new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  )
}

type Parsed = Pick<DecodedBody, 'value' | 'duplicates'>
type Unreadable = (message: string, cause: unknown) => UnreadableBody

function readProtobuf(bytes: Uint8Array, assume: GroupVersionKind | undefined, unreadable: Unreadable): unknown {
  try {
    return decodeProtobuf(bytes, assume)
  } catch (error) {
    // Deeply nested messages may overflow the stack, and lengths may exceed the buffer.
    if (error instanceof RangeError) throw unreadable(tooDeep, error)
    throw error
  }
}

const tooDeep = 'exceeded max depth'

function readJson(text: string, unreadable: Unreadable): Parsed {
  if (isTextTooDeep(text)) throw unreadable(tooDeep, undefined)
  try {
    return parseJson(text)
  } catch (error) {
    throw unreadable(goJsonError(text), error)
  }
}

/** kubectl apply labels JSON as YAML. JSON is much faster to parse, so it is tried first. */
function readYaml(text: string, unreadable: Unreadable): Parsed {
  if (text.trimStart().startsWith('{') && !isTextTooDeep(text)) {
    try {
      return parseJson(text)
    } catch {
      // Flow-style YAML also starts with a brace.
    }
  }
  try {
    const document = yaml().parseDocument(text, { uniqueKeys: false, merge: true })
    const [error] = document.errors
    if (error) throw error
    const value = document.toJS({ maxAliasCount: 100 }) as unknown
    if (isValueTooDeep(value)) throw new Error(tooDeep)
    return { value, duplicates: [] }
  } catch (error) {
    const [first = ''] = (error as Error).message.split('\n')
    throw unreadable(`yaml: ${first}`, error)
  }
}

function isYaml(type: BodyType): boolean {
  return type === 'application/yaml' || type === 'application/apply-patch+yaml'
}

const protobufPrefix = [0x6b, 0x38, 0x73, 0x00]
const notProtobuf = `provided data does not appear to be a protobuf message, expected prefix [${protobufPrefix.join(' ')}]`

function isProtobuf(bytes: Uint8Array): boolean {
  return protobufPrefix.every((byte, index) => bytes[index] === byte)
}

const summaryLength = 30

function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const head = Buffer.from(bytes.subarray(0, summaryLength))
  const shown = bytes[0] === 0x7b ? head.toString() : head.toString('hex')
  return bytes.length > summaryLength ? `${shown} ...` : shown
}
