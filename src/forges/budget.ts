import type { Http, HttpResponse } from '../runtime/http/http.ts'
import { parseTime } from '../kube/time.ts'
import { Trouble } from '../git/trouble.ts'

export interface BudgetOptions {
  /** Requests that may go out at once. Defaults to 60. */
  readonly burst?: number
  /** Requests per second after that. Defaults to 10. */
  readonly perSecond?: number
  readonly now: () => number
  /** Told how many requests a host may still be sent at once. */
  readonly left?: (host: string, requests: number) => void
}

/** One budget per forge host and credential, shared by every pipeline: what the forge says of limits holds for all of them. */
export class ForgeBudget {
  readonly #burst: number
  readonly #perSecond: number
  readonly #now: () => number
  readonly #left: (host: string, requests: number) => void
  readonly #accounts = new Map<string, Account>()

  constructor({ burst = 60, perSecond = 10, now, left = () => undefined }: BudgetOptions) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#now = now
    this.#left = left
  }

  /** The same, with every request counted and every limit kept. */
  wrap(http: Http, credential: string): Http {
    return async (request) => {
      const { host } = new URL(request.url)
      const account = this.spend(host, credential)
      const response = await http(request)
      this.#heed(host, account, response)
      return response
    }
  }

  /** Counts one request to a host, of whatever kind; throws when there may be none now. */
  spend(host: string, credential: string): Account {
    const account = this.#accountOf(`${host} ${credential}`)
    this.#take(host, account)
    return account
  }

  #accountOf(key: string): Account {
    const account = this.#accounts.get(key) ?? { tokens: this.#burst, countedAt: this.#now(), blockedUntil: 0 }
    this.#accounts.set(key, account)
    return account
  }

  #take(host: string, account: Account): void {
    const now = this.#now()
    if (now < account.blockedUntil) {
      this.#left(host, 0)
      throw waiting(host, account.blockedUntil)
    }
    const elapsedMs = Math.max(0, now - account.countedAt)
    account.tokens = Math.min(this.#burst, account.tokens + (elapsedMs / 1000) * this.#perSecond)
    account.countedAt = now
    this.#left(host, Math.max(0, Math.floor(account.tokens - 1)))
    if (account.tokens < 1) throw waiting(host, now + Math.ceil(((1 - account.tokens) / this.#perSecond) * 1000))
    account.tokens -= 1
  }

  #heed(host: string, account: Account, response: HttpResponse): void {
    const now = this.#now()
    const until = retryAtOf(response, now)
    if (until === undefined) return
    account.blockedUntil = Math.max(account.blockedUntil, until)
    if (isLimited(response)) throw waiting(host, until, response.status)
  }
}

interface Account {
  tokens: number
  countedAt: number
  blockedUntil: number
}

/** Without any word of how long, a refusal for too many requests means a minute. */
const defaultWaitMs = 60_000
/** No forge means longer than this, whatever it says. */
const longestWaitMs = 86_400_000

function waiting(host: string, until: number, httpStatus?: number): Trouble {
  return new Trouble('RateLimited', 'RateLimited', `${host} takes no more requests for now`, {
    retryAt: until,
    ...(httpStatus === undefined ? {} : { httpStatus }),
  })
}

function isLimited({ status, headers, body }: HttpResponse): boolean {
  if (status === 429) return true
  if (status !== 403 && status !== 503) return false
  if (headers['retry-after'] !== undefined || remaining(headers) === '0') return true
  // GitHub does not always say in headers that it means this kind of limit.
  return status === 403 && body.includes('secondary rate limit')
}

function remaining(headers: HttpResponse['headers']): string | undefined {
  return headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining']
}

/** When a response says that requests may go on, in a day at the latest; undefined when it says nothing of the kind. */
export function retryAtOf(response: HttpResponse, now: number): number | undefined {
  const { headers } = response
  const waits: number[] = []
  const retryAfter = headers['retry-after']
  if (retryAfter !== undefined && (isLimited(response) || response.status >= 500)) {
    const at = /^\d+$/.test(retryAfter.trim()) ? now + Number(retryAfter) * 1000 : parseHttpDate(retryAfter)
    if (at !== undefined) waits.push(at)
  }
  const reset = headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']
  if (remaining(headers) === '0' && reset !== undefined && /^\d+$/.test(reset)) waits.push(resetAt(Number(reset), now))
  if (waits.length > 0) return Math.min(Math.max(...waits), now + longestWaitMs)
  return isLimited(response) ? now + defaultWaitMs : undefined
}

/** Forges tell the second it will be, proxies in front of them how many seconds are left, and some count milliseconds. */
function resetAt(told: number, now: number): number {
  if (told < 1e9) return now + told * 1000
  return told < 1e11 ? told * 1000 : told
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function parseHttpDate(text: string): number | undefined {
  const match = /^\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/.exec(text.trim())
  if (!match) return undefined
  const [, day, month = '', year, clock] = match
  return parseTime(`${year}-${String(months.indexOf(month) + 1).padStart(2, '0')}-${day}T${clock}Z`)
}
