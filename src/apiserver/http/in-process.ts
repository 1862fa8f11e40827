import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'
import type { User } from '../objects/contract/request.ts'
import { contentType, failure, type Answer, type Content } from './response/answer.ts'
import { valueBody } from './request/body.ts'
import type { Edge } from './edge.ts'
import { EventStream } from './response/event-stream.ts'

/** A Transport that calls the server in the same process, as this user: no network, no TLS, no serialization. */
export function inProcessTransport(edge: Edge, user: User): Transport {
  return async (request) => respond(await edge.handle(edgeRequest(request, user)), request.signal)
}

function edgeRequest({ method, path, query = {}, headers = {}, body, signal }: ApiRequest, user: User) {
  return {
    method,
    path,
    query,
    dryRun: query['dryRun'] ? [query['dryRun']] : [],
    headers,
    user,
    body: valueBody(body, headers['content-type']),
    ...(signal ? { signal } : {}),
  }
}

async function respond(
  { status, headers = {}, warnings, content }: Answer,
  signal?: AbortSignal,
): Promise<ApiResponse> {
  const type = contentType(content)
  const all = {
    ...headers,
    ...(type ? { 'content-type': type } : {}),
    ...(warnings?.length ? { warning: warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ') } : {}),
  }
  if (content.is !== 'watch') return { status, headers: all, body: await value(content) }
  try {
    return { status, headers: all, body: undefined, stream: new EventStream(content.open, content.as, signal) }
  } catch (error) {
    if (error instanceof StatusError) return respond(failure(error))
    throw error
  }
}

async function value(content: Exclude<Content, { is: 'watch' }>): Promise<unknown> {
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
