import { hkdfSync, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { dashboardSecret } from '../../admission/webhook-configuration.ts'
import { whoAmI } from '../../client/access-review.ts'
import { Client } from '../../client/client.ts'
import type { ClusterConfig } from '../../client/cluster-config.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Transport } from '../../kube/transport.ts'
import type { RouteUser } from '../../runtime/http/route.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { certificateSource, firstCertificate, followCertificate } from '../cluster/certificate-source.ts'
import type { Run, RunPorts } from '../cluster/run.ts'
import { startSideServer } from '../cluster/side-server.ts'
import type { Config } from '../config/config.ts'
import { keptCertificate } from '../core/kept-certificate.ts'
import { createNetworks } from '../core/networks.ts'
import { RouteTable } from '../core/route-table.ts'
import { forecastRoute } from './forecast-route.ts'
import { userInClaims, userOfProxy } from './identity.ts'
import { Oidc, type Said } from './oidc.ts'
import { oidcRoutes } from './oidc-routes.ts'
import { dashboardRoutes } from './pages.ts'
import { readRoutes } from './reads.ts'
import { Seal } from '../../runtime/sharing/seal.ts'
import { Sessions, type Identity, type Proof, type SessionPorts } from './sessions.ts'
import { signInRoutes } from './sign-in.ts'

const clock = systemClock
/** How long groups of an impersonated user count before the provider is asked again. */
const groupsMs = 900_000

/** A user of a session, and the cluster with that user's rights. */
type SessionUser = RouteUser & { readonly transport: Transport }

/** Serves the dashboard for a cluster, with the rights of its users. It keeps no state: there can be any number of replicas. */
export async function startDashboard(config: Config, cluster: ClusterConfig, { log }: RunPorts): Promise<Run> {
  await using opened = new AsyncDisposableStack()
  const { texts, sessionIdleMs: idleMs, sessionMaxMs: maxMs } = config.dashboard
  const access = clusterAccess(cluster)
  opened.defer(() => access.close())
  const { own, nameOf } = access
  const networks = createNetworks(config.allowOutgoing ?? [])
  opened.defer(() => networks.close())
  const { http } = networks.administrators
  const issuer = texts['oidc-issuer']
  const oidc = issuer === '' ? undefined : new Oidc(texts, { publicUrl: config.publicUrl ?? '', http })
  const prove = (said: Said) => proofOf(said, config, nameOf)
  const renew: SessionPorts['renew'] = async ({ refreshToken }) => {
    if (!oidc || refreshToken === undefined) return undefined
    const proof = await oidc.renew(refreshToken).then(prove, () => undefined)
    return typeof proof === 'string' ? undefined : proof
  }
  const seal = new Seal(await sessionKey(own))
  const sessions = new Sessions({ seal, clock, idleMs, maxMs, renew })
  const proxyUserOf = userOfProxy(config)
  const userOf = ({ method = '', headers, rawHeaders, socket }: IncomingMessage): SessionUser | undefined => {
    let identity = sessions.find({ method, headers })
    if (identity && 'isOfProxy' in identity) {
      // A session that a proxy began lasts while the proxy names the same user. Its groups are those of each request.
      const named = proxyUserOf({ remoteAddress: socket.remoteAddress ?? '', rawHeaders })
      identity = typeof named === 'object' && named.user === identity.user ? named : undefined
    }
    if (!identity) return undefined
    const named = 'token' in identity ? { name: identity.name, groups: [] } : { ...identity, name: identity.user }
    return { ...named, transport: access.transportFor(identity) }
  }
  // Every user of a route here came from userOf.
  const transportOf = (user: RouteUser) => (user as SessionUser).transport
  const clientAs = (user: RouteUser) => new Client(transportOf(user))
  const events = new EventRecorder('dashboard', { client: own, clock, log, isAudit: true })
  const routes = new RouteTable()
  routes.add(...dashboardRoutes({ clientAs, clock, own, events }), forecastRoute({ clientAs, clock, config }))
  routes.add(...readRoutes(transportOf), ...(oidc ? oidcRoutes({ oidc, sessions, seal, clock, prove }) : []))
  routes.add(
    ...signInRoutes({
      sessions,
      nameOf,
      proxyUserOf,
      methods: oidc ? { provider: new URL(issuer).host } : {},
      signOutUrl: async (identity) => oidc?.signOutUrl(identity && 'token' in identity ? identity.token : undefined),
    }),
  )
  const source = certificateSource(config, { client: own, clock })
  const side = await startSideServer({
    host: config.host,
    port: config.port,
    routes,
    access: { userOf: (request) => Promise.resolve(userOf(request)), mayCall: () => Promise.resolve(true) },
    certificate: await firstCertificate(source, log),
    isReady: () => true,
    onError: (error) => log.error('request failed', { error }),
  })
  const stopping = new AbortController()
  opened.defer(() => (stopping.abort(), side.close()))
  void followCertificate(source, { clock, log, use: side.use }).start(stopping.signal)
  const stack = opened.move()
  const replaced = new Promise<never>(() => {})
  return { server: cluster.server, url: side.url, replaced, stop: () => stack.disposeAsync() }
}

/** The cluster with the dashboard's own rights, and with those of users. */
function clusterAccess(cluster: ClusterConfig) {
  const options = { userAgent: 'sojourn-dashboard', maxBytes: 32 * 2 ** 20 }
  const network = networkTransport(cluster, options)
  // Tokens of users go without the dashboard's credentials: the API server would take a client certificate of its own for the user.
  const bare = networkTransport({ ...cluster, credentials: () => Promise.resolve({}), refresh: () => {} }, options)
  const transportFor = (identity: Identity): Transport =>
    'token' in identity
      ? bare.transportAs(() => ({ token: identity.token }))
      : network.transportAs((credentials) => ({ ...credentials, impersonate: identity }))
  return {
    own: new Client(network.transport),
    transportFor,
    nameOf: (token: string) => whoAmI(new Client(transportFor({ token, name: '' }))).catch(ignoring('Unauthorized')),
    close: () => (network.close(), bare.close()),
  }
}

/** The session of a user whom the provider named, or why there is none. */
async function proofOf(
  { idToken, claims, expiresAt, refreshToken }: Said,
  { dashboard: { texts, impersonate } }: Config,
  nameOf: (token: string) => Promise<string | undefined>,
): Promise<Proof | string> {
  const kept = refreshToken === undefined ? {} : { refreshToken }
  if (impersonate) {
    const identity = userInClaims(claims, texts)
    const until = refreshToken === undefined ? expiresAt : clock.now() + groupsMs
    return typeof identity === 'string' ? identity : { identity, grant: { expiresAt: until, ...kept } }
  }
  const name = await nameOf(idToken)
  if (name !== undefined) return { identity: { token: idToken, name }, grant: { expiresAt, ...kept } }
  return `This cluster does not accept tokens of ${texts['oidc-issuer']}: configure its API server for that issuer, or start the dashboard with --impersonate.`
}

/** All replicas derive it from the installation's Secret; without one, sessions are those of this process. */
async function sessionKey(client: Client): Promise<Buffer> {
  const kept = await keptCertificate(dashboardSecret, { client, clock, hosts: [] }).catch(ignoring('Forbidden'))
  return kept
    ? Buffer.from(hkdfSync('sha256', kept.authority.key, '', 'sojourn dashboard sessions', 32))
    : randomBytes(32)
}
