import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'
import type { User } from '../objects/contract/request.ts'
import { contentType, contentValue, failure, type Answer } from './response/answer.ts'
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
  if (content.is !== 'watch') return { status, headers: all, body: await contentValue(content) }
  try {
    return { status, headers: all, body: undefined, stream: new EventStream(content.open, content.as, signal) }
  } catch (error) {
    if (error instanceof StatusError) return respond(failure(error))
    throw error
  }
}
