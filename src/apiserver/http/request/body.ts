import { StatusError } from '../../../kube/status-error.ts'
import { limits } from '../../../parsing/limits.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'
import { parsingThread } from '../../../parsing/parsing-thread.ts'
import { read, readMislabelled, textOf, type BodyText, type BodyValue } from '../../schema/wire/body-text.ts'
import type { BodyType, RequestBody } from './edge-request.ts'

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

/** A body that arrived over the network from this user. */
export function bytesBody(bytes: Uint8Array, contentType: string | undefined, user?: string): RequestBody {
  return {
    isEmpty: bytes.length === 0,
    mediaType: mediaTypeOf(contentType),
    decode: async ({ types, assume }) => {
      const type = acceptedType(contentType, types)
      const format = formatOf(type)
      if (format === 'protobuf' && !isProtobuf(bytes)) throw unreadable(bytes, type, new Error(notProtobuf))
      try {
        return { ...(await readText({ bytes, format, ...(assume ? { assume } : {}) }, user)), type }
      } catch (error) {
        if (!(error instanceof ParseRefusal)) throw error
        if (format === 'protobuf' && error.because === 'syntax') throw new StatusError('BadRequest', error.message)
        throw unreadable(bytes, type, error)
      }
    },
  }
}

/** Larger JSON and protobuf is read in the parsing thread: reading this much takes a few milliseconds. */
const mostHere = 512 * 1024

function readText(body: BodyText, user: string | undefined): BodyValue | Promise<BodyValue> {
  const { bytes, format } = body
  if (bytes.length <= mostHere) {
    if (format !== 'yaml') return read(body)
    const json = readMislabelled(textOf(bytes))
    if (json) return json
  }
  const { timeMs } = { json: limits.apiJson, yaml: limits.apiYaml, protobuf: limits.apiProtobuf }[format]
  return parsingThread.read({ reader: 'request-body', input: body, timeMs, ...(user === undefined ? {} : { user }) })
}

function unreadable(bytes: Uint8Array, type: BodyType, cause: Error): UnreadableBody {
  const { message } = cause
  return new UnreadableBody(formatOf(type) === 'yaml' ? `yaml: ${message}` : message, {
    cause,
    type,
    summary: summarize(bytes),
  })
}

function formatOf(type: BodyType): BodyText['format'] {
  if (type === 'application/vnd.kubernetes.protobuf') return 'protobuf'
  return type === 'application/yaml' || type === 'application/apply-patch+yaml' ? 'yaml' : 'json'
}

/** A body that a caller in the same process passed as a value. */
export function valueBody(value: unknown, contentType: string | undefined): RequestBody {
  return {
    isEmpty: value === undefined,
    mediaType: mediaTypeOf(contentType),
    decode: async ({ types }) => ({ value, duplicates: [], type: acceptedType(contentType, types) }),
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
