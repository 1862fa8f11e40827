import { parseDocument } from 'yaml'
import { StatusError } from '../../kube/status-error.ts'
import { parseJson } from '../schema/json-text.ts'
import { decodeProtobuf } from '../schema/protobuf.ts'
import type { BodyType, DecodedBody, RequestBody } from './edge-request.ts'

/** A body as it came over the network. */
export function bytesBody(bytes: Uint8Array, contentType: string | undefined): RequestBody {
  return {
    isEmpty: bytes.length === 0,
    decode: ({ types, assume }) => {
      const type = mediaType(contentType, types)
      const text = () => new TextDecoder().decode(bytes)
      switch (type) {
        case 'application/vnd.kubernetes.protobuf':
          return { value: decodeProtobuf(bytes, assume), duplicates: [], type }
        case 'application/yaml':
        case 'application/apply-patch+yaml':
          return { ...yamlOrJson(text()), type }
        case 'application/json':
        case 'application/json-patch+json':
        case 'application/merge-patch+json':
        case 'application/strategic-merge-patch+json':
          return { ...readJson(text()), type }
      }
    },
  }
}

/** A body that is a value already. */
export function valueBody(value: unknown, contentType: string | undefined): RequestBody {
  return {
    isEmpty: value === undefined,
    decode: ({ types }) => ({ value, duplicates: [], type: mediaType(contentType, types) }),
  }
}

/** No Content-Type means JSON. */
function mediaType(header: string | undefined, accepted: readonly BodyType[]): BodyType {
  const type = header?.split(';')[0]?.trim().toLowerCase() || 'application/json'
  const known = accepted.find((candidate) => candidate === type)
  if (known) return known
  throw new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    { details: {} },
  )
}

type Parsed = Pick<DecodedBody, 'value' | 'duplicates'>

function readJson(text: string): Parsed {
  try {
    return parseJson(text)
  } catch (error) {
    throw malformed(error)
  }
}

/** Clients label JSON as YAML when they apply, and JSON is much faster to read. */
function yamlOrJson(text: string): Parsed {
  if (text.trimStart().startsWith('{')) {
    try {
      return parseJson(text)
    } catch {
      // Flow-style YAML also starts with a brace.
    }
  }
  const document = parseDocument(text, { uniqueKeys: false, version: '1.2', merge: true })
  const [error] = document.errors
  if (error) throw malformed(error)
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown, duplicates: [] }
  } catch (cause) {
    throw malformed(cause)
  }
}

function malformed(cause: unknown): StatusError {
  const message = `couldn't get version/kind; json parse error: ${(cause as Error).message}`
  return new StatusError('BadRequest', message, { cause })
}
