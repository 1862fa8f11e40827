import {
  request as httpRequest,
  Agent as HttpAgent,
  type AgentOptions as HttpAgentOptions,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { request as httpsRequest, Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https'
import { flatHeaders, type ApiRequest, type ApiResponse, type Transport } from '../kube/transport.ts'
import { StatusError } from '../kube/status-error.ts'
import type { ClusterConfig, Credentials } from './cluster-config.ts'
import { readAnswer } from '../parsing/answer.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { jsonLines, parseJson } from './json-lines.ts'
import { TransportError } from './transport-error.ts'

/** Makes the agents that open connections. */
export interface AgentFactory {
  agent(options: HttpAgentOptions): HttpAgent
  tlsAgent(options: HttpsAgentOptions): HttpsAgent
}

/** For the clusters that the operator of this process names. */
const unguarded: AgentFactory = {
  agent: (options) => new HttpAgent(options),
  tlsAgent: (options) => new HttpsAgent(options),
}

/**
 * Carries requests over HTTPS with connections kept open. `close` ends them all. With `maxBytes` the server is not trusted: larger answers and events
 * are refused, and others are read within limits.
 */
export function networkTransport(
  config: ClusterConfig,
  options: { readonly userAgent?: string; readonly agents?: AgentFactory; readonly maxBytes?: number } = {},
): { transport: Transport; transportAs(change: (own: Credentials) => Credentials): Transport; close(): void } {
  const server = new URL(config.server)
  const agents = new Agents(config, options.agents ?? unguarded, server.protocol === 'https:')
  const { userAgent = 'sojourn', maxBytes } = options
  const limit =
    maxBytes === undefined ? { maxBytes: Infinity, readJson: parseJson } : { maxBytes, readJson: readAnswer }

  const transportAs =
    (change: (own: Credentials) => Credentials): Transport =>
    async (request) => {
      const answered = await send(request, change(await config.credentials()))
      if (answered.status !== 401 || !config.refresh) return answered
      // A token may have been rotated since it was read: ask for it anew, once.
      config.refresh()
      return send(request, change(await config.credentials()))
    }

  function send(request: ApiRequest, credentials: Credentials): Promise<ApiResponse> {
    const { method, path, query, signal } = request
    const { impersonate: as } = credentials
    const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query).toString()}` : ''
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    return exchange({
      secure: server.protocol === 'https:',
      isWatch: query?.watch === 'true',
      limit,
      body,
      options: {
        method,
        host: server.hostname.replace(/^\[|\]$/g, ''),
        port: server.port || (server.protocol === 'https:' ? 443 : 80),
        path: `${server.pathname.replace(/\/$/, '')}${path}${search}`,
        agent: agents.for(credentials),
        headers: {
          'user-agent': userAgent,
          ...authorization(credentials),
          ...request.headers,
          // A line for each group: in one line, commas are part of the name.
          ...(as ? { 'impersonate-user': as.user, 'impersonate-group': [...as.groups] } : {}),
          ...(body ? { 'content-length': body.length } : {}),
        },
        ...(signal ? { signal } : {}),
      },
    })
  }

  return { transport: transportAs((own) => own), transportAs, close: () => agents.close() }
}

interface AnswerLimit {
  readonly maxBytes: number
  readonly readJson: (bytes: Buffer) => unknown
}

interface Exchange {
  readonly secure: boolean
  readonly isWatch: boolean
  readonly limit: AnswerLimit
  readonly body: Buffer | undefined
  readonly options: RequestOptions
}

function exchange({ secure, isWatch, limit, body, options }: Exchange): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(translate(error, options))
    const outgoing = (secure ? httpsRequest : httpRequest)(options, (incoming) => {
      const status = incoming.statusCode ?? 0
      if (isWatch && status === 200)
        return resolve({
          status,
          headers: flatHeaders(incoming.headers),
          body: undefined,
          stream: watchStream(incoming, { options, limit }),
        })
      collect(incoming, limit.maxBytes)
        .then(async (bytes) => {
          const parsed = await parseBody(incoming, bytes, { options, limit })
          resolve({ status, headers: flatHeaders(incoming.headers), body: parsed })
        })
        .catch(fail)
    })
    outgoing.on('error', fail)
    outgoing.end(body)
  })
}

async function collect(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      const problem = `the answer is larger than ${maxBytes / 2 ** 20} MiB: ask for fewer objects at once`
      throw new StatusError('RequestEntityTooLarge', problem)
    }
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}

async function* watchStream(
  incoming: IncomingMessage,
  { options, limit }: Pick<Exchange, 'options' | 'limit'>,
): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* jsonLines(incoming as AsyncIterable<Buffer>, limit)
  } catch (error) {
    throw translate(error as Error, options)
  } finally {
    incoming.destroy()
  }
}

/** JSON where the server says JSON; text stays text. An answer that claims JSON and is not is no answer. */
async function parseBody(
  incoming: IncomingMessage,
  bytes: Buffer,
  { options: { method = '', path = '' }, limit }: Pick<Exchange, 'options' | 'limit'>,
): Promise<unknown> {
  if (!(incoming.headers['content-type'] ?? '').includes('json')) return bytes.toString('utf8')
  try {
    return await limit.readJson(bytes)
  } catch (error) {
    const what = isRefused(error) ? `JSON that is not read: ${error.message}` : 'broken JSON'
    throw new TransportError(`${method} ${path} was answered with ${what}`, { cause: error })
  }
}

/** Whether it is JSON, beyond the limits. */
function isRefused(error: unknown): error is ParseRefusal {
  return error instanceof ParseRefusal && error.because !== 'syntax'
}

function translate(error: Error, { method = '', host = '', port = '' }: RequestOptions): Error {
  if (error instanceof TransportError || error instanceof StatusError || error.name === 'AbortError') return error
  return new TransportError(`${method} to ${host}:${port} failed: ${error.message}`, { cause: error })
}

function authorization({ token, username, password }: Credentials): Record<string, string> {
  if (token) return { authorization: `Bearer ${token}` }
  if (username !== undefined)
    return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` }
  return {}
}

/** One agent for as long as the client certificate stays the same. */
class Agents {
  readonly #config: ClusterConfig
  readonly #factory: AgentFactory
  readonly #secure: boolean
  #current: HttpAgent | HttpsAgent | undefined
  #certificate: string | undefined

  constructor(config: ClusterConfig, factory: AgentFactory, secure: boolean) {
    this.#config = config
    this.#factory = factory
    this.#secure = secure
  }

  for({ certificate, key }: Credentials): HttpAgent | HttpsAgent {
    if (this.#current && this.#certificate === certificate) return this.#current
    this.#current?.destroy()
    this.#certificate = certificate
    const keepAlive = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 64 }
    const { ca, insecureSkipTlsVerify, tlsServerName } = this.#config
    this.#current = this.#secure
      ? this.#factory.tlsAgent({
          ...keepAlive,
          ...(ca ? { ca } : {}),
          ...(certificate && key ? { cert: certificate, key } : {}),
          ...(insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
          ...(tlsServerName ? { servername: tlsServerName } : {}),
        })
      : this.#factory.agent(keepAlive)
    return this.#current
  }

  close(): void {
    this.#current?.destroy()
  }
}
