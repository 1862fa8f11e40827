import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import type { Client } from '../../client/client.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import { portInUse } from '../../runtime/http/free-port.ts'
import type { RouteUser } from '../../runtime/http/route.ts'
import { isAllowed, userOfToken } from '../../client/access-review.ts'
import type { RouteTable } from '../core/route-table.ts'

/** A certificate, and others for callers that ask for these names. */
export type ServerCertificate = KeyPair & { readonly byHost?: ReadonlyMap<string, KeyPair> }

export interface SideServerOptions {
  readonly host: string
  readonly port: number
  readonly routes: Pick<RouteTable, 'find'>
  readonly access: CallerAccess
  /** The first one; `use` replaces it. */
  readonly certificate: ServerCertificate
  /** Whether this replica can do its work. */
  readonly isReady: () => boolean
  /** Told what failed in a route that is no refusal. */
  readonly onError: (error: unknown) => void
}

/** Who callers are, and what they may call. */
export interface CallerAccess {
  userOf(request: IncomingMessage): Promise<RouteUser | undefined>
  mayCall(user: RouteUser, method: string, path: string): Promise<boolean>
}

/** The running server. */
export interface SideServer {
  readonly url: string
  /** Uses this certificate from the next connection on. */
  readonly use: (certificate: ServerCertificate) => void
  close(): Promise<void>
}

/** The HTTPS server of `sojourn run`: health, metrics, opt-out pages, approvals, the webhook. */
export async function startSideServer(options: SideServerOptions): Promise<SideServer> {
  const { host, port } = options
  let byHost = contextsOf(options.certificate)
  const server = createServer(
    {
      ...contextOf(options.certificate),
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, done) => done(null, byHost.get(name)),
    },
    (request, response) => {
      answer(options, request, response).catch((error: unknown) => {
        const isRefusal = isStatusError(error)
        if (!isRefusal) options.onError(error)
        if (response.headersSent) return void response.destroy()
        const { code, message, reason } = isRefusal ? error : new StatusError('InternalError', 'internal error')
        response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ message, reason }))
      })
    },
  )
  await listen(server, port, host).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    // Beside `sojourn up`, which has the default port, any other does.
    if (port === defaultPort) return listen(server, 0, host)
    throw portInUse({ port, host, flag: 'port' })
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `https://${host}:${bound}`,
    use: (certificate) => {
      byHost = contextsOf(certificate)
      server.setSecureContext(contextOf(certificate))
    },
    async close() {
      server.closeAllConnections()
      await server[Symbol.asyncDispose]()
    },
  }
}

const defaultPort = 7443

async function listen(server: Server, port: number, host: string): Promise<void> {
  await once(server.listen(port, host), 'listening')
}

function contextOf({ certificate, key }: KeyPair): { cert: string; key: string } {
  return { cert: certificate, key }
}

function contextsOf({ byHost = new Map() }: ServerCertificate): ReadonlyMap<string, SecureContext> {
  return new Map([...byHost].map(([name, pair]) => [name, createSecureContext(contextOf(pair))]))
}

async function answer(
  { routes, access, isReady }: SideServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const path = url.split('?')[0] ?? '/'
  if (path === '/healthz' || path === '/livez') return void response.end('ok')
  if (path === '/readyz') return void response.writeHead(isReady() ? 200 : 503).end(isReady() ? 'ok' : 'not ready')
  const route = routes.find(method, path)
  if (!route) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n')
  const user = await access.userOf(request)
  if (route.access === 'public') return route.serve(request, response, user ?? anonymous)
  if (!user)
    return void response
      .writeHead(401, { 'www-authenticate': 'Bearer' })
      .end('authentication required: send a bearer token of the cluster\n')
  if (!(await access.mayCall(user, method, path)))
    return void response.writeHead(403).end(`${user.name} is not allowed to ${method} ${path}\n`)
  return route.serve(request, response, user)
}

/** Callers with bearer tokens of the cluster, which authenticates and authorizes them. */
export function clusterAccess(client: Client): CallerAccess {
  return {
    userOf: ({ headers }) => userOf(client, headers.authorization),
    mayCall: ({ name: user, groups }, method, path) =>
      isAllowed(client, { user, groups, nonResourceAttributes: { verb: method.toLowerCase(), path } }),
  }
}

const anonymous: RouteUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

async function userOf(client: Client, authorization: string | undefined): Promise<RouteUser | undefined> {
  const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
  const user = token === undefined ? undefined : await userOfToken(client, token)
  return user?.username ? { name: user.username, groups: user.groups ?? [] } : undefined
}
