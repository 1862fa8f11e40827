import { jsonIn } from '../../kube/basics/json.ts'
import type { Route, RouteRequest, RouteResponse } from '../../runtime/http/route.ts'
import type { Arrival, Named } from './identity.ts'
import type { OneTimeCodes } from './one-time-codes.ts'
import { isSameOrigin, type Identity, type Proof, type Sessions } from './sessions.ts'

export interface SignInPorts {
  readonly sessions: Sessions
  /** The user of a token; undefined when the cluster does not accept it. */
  readonly nameOf: (token: string) => Promise<string | undefined>
  /** Other ways to sign in, for the page. Defaults to none. */
  readonly methods?: { readonly provider?: string }
  /** The user whom a proxy in front names. */
  proxyUserOf?(request: Arrival): Named | undefined
  /** Where the user signs out of the provider. */
  signOutUrl?(identity: Identity | undefined): Promise<string | undefined>
  /** Where links can sign in; absent where the server makes none. */
  readonly codes?: OneTimeCodes
}

const linkMs = 60_000

/** Sign-in by token and by one-time link, refresh and sign-out. The pages of the dashboard call these. */
export function signInRoutes(ports: SignInPorts): readonly Route[] {
  const { sessions, codes } = ports
  return [
    call('token', async (request) => {
      const token = textIn(request.body, 'token') ?? ''
      const name = /^[\x21-\x7e]+$/.test(token) ? await ports.nameOf(token) : undefined
      if (name === undefined) return refused(401, 'The cluster does not accept this token.')
      return signedIn(sessions, request, { identity: { token, name } })
    }),
    call('refresh', async (request) => {
      const cookies = await sessions.refresh(request)
      return cookies ? { status: 200, headers: { 'set-cookie': cookies }, body: {} } : refused(401, 'Signed out.')
    }),
    call('logout', async (request) => {
      const next = await ports.signOutUrl?.(sessions.find(request)).catch(() => undefined)
      return { status: 200, headers: { 'set-cookie': sessions.end(request) }, body: { next } }
    }),
    {
      method: 'GET',
      path: '/auth/methods',
      authenticated: false,
      handle: (request) => Promise.resolve({ status: 200, body: { ...ports.methods, ...ofProxy(ports, request) } }),
    },
    call('proxy', (request) => {
      const { user, problem = 'No proxy signs users in here.' } = ofProxy(ports, request)
      if (user === undefined) return refused(403, problem)
      return signedIn(sessions, request, { identity: { user, groups: [], isOfProxy: true } })
    }),
    ...(codes ? linkRoutes(ports, codes) : []),
  ]
}

/** The user whom the proxy of a request names, or why it names none. */
function ofProxy(ports: SignInPorts, { remoteAddress, rawHeaders = [] }: RouteRequest) {
  const named = ports.proxyUserOf?.({ remoteAddress, rawHeaders })
  const said: { readonly user?: string; readonly problem?: string } =
    typeof named === 'string' ? { problem: named } : named ? { user: named.user } : {}
  return said
}

function linkRoutes({ sessions, nameOf }: SignInPorts, codes: OneTimeCodes): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/auth/link',
      authenticated: false,
      handle({ user, headers }) {
        // A link carries on the token of its caller, so that it never gives more rights or lasts longer.
        const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
        if (!user || token === undefined)
          return Promise.resolve(refused(401, 'authentication required: send a bearer token'))
        return Promise.resolve({ status: 200, body: { path: linkPath(codes.make(token, linkMs)) } })
      },
    },
    call('once', async (request) => {
      const token = codes.use(textIn(request.body, 'code') ?? '')
      const name = token === undefined ? undefined : await nameOf(token)
      if (token === undefined || name === undefined)
        return refused(401, 'This link was used or has expired. Run "sojourn dashboard" for a new one.')
      return signedIn(sessions, request, { identity: { token, name } })
    }),
  ]
}

/** The code stands behind `#`: it reaches no server, log or link preview before the page sends it. */
export function linkPath(code: string): string {
  return `/#once=${code}`
}

function call(name: string, handle: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>): Route {
  return {
    method: 'POST',
    path: `/auth/${name}`,
    authenticated: false,
    handle: async (request) =>
      isSameOrigin(request) ? handle(request) : refused(403, 'Only a page of this server may sign in and out.'),
  }
}

function signedIn(sessions: Sessions, request: RouteRequest, proof: Proof): RouteResponse {
  const started = sessions.start(request, proof)
  if (!started) return refused(400, 'This token is too large for a session: use one with fewer groups.')
  return { status: 200, headers: { 'set-cookie': started.cookies }, body: { secret: started.secret } }
}

function refused(status: number, message: string): RouteResponse {
  return { status, body: { message } }
}

function textIn(body: string, field: string): string | undefined {
  const value = (jsonIn(body) as Readonly<Record<string, unknown>> | null | undefined)?.[field]
  return typeof value === 'string' ? value : undefined
}
