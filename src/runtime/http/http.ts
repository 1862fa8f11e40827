import { request as httpRequest, type Agent as PlainAgent } from 'node:http'
import { request as httpsRequest, type Agent, type RequestOptions } from 'node:https'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { flatHeaders } from '../../kube/transport.ts'
import { systemClock } from '../time/clock.ts'
import type { Outgoing } from './outgoing.ts'

/** A request to an external server, as a value. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Certificates to trust instead of the machine's, in PEM. */
  readonly ca?: string | undefined
  /** The name that the server's certificate must have, where it is not that of the URL. */
  readonly serverName?: string
  readonly signal?: AbortSignal | undefined
  /** More than this is not read. Defaults to 1 MiB. */
  readonly maxBytes?: number
  /** When the whole answer must be there. Defaults to 10 s. */
  readonly timeoutMs?: number
}

export interface HttpResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Carries a request out; rejects when there is no whole answer. Redirects are answers. */
export type Http = (request: HttpRequest) => Promise<HttpResponse>

/** Reaches the servers that one group of users may name. */
export interface Network {
  readonly http: Http
  /** A TCP connection, for protocols other than HTTP. */
  readonly connect: Outgoing['connect']
  /** For libraries that send HTTP requests themselves. */
  readonly agents: { readonly httpAgent: PlainAgent; readonly httpsAgent: Agent }
  readonly close: () => void
}

/** HTTP and HTTPS over kept-alive connections, one pool per set of trusted certificates. */
export function networkHttp({ outgoing }: { readonly outgoing: Outgoing }): Network {
  // Tenants name certificates: an agent that is dropped finishes its requests, and its idle connections end by the timeout.
  const pool = { keepAlive: true, maxSockets: 16, timeout: idleMs }
  const agents = new BoundedMap<string, Agent>(maxCertificates, (ca) => ca.length)
  const plain = outgoing.agent(pool)
  const secure = outgoing.tlsAgent(pool)
  const agentFor = (ca = '') =>
    ca === '' ? secure : agents.getOrInsertComputed(ca, () => outgoing.tlsAgent({ ...pool, ca }))
  return {
    http: (request) => send(request, request.url.startsWith('https:') ? agentFor(request.ca) : plain),
    connect: (options) => outgoing.connect(options),
    agents: { httpAgent: plain, httpsAgent: agentFor(undefined) },
    close: () => {
      plain.destroy()
      secure.destroy()
      for (const agent of agents.values()) agent.destroy()
      agents.clear()
    },
  }
}

const idleMs = 30_000
/** Bytes of all certificates for which connections are kept. */
const maxCertificates = 4 * 1024 * 1024
const defaultTimeoutMs = 10_000
const defaultMaxBytes = 1024 * 1024

/** Carries one request out by an agent, whole answer or none: `networkHttp` for what users name, by itself inside the cluster. */
export function send(request: HttpRequest, agent: Agent | PlainAgent): Promise<HttpResponse> {
  const { method, url, headers, body, signal, serverName } = request
  const { maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs } = request
  return new Promise((resolve, reject) => {
    const target = new URL(url)
    if (target.protocol !== 'https:' && target.protocol !== 'http:')
      return reject(new Error(`${target.protocol} is not supported: a URL begins with https:// or http://`))
    const open = target.protocol === 'https:' ? httpsRequest : httpRequest
    const options: RequestOptions = {
      method,
      agent,
      headers: { ...headers, ...(body ? { 'content-length': String(body.byteLength) } : {}) },
      ...(signal ? { signal } : {}),
      ...(serverName ? { servername: serverName } : {}),
    }
    const outgoing = open(target, options, (incoming) => {
      const chunks: Buffer[] = []
      let size = 0
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.byteLength
        if (size > maxBytes) incoming.destroy(new Error(`${target.host} answered more than ${maxBytes} bytes`))
        else chunks.push(chunk)
      })
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: flatHeaders(incoming.headers),
          body: Buffer.concat(chunks),
        }),
      )
    })
    // The whole answer, not the first byte: a server that sends a byte now and then must not hold a worker.
    const late = () => outgoing.destroy(new Error(`${target.host} did not answer within ${timeoutMs / 1000} s`))
    outgoing.on('close', systemClock.after(timeoutMs, late))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
