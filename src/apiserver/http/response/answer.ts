import type { Status, StatusError } from '../../../kube/status-error.ts'
import type { ListResult, Watch, WatchSink } from '../../objects/contract/request.ts'
import type { Document } from '../../store/document.ts'
import type { Presentation } from './presentation.ts'

/** What the server answers, before anybody decided whether it leaves as bytes or as values. */
export interface Answer {
  readonly status: number
  /** Lower-case names; the content's type is not among them. */
  readonly headers?: Readonly<Record<string, string>>
  /** Texts for Warning headers. */
  readonly warnings?: readonly string[]
  readonly content: Content
}

export type Content =
  | { readonly is: 'json'; readonly value: unknown; readonly type?: string }
  /** JSON that exists as text already. */
  | { readonly is: 'json-text'; readonly text: string; readonly type?: string }
  | { readonly is: 'text'; readonly text: string; readonly type?: string }
  | { readonly is: 'object'; readonly document: Document; readonly as: Presentation }
  | { readonly is: 'list'; readonly list: ListResult; readonly as: Presentation }
  | { readonly is: 'watch'; readonly open: (sink: WatchSink) => Watch; readonly as: Presentation }
  /** Bytes that come as they are made, such as a log that is followed. */
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

/** A failure as a Status. */
export function failure(error: StatusError): Answer {
  const retryAfter = error.details?.retryAfterSeconds
  return {
    status: error.code,
    content: { is: 'json', value: withoutEmptyDetails(error.toStatus()) },
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }),
  }
}

/** Go leaves out what is empty. */
function withoutEmptyDetails(status: Status): Status {
  if (!status.details) return status
  return { ...status, details: Object.fromEntries(Object.entries(status.details).filter(([, value]) => value !== '')) }
}

/** The Content-Type of an answer; none without a body: caches would take the one of a 304 for that of what they keep. */
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
