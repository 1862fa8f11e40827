import type { Transport } from '../kube/transport.ts'
import { forbidden, type Access } from './auth/access.ts'
import { kubeconfigText } from './auth/certificates/kubeconfig.ts'
import { createServerParts, type ServerParts } from './server-parts.ts'
import { Discovery } from './discovery/discovery.ts'
import { OpenApi } from './discovery/open-api.ts'
import { openApiDocument } from './schema/openapi/open-api.ts'
import { Edge } from './http/edge.ts'
import { healthPaths, isPublicPath } from './http/health.ts'
import { defaultLimits, HttpsServer, type PathAccess } from './http/https-server.ts'
import { applyImpersonation } from './http/request/impersonation.ts'
import { inProcessTransport } from './http/in-process.ts'
import { issuerPaths } from './http/issuer-paths.ts'
import { specialEndpoints } from './http/special-endpoints.ts'
import { bootstrap } from './lifecycle/bootstrap.ts'
import { startControllers } from './start-controllers.ts'
import type { User } from './objects/contract/request.ts'
import type { ApiServerOptions } from './options.ts'
import type { Store } from './store/store.ts'
import { Tables } from './tables/tables.ts'

export type { ApiServerOptions } from './options.ts'

/** The embedded API server: reachable in-process at once, over TLS after `listen`. */
export interface ApiServer
  extends AsyncDisposable, Pick<ServerParts, 'objects' | 'kinds' | 'credentials' | 'authorize'> {
  readonly store: Store
  /** A Transport that calls the server in the same process, as this user. */
  transportAs(user: User): Transport
  /** Opens the TLS port, on loopback by default, and returns its URL. */
  listen(at: {
    readonly port: number
    readonly host?: string
  }): Promise<{ readonly url: string; readonly port: number }>
  /** A kubeconfig with the token of `system:admin` (the default), `sojourn:viewer` or `sojourn:controller`. */
  kubeconfig(server: string, user?: string): string
  /** The user of a bearer token; undefined when it is not valid. */
  userOfToken(token: string): User | undefined
  /**
   * Ends watches, finishes requests in progress and stops the controllers. The store stays open: it belongs to the
   * caller.
   */
  close(): Promise<void>
}

/** The administrator: a member of system:masters. */
export const administrator: User = { name: 'system:admin', groups: ['system:masters'] }

const closeGraceMs = 2000

/** Creates a server, bootstraps its objects and starts its controllers. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const parts = createServerParts(options)
  const { store, clock, nodeName } = options
  const { objects, kinds, credentials, authenticator } = parts
  const state = { isReady: false }
  const edge = createEdge(options, parts, () => state.isReady)
  await bootstrap({ store, objects, kinds, now: clock.now(), ...(nodeName ? { nodeName } : {}) })
  const controllers = startControllers(options, parts)
  const https = createHttps(options, parts, edge)
  state.isReady = true
  const close = async () => {
    state.isReady = false
    await https.close(closeGraceMs)
    await controllers.close()
    parts.close()
  }
  return {
    objects,
    kinds,
    store,
    credentials,
    transportAs: (user) => inProcessTransport(edge, user),
    listen: async ({ port, host = '127.0.0.1' }) => {
      const bound = await https.listen({ port, host })
      await controllers.publish(host, bound.port)
      return { url: `https://${host.includes(':') ? `[${host}]` : host}:${bound.port}`, port: bound.port }
    },
    kubeconfig: (server, user = administrator.name) => {
      const token = credentials.tokens.tokenOf(user)
      if (!token) throw new Error(`there is no token for user ${user}; see tokens.csv`)
      return kubeconfigText({ server, authority: credentials.authority, user, token })
    },
    authorize: (user, access) => parts.authorize(user, access),
    userOfToken: (token) => authenticator.byToken(token),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function createEdge(options: ApiServerOptions, parts: ServerParts, isReady: () => boolean): Edge {
  const { objects, kinds, roles, authenticator, serviceAccounts, uidOf } = parts
  const { clock, handlers = [], cascadeRecordAccess, onError } = options
  const now = () => clock.now()
  const discovery = new Discovery(kinds)
  const openApi = new OpenApi(discovery, (groupVersion) => openApiDocument(groupVersion))
  const tables = new Tables(now)
  const special = specialEndpoints({
    reviews: { roles, authenticator, now },
    tokens: { tokens: serviceAccounts, uidOf, now },
  })
  return new Edge({
    objects,
    kinds,
    columnsOf: (type, subresource) => tables.columnsOf(type, subresource),
    authorize: (user, access) => parts.authorize(user, access),
    cascadeRecordAccess,
    handlers: new Map([...special, ...handlers]),
    paths: [healthPaths(isReady), discovery.serve, openApi.serve, issuerPaths(serviceAccounts)],
    onInternalError: (error, { method, path }) => onError?.(error, { method, path }),
  })
}

function createHttps(options: ApiServerOptions, parts: ServerParts, edge: Edge): HttpsServer {
  const { credentials, authenticator } = parts
  const { clock, extraRoutes = () => undefined, sessionToken = () => undefined, limits, onError } = options
  return new HttpsServer({
    edge,
    authenticator,
    clock,
    extraRoutes,
    sessionToken,
    tls: { ...credentials.server, authority: credentials.authority },
    limits: { ...defaultLimits, ...limits },
    isPublic: isPublicPath,
    userForPath: (request) => userForPath(parts, request),
    onInternalError: (error, where) => onError?.(error, { ...where }),
  })
}

function userForPath(parts: ServerParts, { user, headers, verb, path }: PathAccess): User {
  const wanted = { verb, path }
  const isAllowed = (access: Access) => parts.authorize(user, access).allowed
  const served = applyImpersonation({ user, headers }, { isAllowed, wanted }).user
  const { allowed, reason } = parts.authorize(served, wanted)
  if (!allowed) throw forbidden(served, wanted, reason)
  return served
}
