import { escapeHtml } from '../../notices/html.ts'
import { page } from '../../notices/page.ts'
import type { Route, RouteResponse } from '../../runtime/http/route.ts'
import type { LoginState, Oidc, Said } from './oidc.ts'
import { attributes, cookiesOf, expired, type Proof, type SessionPorts, type Sessions } from './sessions.ts'

interface OidcRoutePorts extends Pick<SessionPorts, 'seal' | 'clock'> {
  readonly oidc: Pick<Oidc, 'begin' | 'finish'>
  readonly sessions: Sessions
  /** The session of a user, or why there is none. */
  readonly prove: (said: Said) => Promise<Proof | string>
}

const purpose = 'login'
const loginMs = 600_000
/** The callback comes from the provider's site: a Strict cookie would not be sent with it. */
const loginAttributes = attributes.replace('Strict', 'Lax')
const cookiePrefix = '__Host-sojourn-login-'
const cookieOf = (state: string) => cookiePrefix + state.slice(0, 12)
/** Sign-ins that a browser may have begun. A site that begins more in the user's browser would fill the head of each request. */
const maxLogins = 4

/** Sign-in at the provider and the way back. All state is in cookies, so that any replica can answer the callback. */
export function oidcRoutes({ oidc, sessions, seal, clock, prove }: OidcRoutePorts): readonly Route[] {
  const route = (path: string, handle: Route['handle']): Route => ({
    method: 'GET',
    path,
    authenticated: false,
    handle: (request) =>
      handle(request).catch((error: unknown) => failed(`The provider could not be used: ${(error as Error).message}.`)),
  })
  return [
    route('/auth/login', async (request) => {
      const { url, login } = await oidc.begin(clock.now() + loginMs)
      // Browsers send the oldest first.
      const begun = [...cookiesOf(request).keys()].filter((name) => name.startsWith(cookiePrefix))
      const cookie = `${cookieOf(login.state)}=${seal.seal(purpose, login)}; Max-Age=${loginMs / 1000}; ${loginAttributes}`
      return redirect(url, [cookie, ...begun.slice(0, 1 - maxLogins).map(expired)])
    }),
    route('/auth/callback', async (request) => {
      const name = cookieOf(request.query.state ?? '')
      const login = seal.open(purpose, cookiesOf(request).get(name) ?? '') as LoginState | undefined
      if (!login || login.until < clock.now()) return failed('This sign-in has expired, or began in another browser.')
      const proof = await prove(await oidc.finish(new URL(request.url, 'https://localhost').search, login))
      if (typeof proof === 'string') return failed(proof)
      const started = sessions.start(request, proof)
      if (!started) return failed('You are in too many groups for a session: ask for fewer in the provider.')
      // The secret stands behind "#", where no server sees it, and is worth nothing without the cookie.
      return redirect(`/#session=${started.secret}`, [...started.cookies, expired(name)])
    }),
  ]
}

function redirect(location: string, cookies: string[]): RouteResponse {
  return { status: 302, headers: { location, 'set-cookie': cookies }, body: '' }
}

function failed(message: string): RouteResponse {
  return page(403, 'You are not signed in', `<p>${escapeHtml(message)}</p><p><a href="/">Sign in again</a></p>`)
}
