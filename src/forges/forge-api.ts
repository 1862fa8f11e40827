import { BoundedMap } from '../kube/basics/bounded-map.ts'
import type { Http, HttpResponse } from '../runtime/http/http.ts'
import { Trouble } from '../git/trouble.ts'

export interface ForgeApiOptions {
  readonly http: Http
  /** Where the API begins, without a slash at its end. */
  readonly base: string
  readonly headers: Readonly<Record<string, string>>
  readonly ca?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Answers by address, so that the forge can say "as before" at no cost. */
  readonly known?: KnownAnswers | undefined
}

export type KnownAnswers = BoundedMap<string, { readonly etag: string; readonly value: unknown }>

export function newKnownAnswers(): KnownAnswers {
  return new BoundedMap(2000)
}

/** JSON requests to one forge; refusals become Trouble that says whether trying again can help. */
export class ForgeApi {
  readonly #options: ForgeApiOptions
  readonly #known: KnownAnswers

  constructor(options: ForgeApiOptions) {
    this.#options = options
    this.#known = options.known ?? newKnownAnswers()
  }

  async get<T>(path: string): Promise<T> {
    const known = this.#known.get(path)
    const response = await this.#send('GET', path, undefined, known ? { 'if-none-match': known.etag } : {})
    if (response.status === 304 && known) return known.value as T
    const value = this.#read<T>(response, path)
    const { etag } = response.headers
    if (etag) this.#known.set(path, { etag, value })
    return value
  }

  /** Every item of a paged list: `next` says where a page's successor is. */
  async getAll<T, Page = readonly T[]>(
    path: string,
    read: (page: Page, response: HttpResponse) => { readonly items: readonly T[]; readonly next: string | undefined },
  ): Promise<readonly T[]> {
    const all: T[] = []
    let next: string | undefined = path
    for (let page = 0; next !== undefined && page < maxPages; page++) {
      const response = await this.#send('GET', next)
      const { items, next: following } = read(this.#read<Page>(response, next), response)
      all.push(...items)
      next = following
    }
    return all
  }

  async send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body: unknown): Promise<T> {
    return this.#read<T>(await this.#send(method, path, body), path)
  }

  /** The same, for requests that a forge may refuse for reasons that are no failure: false then. */
  async attempt(
    method: 'POST' | 'PUT' | 'PATCH',
    path: string,
    body: unknown,
    refusals: readonly number[],
  ): Promise<boolean> {
    const response = await this.#send(method, path, body)
    if (refusals.includes(response.status)) return false
    this.#read(response, path)
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
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
      ca,
      signal,
    })
  }

  #read<T>(response: HttpResponse, path: string): T {
    const { status, body } = response
    if (status >= 200 && status < 300) return (body.length === 0 ? undefined : parse(body)) as T
    const where = new URL(this.#options.base).host
    throw refusal(status, `${where} answered ${status} to ${path.split('?')[0]}: ${sayOf(body)}`)
  }
}

/** What a page's Link header names as the next one. */
export function nextLink({ headers }: HttpResponse): string | undefined {
  const match = /<([^>]+)>\s*;\s*rel="?next"?/.exec(headers['link'] ?? '')
  return match?.[1]
}

/** The path and query of `name` and values, encoded. */
export function query(path: string, parameters: Readonly<Record<string, string | number>>): string {
  const text = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${path}?${text.join('&')}`
}

const maxPages = 200

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new Trouble('Transient', 'GitProviderUnavailable', 'the forge answered with something that is not JSON', {
      cause: error,
    })
  }
}

/** A next page elsewhere would be handed our credentials. */
function sameHost(url: string, base: string): string {
  if (new URL(url).origin !== new URL(base).origin)
    throw new Trouble('Permanent', 'RequestRefused', `the forge points at another host, ${new URL(url).host}`)
  return url
}

function refusal(httpStatus: number, message: string): Trouble {
  if (httpStatus === 401 || httpStatus === 403)
    return new Trouble('Permanent', 'CredentialsRefused', message, { httpStatus })
  if (httpStatus === 404) return new Trouble('Permanent', 'RepositoryNotFound', message, { httpStatus })
  if (httpStatus >= 500 || httpStatus === 408 || httpStatus === 409)
    return new Trouble('Transient', 'GitProviderUnavailable', message, { httpStatus })
  return new Trouble('Permanent', 'RequestRefused', message, { httpStatus })
}

function sayOf(body: Buffer): string {
  try {
    const { message, error, errors } = JSON.parse(body.toString('utf8')) as Record<string, unknown>
    const said = [message, error, errors].find((part) => part !== undefined)
    return (typeof said === 'string' ? said : JSON.stringify(said ?? '')).slice(0, 300)
  } catch {
    return ''
  }
}
