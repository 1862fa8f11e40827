import type { Route, RouteRequest, RouteResponse } from '../../runtime/http/route.ts'
import type { OneTimeCodes } from './one-time-codes.ts'
import { isSameOrigin, type Identity, type Sessions } from './sessions.ts'

export interface SignInPorts {
  readonly sessions: Sessions
  /** Whether the cluster accepts this token. */
  isValid(token: string): Promise<boolean>
  /** Where links can sign in; absent where the server makes none. */
  readonly codes?: OneTimeCodes
}

const linkMs = 60_000

/** Sign-in by token and by one-time link, refresh and sign-out. The pages of the dashboard call these. */
export function signInRoutes(ports: SignInPorts): readonly Route[] {
  const { sessions, codes } = ports
  return [
    call('token', async (request) => {
      const token = textIn(request.body, 'token')
      if (token === undefined || !/^[\x21-\x7e]+$/.test(token) || !(await ports.isValid(token)))
        return refused(401, 'The cluster does not accept this token.')
      return signedIn(sessions, request, { token })
    }),
    call('refresh', (request) => {
      const cookies = sessions.refresh(request)
      return cookies ? { status: 200, headers: { 'set-cookie': cookies }, body: {} } : refused(401, 'Signed out.')
    }),
    call('logout', (request) => ({ status: 200, headers: { 'set-cookie': sessions.end(request) }, body: {} })),
    ...(codes ? linkRoutes(sessions, codes) : []),
  ]
}

function linkRoutes(sessions: Sessions, codes: OneTimeCodes): readonly Route[] {
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
    call('once', (request) => {
      const token = codes.use(textIn(request.body, 'code') ?? '')
      if (token === undefined)
        return refused(401, 'This link was used or has expired. Run "sojourn dashboard" for a new one.')
      return signedIn(sessions, request, { token })
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

function signedIn(sessions: Sessions, request: RouteRequest, identity: Identity): RouteResponse {
  const started = sessions.start(request, identity)
  if (!started) return refused(400, 'This token is too large for a session: use one with fewer groups.')
  return { status: 200, headers: { 'set-cookie': started.cookies }, body: { secret: started.secret } }
}

function refused(status: number, message: string): RouteResponse {
  return { status, body: { message } }
}

function textIn(body: string, field: string): string | undefined {
  try {
    const value: unknown = (JSON.parse(body) as Record<string, unknown> | null)?.[field]
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
