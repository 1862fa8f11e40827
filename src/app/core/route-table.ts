import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ExtraRoute } from '../../apiserver/http/https-server.ts'
import { readBody } from '../../apiserver/http/request/read-body.ts'
import { percentDecoded } from '../../kube/basics/percent-decoded.ts'
import { ignoring } from '../../kube/status-error.ts'
import { flatHeaders } from '../../kube/transport.ts'
import type { Route, RouteResponse, RouteUser } from '../../runtime/http/route.ts'

/** The HTTP routes of the systems, beside the Kubernetes API. Each system adds its routes when it starts. */
export class RouteTable {
  readonly #routes: { readonly route: Route; readonly match: (path: string) => Record<string, string> | undefined }[] =
    []

  add(...routes: readonly Route[]): void {
    for (const route of routes) this.#routes.push({ route, match: matcherOf(route.path) })
  }

  /** The route for a path, as the API server takes it; undefined means the Kubernetes API answers. */
  find(method: string, path: string): ExtraRoute | undefined {
    const matching = this.#routes.flatMap(({ route, match }) => {
      const params = match(path)
      return params ? [{ route, params }] : []
    })
    if (matching.length === 0) return undefined
    const found = matching.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method))
    if (!found)
      return {
        access: 'public',
        serve: (_, response) =>
          send(response, {
            status: 405,
            headers: { allow: matching.map(({ route }) => route.method).join(', ') },
            body: 'method not allowed\n',
          }),
      }
    const { route, params } = found
    return {
      access: route.authenticated === false ? 'public' : 'authorized',
      serve: (request, response, user) => answer(route, { request, response, params, user }),
    }
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly user: RouteUser
}

async function answer(route: Route, { request, response, params, user }: Exchange): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://localhost')
  const body = await readBody(request, maxBodyBytes).catch(ignoring('RequestEntityTooLarge'))
  if (body === undefined) return send(response, { status: 413, body: 'the request body is larger than 1 MiB\n' })
  const isSignedIn = user.name !== 'system:anonymous'
  send(
    response,
    await route.handle({
      method: request.method ?? '',
      url: request.url ?? '',
      remoteAddress: request.socket.remoteAddress ?? '',
      params,
      query: Object.fromEntries(url.searchParams),
      headers: flatHeaders(request.headers),
      rawHeaders: request.rawHeaders,
      body: Buffer.from(body).toString(),
      ...(isSignedIn ? { user } : {}),
    }),
  )
}

function matcherOf(path: string | RegExp): (path: string) => Record<string, string> | undefined {
  // A path with an invalid escape is left to the API, which refuses it.
  if (path instanceof RegExp)
    return (given) => (path.test(given) && percentDecoded(given) !== undefined ? {} : undefined)
  const pattern = path.split('/')
  return (given) => paramsOf(pattern, given.split('/'))
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? ''
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined
      continue
    }
    const value = percentDecoded(segment)
    if (value === undefined || value === '') return undefined
    params[part.slice(1)] = value
  }
  return params
}

const maxBodyBytes = 1024 * 1024

/** Forbids framing, sniffing and scripts, unless the route's own headers allow them. */
const safeHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}

function send(response: ServerResponse, { status, headers = {}, body }: RouteResponse): void {
  const stream = body as AsyncIterable<unknown> | undefined
  if (stream && typeof stream === 'object' && Symbol.asyncIterator in stream)
    return void sendLines(response.writeHead(status, { ...safeHeaders, ...headers }), stream)
  const isText = typeof body === 'string' || body instanceof Uint8Array
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
  response.writeHead(status, { ...safeHeaders, 'content-type': type, ...headers })
  response.end(body === undefined ? '' : isText ? body : JSON.stringify(body))
}

/** A line of JSON for each value, as fast as the client takes them: what it does not read is not kept for it. */
async function sendLines(response: ServerResponse, values: AsyncIterable<unknown>): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  try {
    for await (const value of values) {
      // A reader that left before the stream began closes it no more.
      if (response.destroyed) break
      if (response.write(`${JSON.stringify(value)}\n`)) continue
      const drained = Promise.withResolvers<void>()
      response.once('drain', drained.resolve)
      await Promise.race([drained.promise, closed])
      response.off('drain', drained.resolve)
      if (response.destroyed) break
    }
    response.end()
  } catch {
    response.destroy()
  }
}
