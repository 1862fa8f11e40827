import { BoundedMap } from '../kube/basics/bounded-map.ts'
import type { Http, HttpResponse } from '../runtime/http/http.ts'
import { parseHttpDate } from '../runtime/http/http-date.ts'
import { PromotionError } from '../git/promotion-error.ts'

export interface RateLimiterOptions {
  /** Requests that may be sent at once. Defaults to 60. */
  readonly burst?: number
  /** Requests per second after a burst. Defaults to 10. */
  readonly perSecond?: number
  readonly now: () => number
  /** Called with the number of requests that may still be sent to a host at once. */
  readonly onRemaining?: (host: string, requests: number) => void
}

/** A token bucket per forge host and credential, shared by all pipelines. Also honours the limits the forge reports. */
export class RateLimiter {
  readonly #options: Required<RateLimiterOptions>
  /** Tenants name hosts and credentials. */
  readonly #accounts = new BoundedMap<string, Account>(10_000)

  constructor(options: RateLimiterOptions) {
    this.#options = { burst: 60, perSecond: 10, onRemaining: () => undefined, ...options }
  }

  /** Limits every request of an `Http`; one over the limit throws a RateLimited PromotionError. */
  wrap(http: Http, credential: string): Http {
    return async (request) => {
      const { host } = new URL(request.url)
      const account = this.take(host, credential)
      const response = await http(request)
      this.#applyLimits(host, account, response)
      return response
    }
  }

  /** Takes one token for a request to a host; throws when there is none. */
  take(host: string, credential: string): Account {
    const account = this.#accountOf(`${host} ${credential}`)
    this.#takeToken(host, account)
    return account
  }

  #accountOf(key: string): Account {
    const { burst, now } = this.#options
    const account = this.#accounts.get(key) ?? { tokens: burst, countedAt: now(), blockedUntil: 0 }
    this.#accounts.set(key, account)
    return account
  }

  #takeToken(host: string, account: Account): void {
    const { burst, perSecond, onRemaining } = this.#options
    const now = this.#options.now()
    if (now < account.blockedUntil) {
      onRemaining(host, 0)
      throw rateLimited(host, account.blockedUntil)
    }
    const elapsedMs = Math.max(0, now - account.countedAt)
    account.tokens = Math.min(burst, account.tokens + (elapsedMs / 1000) * perSecond)
    account.countedAt = now
    onRemaining(host, Math.max(0, Math.floor(account.tokens - 1)))
    if (account.tokens < 1) throw rateLimited(host, now + Math.ceil(((1 - account.tokens) / perSecond) * 1000))
    account.tokens -= 1
  }

  /** Blocks the account until the time a response asks for. */
  #applyLimits(host: string, account: Account, response: HttpResponse): void {
    const now = this.#options.now()
    const until = retryAtOf(response, now)
    if (until === undefined) return
    account.blockedUntil = Math.max(account.blockedUntil, until)
    if (isLimited(response)) throw rateLimited(host, until, response.status)
  }
}

/** The bucket of one host and credential. */
interface Account {
  /** Tokens at `countedAt`; at most the burst. */
  tokens: number
  countedAt: number
  /** Set from a response of the forge; no request before then. */
  blockedUntil: number
}

/** Used when a rate-limited response does not say how long to wait. */
const defaultWaitMs = 60_000
/** Upper bound, whatever the response says. */
const maxWaitMs = 86_400_000

function rateLimited(host: string, until: number, httpStatus?: number): PromotionError {
  return new PromotionError('RateLimited', 'RateLimited', `the rate limit of ${host} is reached`, {
    retryAt: until,
    ...(httpStatus === undefined ? {} : { httpStatus }),
  })
}

/** Whether a response means "too many requests": 429, or 403 and 503 with a hint in headers or body. */
function isLimited({ status, headers, body }: HttpResponse): boolean {
  if (status === 429) return true
  if (status !== 403 && status !== 503) return false
  if (headers['retry-after'] !== undefined || remaining(headers) === '0') return true
  // GitHub does not always report its secondary rate limit in headers.
  return status === 403 && body.includes('secondary rate limit')
}

function remaining(headers: HttpResponse['headers']): string | undefined {
  return headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining']
}

/** The time from which a response allows requests again, at most a day ahead; undefined when it sets no limit. */
export function retryAtOf(response: HttpResponse, now: number): number | undefined {
  const { headers } = response
  const waits: number[] = []
  const retryAfter = headers['retry-after']
  if (retryAfter !== undefined && (isLimited(response) || response.status >= 500)) {
    const at = /^\d+$/.test(retryAfter.trim()) ? now + Number(retryAfter) * 1000 : parseHttpDate(retryAfter.trim())
    if (at !== undefined) waits.push(at)
  }
  const reset = headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']
  if (remaining(headers) === '0' && reset !== undefined && /^\d+$/.test(reset)) waits.push(resetAt(Number(reset), now))
  if (waits.length > 0) return Math.min(Math.max(...waits), now + maxWaitMs)
  return isLimited(response) ? now + defaultWaitMs : undefined
}

/** Forges send epoch seconds, proxies in front of them the remaining seconds, and some send milliseconds. */
function resetAt(reset: number, now: number): number {
  if (reset < 1e9) return now + reset * 1000
  return reset < 1e11 ? reset * 1000 : reset
}
