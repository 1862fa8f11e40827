import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../runtime/time/clock.ts'
import type { Seal } from '../../runtime/sharing/seal.ts'

/** Whom a session acts as: the user of a bearer token, or a user whom the dashboard impersonates. */
export type Identity =
  | { readonly token: string; readonly name: string }
  | { readonly user: string; readonly groups: readonly string[]; readonly isOfProxy?: true }

/** What an OpenID Connect provider said of a user. */
export interface Grant {
  /** When the provider must be asked again. */
  readonly expiresAt: number
  readonly refreshToken?: string
}

/** A session's user, and until when the provider vouches for that. */
export interface Proof {
  readonly identity: Identity
  readonly grant?: Grant
}

interface Session extends Proof {
  readonly startedAt: number
  readonly seenAt: number
  /** Every request must repeat it in a header. Other sites and other ports of this host get the cookie at most. */
  readonly secret: string
}

export interface SessionPorts {
  readonly seal: Seal
  readonly clock: Pick<Clock, 'now'>
  /** How long a session lasts without a refresh. Defaults to an hour. */
  readonly idleMs?: number
  /** How long a session lasts at most. Defaults to 12 hours. */
  readonly maxMs?: number
  /** Asks the provider for the user again. Undefined: the user must sign in again. Defaults to that. */
  readonly renew?: (grant: Grant) => Promise<Proof | undefined>
}

/** The parts of a request that prove a session. Lower-case names. */
export interface SessionRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** A cookie holds at most 4,096 bytes, its name and attributes included. */
const chunkBytes = 3800
const maxChunks = 3
export const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict'
const purpose = 'session'
/** Pages refresh their session every five minutes: one that would expire before the next time is renewed. */
const renewAheadMs = 360_000

/**
 * Sessions of browsers, each in an encrypted cookie: the server keeps none. A page shows its session by the cookie, which scripts
 * cannot read, and by the session's secret in the header `x-sojourn-session`, which other sites cannot send.
 */
export class Sessions {
  readonly #ports: SessionPorts & { readonly idleMs: number; readonly maxMs: number }

  constructor(ports: SessionPorts) {
    this.#ports = { idleMs: 3_600_000, maxMs: 43_200_000, ...ports }
  }

  /** The session of a request; undefined without one, after a timeout, and for requests that another site caused. */
  find(request: SessionRequest): Identity | undefined {
    const session = this.#open(request)
    return session && this.#ports.clock.now() < (session.grant?.expiresAt ?? Infinity) ? session.identity : undefined
  }

  /** Starts a session: its cookies, and the secret for the page. Undefined when the identity is too large for cookies. */
  start(request: SessionRequest, proof: Proof): { cookies: string[]; secret: string } | undefined {
    const now = this.#ports.clock.now()
    const secret = randomBytes(18).toString('base64url')
    const cookies = this.#cookies(request, { ...proof, startedAt: now, seenAt: now, secret })
    return cookies && { cookies, secret }
  }

  /** The cookies of the same session, used now; undefined without a session, and when the provider no longer vouches for it. */
  async refresh(request: SessionRequest): Promise<string[] | undefined> {
    const session = this.#open(request)
    const now = this.#ports.clock.now()
    if (!session?.grant || now + renewAheadMs < session.grant.expiresAt)
      return session && this.#cookies(request, { ...session, seenAt: now })
    const renewed = await this.#ports.renew?.(session.grant)
    // A session never becomes that of another user.
    if (renewed && userOf(renewed.identity) !== userOf(session.identity)) return undefined
    if (renewed) return this.#cookies(request, { ...session, ...renewed, seenAt: now })
    return now < session.grant.expiresAt ? this.#cookies(request, { ...session, seenAt: now }) : undefined
  }

  /** Cookies that end every session of this browser here. */
  end(request: SessionRequest): string[] {
    return Array.from({ length: maxChunks }, (_, index) => expired(nameOf(request, index)))
  }

  #open(request: SessionRequest): Session | undefined {
    const session = this.#ports.seal.open(purpose, cookieText(request)) as Session | undefined
    const now = this.#ports.clock.now()
    if (!session || now - session.seenAt > this.#ports.idleMs || now - session.startedAt > this.#ports.maxMs)
      return undefined
    if (!isEqual(headerOf(request, 'x-sojourn-session'), session.secret)) return undefined
    return request.method === 'GET' || request.method === 'HEAD' || isSameOrigin(request) ? session : undefined
  }

  #cookies(request: SessionRequest, session: Session): string[] | undefined {
    const text = this.#ports.seal.seal(purpose, session)
    if (text.length > chunkBytes * maxChunks) return undefined
    return this.end(request).map((none, index) => {
      const chunk = text.slice(index * chunkBytes, (index + 1) * chunkBytes)
      return chunk === '' ? none : `${nameOf(request, index)}=${chunk}; ${attributes}`
    })
  }
}

/** Whether a page of this very origin sent the request; every browser says so in one of two headers. */
export function isSameOrigin(request: SessionRequest): boolean {
  const site = headerOf(request, 'sec-fetch-site')
  if (site !== '') return site === 'same-origin'
  const origin = headerOf(request, 'origin')
  return URL.canParse(origin) && new URL(origin).host === headerOf(request, 'host')
}

/** The values of the cookies by name. */
export function cookiesOf(request: SessionRequest): ReadonlyMap<string, string> {
  const pairs = headerOf(request, 'cookie').split(';')
  return new Map(
    pairs.map((pair): [string, string] => {
      const [name = '', ...value] = pair.trim().split('=')
      return [name, value.join('=')]
    }),
  )
}

/** A `set-cookie` that removes a cookie. */
export function expired(name: string): string {
  return `${name}=; Max-Age=0; ${attributes}`
}

function userOf(identity: Identity): string {
  return 'token' in identity ? identity.name : identity.user
}

function cookieText(request: SessionRequest): string {
  const cookies = cookiesOf(request)
  return Array.from({ length: maxChunks }, (_, index) => cookies.get(nameOf(request, index)) ?? '').join('')
}

/** Cookies ignore ports: two servers on one host need two names. */
function nameOf(request: SessionRequest, index: number): string {
  const port = /:(\d+)$/.exec(headerOf(request, 'host'))?.[1] ?? '443'
  return `__Host-sojourn-${port}.${index}`
}

function headerOf({ headers }: SessionRequest, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

function isEqual(given: string, secret: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(secret)]
  return left.length === right.length && timingSafeEqual(left, right)
}
