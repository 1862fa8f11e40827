import type { Http, HttpResponse } from '../runtime/http/http.ts'
import { permanent, transient } from './promotion-error.ts'
import { maxResponseBytes, type GitService, type GitTransport } from './remote.ts'

/** URL and credentials of a repository. */
export interface HttpTransportOptions {
  readonly url: string
  readonly username: string
  readonly password: string
  readonly ca?: string | undefined
  readonly http: Http
  readonly signal?: AbortSignal | undefined
}

/** Git's smart HTTP protocol. Follows a redirect of the advertisement within the same origin. */
export class HttpTransport implements GitTransport {
  readonly #options: HttpTransportOptions
  #url: string

  constructor(options: HttpTransportOptions) {
    this.#options = options
    this.#url = options.url.replace(/\/+$/, '')
  }

  async advertisement(service: GitService): Promise<Buffer> {
    const path = `/info/refs?service=${service}`
    const headers = service === 'git-upload-pack' ? { 'git-protocol': 'version=2' } : undefined
    const request = { method: 'GET', path, ...(headers ? { headers } : {}) } as const
    const response = await this.#send(request)
    const moved = response.status >= 300 && response.status < 400 ? response.headers['location'] : undefined
    if (!moved) return bodyOf(response, this.#url)
    const target = new URL(moved, `${this.#url}${path}`)
    if (target.origin !== new URL(this.#url).origin || !target.pathname.endsWith('/info/refs'))
      throw permanent('RepositoryNotFound', `the repository has moved to ${target.origin}; change its URL in the spec`)
    this.#url = `${target.origin}${target.pathname.slice(0, -'/info/refs'.length)}`
    return bodyOf(await this.#send(request), this.#url)
  }

  async request(service: GitService, body: Buffer, version: 0 | 2): Promise<Buffer> {
    const headers = {
      'content-type': `application/x-${service}-request`,
      accept: `application/x-${service}-result`,
      ...(version === 2 ? { 'git-protocol': 'version=2' } : {}),
    }
    return bodyOf(await this.#send({ method: 'POST', path: `/${service}`, headers, body }), this.#url)
  }

  /** Nothing to close: `http` pools the connections. */
  close(): void {}

  #send(request: {
    method: 'GET' | 'POST'
    path: string
    headers?: Record<string, string>
    body?: Buffer
  }): Promise<HttpResponse> {
    const { username, password, ca, http, signal } = this.#options
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    return http({
      method: request.method,
      url: `${this.#url}${request.path}`,
      headers: { authorization, 'user-agent': 'git/sojourn', ...request.headers },
      ...(request.body ? { body: request.body } : {}),
      ca,
      signal,
      maxBytes: maxResponseBytes,
      timeoutMs: 120_000,
    })
  }
}

/** The body of a 200 response; other status codes become errors. */
function bodyOf({ status, body }: HttpResponse, url: string): Buffer {
  if (status === 200) return body
  const message = `${url} answered ${status}`
  if (status === 401 || status === 403)
    throw permanent(
      'CredentialsRefused',
      `${message}: username or password in the Secret is wrong, or has no right to it`,
      {
        httpStatus: status,
      },
    )
  if (status === 404 || (status >= 300 && status < 400))
    throw permanent('RepositoryNotFound', message, { httpStatus: status })
  throw transient('GitProviderUnavailable', message, { httpStatus: status })
}
