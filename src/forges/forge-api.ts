import { createHash } from 'node:crypto'
import { maxAnswerHere, readAnswer } from '../parsing/answer.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { BoundedMap } from '../kube/basics/bounded-map.ts'
import { knownSecrets } from '../runtime/observability/known-secrets.ts'
import type { Http, HttpResponse } from '../runtime/http/http.ts'
import { type PromotionError, permanent, transient } from '../git/promotion-error.ts'

export interface ForgeApiOptions {
  readonly http: Http
  /** Base URL of the API, without a trailing slash. */
  readonly base: string
  readonly headers: Readonly<Record<string, string>>
  /** PEM certificates to trust in addition. */
  readonly ca?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Defaults to one of its own. */
  readonly cache?: ResponseCache | undefined
}

interface CachedResponse {
  readonly etag: string
  readonly value: unknown
  readonly bytes: number
}

/** The newest short responses of all forges, 16 MiB together, for conditional requests, which do not count against rate limits. */
export class ResponseCache extends BoundedMap<string, CachedResponse> {
  constructor() {
    super(16 * 1024 * 1024, (key, { etag, bytes }) => key.length + etag.length + bytes)
  }
}

/** JSON requests to one forge. An error response becomes a PromotionError that says whether a retry can help. */
export class ForgeApi {
  readonly #options: ForgeApiOptions
  readonly #cache: ResponseCache
  /** Tells forges and credentials apart in the cache. */
  readonly #cacheKey: string

  constructor(options: ForgeApiOptions) {
    const { base, headers, cache = new ResponseCache() } = options
    this.#options = options
    this.#cache = cache
    this.#cacheKey = createHash('sha256')
      .update(JSON.stringify([base, headers]))
      .digest('base64')
  }

  /** GET with `If-None-Match` when the path has been read before. */
  async get<T>(path: string): Promise<T> {
    const key = `${this.#cacheKey} ${path}`
    const cached = this.#cache.get(key)
    const response = await this.#send('GET', path, undefined, cached ? { 'if-none-match': cached.etag } : {})
    if (response.status === 304 && cached) return cached.value as T
    const value = await this.#read<T>(response, path)
    const { etag } = response.headers
    const bytes = response.body.length
    if (etag && bytes <= maxAnswerHere) this.#cache.set(key, { etag, value, bytes })
    return value
  }

  /**
   * Every item of a paged list. `read` returns what is kept of a page and the path or URL of the next one. Throws when there are more than
   * 200 pages or 32 MiB.
   */
  async getAll<T, Page>(
    path: string,
    read: (page: Page, response: HttpResponse) => { readonly items: readonly T[]; readonly next: string | undefined },
  ): Promise<readonly T[]> {
    const all: T[] = []
    let next: string | undefined = path
    let bytes = 0
    for (let page = 0; next !== undefined && page < maxPages; page++) {
      const response = await this.#send('GET', next)
      bytes += response.body.length
      if (bytes > maxListBytes)
        throw transient('GitProviderUnavailable', `the forge lists more than ${maxListBytes} bytes`)
      const { items, next: following } = read(await this.#read<Page>(response, next), response)
      all.push(...items)
      next = following
    }
    if (next !== undefined) throw transient('GitProviderUnavailable', `the forge lists more than ${maxPages} pages`)
    return all
  }

  /** Sends a body and returns the parsed response. */
  async send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body: unknown): Promise<T> {
    return this.#read<T>(await this.#send(method, path, body), path)
  }

  /** Like `send`, but false when the forge answers with one of these status codes: it does not allow the request now. */
  async attempt(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    refusals: readonly number[],
  ): Promise<boolean> {
    const response = await this.#send(method, path, body)
    if (refusals.includes(response.status)) return false
    await this.#read(response, path)
    return true
  }

  #send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    extra: Record<string, string> = {},
  ): Promise<HttpResponse> {
    const { http, base, headers, ca, signal } = this.#options
    return http({
      method,
      url: path.startsWith('https://') ? sameHost(path, base) : `${base}${path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'sojourn',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...extra,
      },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body, withoutSecrets)) }),
      ca,
      signal,
      timeoutMs: 30_000,
      // A page of pull requests with their texts.
      maxBytes: maxPageBytes,
    })
  }

  async #read<T>(response: HttpResponse, path: string): Promise<T> {
    const { status, body } = response
    if (status >= 200 && status < 300) return (body.length === 0 ? undefined : await parse(body)) as T
    const where = new URL(this.#options.base).host
    throw errorFor(status, `${where} answered ${status} to ${path.split('?')[0]}`)
  }
}

/** Reads lists whose pages are linked by a header, and keeps of each item what is wanted. */
export function pagesOf(api: ForgeApi) {
  return <T, R>(path: string, wanted: (item: T) => R): Promise<readonly R[]> =>
    api.getAll<R, readonly T[]>(path, (page, response) => ({ items: page.map(wanted), next: nextLink(response) }))
}

/** The URL of the next page, from the Link header. */
export function nextLink({ headers }: HttpResponse): string | undefined {
  const match = /<([^>]+)>\s*;\s*rel="?next"?/.exec(headers['link'] ?? '')
  return match?.[1]
}

/** A path with query parameters, encoded. */
export function query(path: string, parameters: Readonly<Record<string, string | number>>): string {
  const text = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${path}?${text.join('&')}`
}

const maxPages = 200
const maxListBytes = 32 * 1024 * 1024
const maxPageBytes = 8 * 1024 * 1024

/** Texts for people. Names of branches and files stay as they are: a Secret may hold a word that is part of one. */
const textFields = new Set(['title', 'body', 'description', 'raw'])

function withoutSecrets(field: string, value: unknown): unknown {
  return typeof value === 'string' && textFields.has(field) ? knownSecrets.removeFrom(value) : value
}

async function parse(body: Buffer): Promise<unknown> {
  try {
    return await readAnswer(body)
  } catch (error) {
    if (!(error instanceof ParseRefusal)) throw error
    const why =
      error.because === 'syntax' ? 'did not answer with JSON' : `sent an answer that is not read: ${error.message}`
    throw transient('GitProviderUnavailable', `the forge ${why}`, { cause: error })
  }
}

/** Refuses a next page on another host: it would receive the credentials. */
function sameHost(url: string, base: string): string {
  if (new URL(url).origin !== new URL(base).origin)
    throw permanent('RequestRefused', `the forge links to a next page on another host, ${new URL(url).host}`)
  return url
}

/** 409 is transient: forges answer it while another request changes the same object. */
function errorFor(httpStatus: number, message: string): PromotionError {
  if (httpStatus === 401 || httpStatus === 403)
    return permanent('CredentialsRefused', `${message}: the token in the Secret is wrong, or has no right to it`, {
      httpStatus,
    })
  if (httpStatus === 404) return permanent('RepositoryNotFound', message, { httpStatus })
  if (httpStatus < 400)
    return permanent('RepositoryNotFound', `${message}: the repository has moved; change its URL in the spec`, {
      httpStatus,
    })
  if (httpStatus >= 500 || httpStatus === 408 || httpStatus === 409 || httpStatus === 429)
    return transient('GitProviderUnavailable', message, { httpStatus })
  return permanent('RequestRefused', message, { httpStatus })
}
