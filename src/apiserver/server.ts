import type { Transport } from '../kube/transport.ts'
import type { Access } from './auth/access.ts'
import { Authenticator } from './auth/authenticator.ts'
import { loadCredentials, type Credentials } from './auth/credentials.ts'
import { escalationCheck } from './auth/escalation.ts'
import { kubeconfigText } from './auth/kubeconfig.ts'
import { authorize, type Verdict } from './auth/rbac.ts'
import { forbidden } from './auth/access.ts'
import { RoleIndex } from './auth/role-index.ts'
import { ServiceAccountTokens } from './auth/service-account-tokens.ts'
import { Discovery } from './discovery/discovery.ts'
import { OpenApi } from './discovery/open-api.ts'
import { Edge, type PathHandler, type ResourceHandler } from './http/edge.ts'
import { healthPaths, isPublicPath } from './http/health.ts'
import { defaultLimits, HttpsServer, type ExtraRoutes, type HttpsLimits } from './http/https-server.ts'
import { inProcessTransport } from './http/in-process.ts'
import { json } from './http/answer.ts'
import { specialEndpoints } from './http/special-endpoints.ts'
import { Kinds } from './kinds/kinds.ts'
import { bootstrap } from './lifecycle/bootstrap.ts'
import { NamespaceDeleter } from './lifecycle/namespace-deleter.ts'
import { NamespaceFurnisher } from './lifecycle/namespace-furnisher.ts'
import { RoleAggregation } from './lifecycle/role-aggregation.ts'
import type { LifecycleController } from './lifecycle/ports.ts'
import type { AdmissionHook } from './objects/admission.ts'
import { Objects, type ObjectsOptions } from './objects/objects.ts'
import type { User } from './objects/request.ts'
import { Upkeep } from './objects/upkeep.ts'
import { openApiDocument } from './schema/openapi/open-api.ts'
import type { Clock } from './store/clock.ts'
import type { Store } from './store/store.ts'
import { Tables } from './tables/tables.ts'

export interface ApiServerOptions {
  readonly store: Store
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** A new uid at each call. */
  readonly uid: () => string
  /** Where certificates and tokens are kept; without it they live as long as the server. */
  readonly credentialsDirectory?: string
  /** Names and addresses clients use; default loopback. */
  readonly hosts?: readonly string[]
  /** Checks and changes of the application, run for every write. */
  readonly admission?: readonly AdmissionHook[]
  /** Whether deleting an object has to wait for what depends on it; default never. */
  readonly cascades?: NonNullable<ObjectsOptions['cascades']>
  /** Pages of the application on the API's port. */
  readonly extraRoutes?: ExtraRoutes
  /** Subresources that somebody else serves, by `VERB RESOURCE/SUBRESOURCE`: `get pods/log`. */
  readonly handlers?: ReadonlyMap<string, ResourceHandler>
  readonly limits?: Partial<HttpsLimits>
  /** Name of a node to pretend; none when left out. */
  readonly nodeName?: string
  /** Whether namespaces are furnished and emptied and roles aggregated here; default true. */
  readonly controllers?: boolean
  /** Told of failures inside the server; default: nobody. */
  readonly onError?: (error: unknown, where: Readonly<Record<string, string>>) => void
}

/** The embedded API server: reachable in the process at once, over TLS after `listen`. */
export interface ApiServer extends AsyncDisposable {
  readonly objects: Objects
  readonly kinds: Kinds
  readonly store: Store
  readonly credentials: Credentials
  /** Reaches the server by a function call, as this user. */
  transportAs(user: User): Transport
  /** Opens the TLS port; answers with the URL it is reached by. */
  listen(where: {
    readonly port: number
    readonly host?: string
  }): Promise<{ readonly url: string; readonly port: number }>
  /** A kubeconfig with the token of `system:admin`, `sojourn:viewer` or `sojourn:controller`. */
  kubeconfig(server: string, user?: string): string
  authorize(user: User, access: Access): Verdict
  /** The user of a bearer token; undefined when it is not valid. */
  userOfToken(token: string): User | undefined
  close(): Promise<void>
}

/** The administrator, who may do everything. */
export const administrator: User = { name: 'system:admin', groups: ['system:masters'] }

const loopback = ['127.0.0.1', '::1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc']

/** Puts the server together and creates what it cannot be without; the store stays the caller's to close. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, clock, random, uid, onError = () => {} } = options
  const now = () => clock.now()
  const hosts = [...new Set([...loopback, ...(options.hosts ?? [])])]
  const credentials = loadCredentials({
    hosts,
    now: now(),
    ...(options.credentialsDirectory ? { directory: options.credentialsDirectory } : {}),
  })
  const roles = new RoleIndex(store)
  const kinds = new Kinds({ clock })
  const objects = new Objects({
    store,
    kinds,
    clock,
    random,
    uid,
    admission: [escalationCheck(roles), ...(options.admission ?? [])],
    ...(options.cascades ? { cascades: options.cascades } : {}),
  })
  const uidOf = (resource: string, namespace: string, name: string) => store.get({ resource, namespace, name })?.uid
  const serviceAccounts = new ServiceAccountTokens(credentials.serviceAccountKey)
  const authenticator = new Authenticator({ tokens: credentials.tokens, serviceAccounts, uidOf, clock })
  const discovery = new Discovery(kinds)
  const openApi = new OpenApi(discovery, (groupVersion) => openApiDocument(groupVersion, []))
  const tables = new Tables(now)
  let isReady = false

  const edge = new Edge({
    objects,
    kinds,
    columnsOf: (type, subresource) => tables.columnsOf(type, subresource),
    authorize: (user, access) => authorize(roles, user, access),
    handlers: new Map([
      ...specialEndpoints({
        reviews: { roles, authenticator, now },
        tokens: { tokens: serviceAccounts, uidOf, now },
      }),
      ...(options.handlers ?? []),
    ]),
    paths: [healthPaths(() => isReady), discovery.serve, openApi.serve, issuerPaths(serviceAccounts)],
    onInternalError: (error, { method, path }) => onError(error, { method, path }),
  })

  await bootstrap({ store, objects, kinds, now: now(), ...(options.nodeName ? { nodeName: options.nodeName } : {}) })
  const running: LifecycleController[] = []
  const upkeep = new Upkeep({ store, objects, kinds, clock })
  if (options.controllers !== false) {
    const ports = {
      store,
      objects,
      kinds,
      clock,
      authority: credentials.authority,
      onError: (error: unknown, controller: string, key: string) => onError(error, { controller, key }),
    }
    running.push(new NamespaceDeleter(ports), new NamespaceFurnisher(ports), new RoleAggregation(ports))
  }
  isReady = true

  const limits = { ...defaultLimits, ...options.limits }
  const server = new HttpsServer({
    edge,
    authenticator,
    tls: { ...credentials.server, authority: credentials.authority },
    clock,
    extraRoutes: options.extraRoutes ?? (() => undefined),
    limits,
    isPublic: isPublicPath,
    requirePath: (user, verb, path) => {
      const { allowed, reason } = authorize(roles, user, { verb, path })
      if (!allowed) throw forbidden(user, { verb, path }, reason)
    },
    onInternalError: (error, where) => onError(error, where),
  })

  const close = async () => {
    isReady = false
    await server.close(closeGraceMs)
    await Promise.all(running.map((controller) => controller.close()))
    await upkeep.close()
    objects.close()
    roles.close()
  }
  return {
    objects,
    kinds,
    store,
    credentials,
    transportAs: (user) => inProcessTransport(edge, user),
    listen: async ({ port, host = '127.0.0.1' }) => {
      const { port: bound } = await server.listen({ port, host })
      return { url: `https://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound }
    },
    kubeconfig: (url, user = administrator.name) =>
      kubeconfigText({
        server: url,
        authority: credentials.authority,
        user,
        token: credentials.tokens.tokenOf(user) ?? '',
      }),
    authorize: (user, access) => authorize(roles, user, access),
    userOfToken: (token) => authenticator.byToken(token),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const closeGraceMs = 2000

function issuerPaths(tokens: ServiceAccountTokens): PathHandler {
  return (_, path) => {
    if (path === '/openid/v1/jwks') return json(tokens.keySet())
    return undefined
  }
}
