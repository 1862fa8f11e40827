import type { Status, StatusError } from '../../../kube/status-error.ts'
import type { ListResult, Watch, WatchSink } from '../../objects/contract/request.ts'
import type { Document } from '../../store/document.ts'
import type { Presentation } from './presentation.ts'

/** A response as a value. The transport decides whether it becomes bytes or stays a value. */
export interface Answer {
  readonly status: number
  /** Lower-case names, without content-type: that follows from the content. */
  readonly headers?: Readonly<Record<string, string>>
  /** Texts for Warning headers. */
  readonly warnings?: readonly string[]
  readonly content: Content
  /** How JSON is written over the network, if not compactly. */
  readonly encoding?: Encoding
}

/** Another form of JSON: indented, as YAML, or as the protobuf of built-in kinds. */
export type Encoding = 'pretty' | 'yaml' | 'protobuf'

/** The body of an answer, by how it is produced. */
export type Content =
  | { readonly is: 'json'; readonly value: unknown; readonly type?: string }
  /** JSON that exists as text already. */
  | { readonly is: 'json-text'; readonly text: string; readonly type?: string }
  | { readonly is: 'text'; readonly text: string; readonly type?: string }
  | { readonly is: 'object'; readonly document: Document; readonly as: Presentation }
  | { readonly is: 'list'; readonly list: ListResult; readonly as: Presentation }
  | { readonly is: 'watch'; readonly open: (sink: WatchSink) => Watch; readonly as: Presentation }
  /** Bytes that are sent as they are produced, such as a followed log. */
  | { readonly is: 'stream'; readonly type: string; readonly chunks: AsyncIterable<Uint8Array | string> }
  | { readonly is: 'empty' }

/** A JSON value. */
export function json(value: unknown, status = 200): Answer {
  return { status, content: { is: 'json', value } }
}

/** Plain text. */
export function text(value: string, status = 200): Answer {
  return { status, content: { is: 'text', text: value } }
}

/** A StatusError as a response, with `Retry-After` where the error says so. */
export function failure(error: StatusError): Answer {
  const retryAfter = error.details?.retryAfterSeconds
  return {
    status: error.code,
    content: { is: 'json', value: withoutEmptyDetails(error.toStatus()) },
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }),
  }
}

/** Omits empty strings, as Go's encoder does. */
function withoutEmptyDetails(status: Status): Status {
  if (!status.details) return status
  return { ...status, details: Object.fromEntries(Object.entries(status.details).filter(([, value]) => value !== '')) }
}

/** The content of an answer other than a watch, as a value. */
export async function contentValue(content: Exclude<Content, { is: 'watch' }>): Promise<unknown> {
  switch (content.is) {
    case 'json':
      return content.value
    case 'json-text':
      return JSON.parse(content.text) as unknown
    case 'text':
      return content.text
    case 'object':
      return content.as.one(content.document)
    case 'list': {
      const items: unknown[] = []
      for await (const chunk of content.list.items) for (const document of chunk) items.push(content.as.item(document))
      return { ...content.as.head(content.list.metadata), [content.as.itemsField]: items }
    }
    case 'stream': {
      const parts: Buffer[] = []
      for await (const chunk of content.chunks) parts.push(Buffer.from(chunk))
      return Buffer.concat(parts).toString()
    }
    case 'empty':
      return undefined
  }
}

/** The Content-Type of an answer. None for an empty body: a cache would apply that of a 304 to its stored response. */
export function contentType(content: Content): string | undefined {
  switch (content.is) {
    case 'json':
    case 'json-text':
      return content.type ?? 'application/json'
    case 'text':
      return content.type ?? 'text/plain; charset=utf-8'
    case 'object':
    case 'list':
    case 'watch':
      return content.as.contentType
    case 'stream':
      return content.type
    case 'empty':
      return undefined
  }
}
