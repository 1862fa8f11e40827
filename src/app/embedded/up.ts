import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { User } from '../../apiserver/objects/contract/request.ts'
import { administrator, createApiServer } from '../../apiserver/server.ts'
import { openSqliteStore } from '../../apiserver/store/sqlite-store.ts'
import { Client } from '../../client/client.ts'
import { RecordWriter } from '../../departures/records/record-writer.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { secretKeepingTransport } from '../../runtime/observability/known-secrets.ts'
import { loopLag } from '../../runtime/observability/process-metrics.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import { freePort } from '../../runtime/http/free-port.ts'
import { machineAndPrivate } from '../../runtime/http/outgoing.ts'
import { proveOutgoing } from '../../runtime/http/prove-outgoing.ts'
import type { RouteUser } from '../../runtime/http/route.ts'
import { ownKindsAdmission } from '../../admission/admission.ts'
import { KubernetesAdmission, podAdmission } from '../../admission/registered/kubernetes-admission.ts'
import { webhookCaller } from '../../admission/registered/webhook-call.ts'
import { unknownKindsHook } from '../../admission/unknown-kinds.ts'
import { creatorAdmission, type MayDo } from '../../admission/creator-admission.ts'
import { EnvironmentAdmission } from '../../admission/environment-admission.ts'
import { BondAdmission } from '../../admission/bond-admission.ts'
import { authorizer } from '../../admission/bond-authorizer.ts'
import { noCollectorWarning } from './no-collector-warning.ts'
import type { Config } from '../config/config.ts'
import { embeddedAccess } from '../core/in-process-deleter.ts'
import { createInstance, keySource } from '../core/instance.ts'
import { browserAccess } from '../dashboard/browser-access.ts'
import { dashboardRoutes } from '../dashboard/pages.ts'
import { lockDataDirectory } from './data-directory.ts'
import { EmbeddedWorkloads } from './embedded-workloads.ts'
import { publishEndpoints } from './endpoints.ts'
import { forecastRoute } from '../dashboard/forecast-route.ts'
import { shippedPolicies } from '../../admission/policies/policy.ts'
import { registerKinds } from '../../admission/register-kinds.ts'
import { clusterScoped } from '../../kube/core-types.ts'
import { peopleManifests } from '../install/rbac.ts'
import { recordAccess } from './record-access.ts'
import { userDeletionRecords } from './user-deletion-records.ts'
import { RouteTable } from '../core/route-table.ts'
import { isAnyAddress } from '../core/networks.ts'
import { startSystems, whenReady, type Addresses } from '../core/systems.ts'

const nodeName = 'sojourn'
/** The controllers of this process. A user of its own, so that nothing they create counts as created by an administrator. */
const sojournUser: User = { name: 'system:sojourn', groups: ['system:masters'] }

/** A running `sojourn up`. */
export interface Up extends Addresses {
  readonly api: string
  readonly proxy: string
  readonly kubeconfig: string
  /** A link that signs one browser in as the administrator, once, within ten minutes. */
  dashboardLink(): string
  stop(): Promise<void>
}

/** Starts the embedded API server and, on it, the configured roles. */
export async function startUp(given: Config, log: Logger): Promise<Up> {
  await proveOutgoing()
  // A user who may write objects here starts processes, which can call the servers of this machine already.
  const config = { ...given, allowOutgoing: given.allowOutgoing ?? machineAndPrivate }
  const clock = systemClock
  const directory = lockDataDirectory(config.data)
  const store = openSqliteStore({ path: directory.file('store.db'), clock, durable: config.durable })
  const [workloads, routes] = [new EmbeddedWorkloads(), new RouteTable()]
  const [bonds, environments] = [new BondAdmission(), new EnvironmentAdmission(clock)]
  const warnings = config.only.includes('collector') ? [] : [noCollectorWarning(store, clock)]
  const shared = [...podAdmission, unknownKindsHook(() => server.kinds.all()), ...warnings]
  const home = Promise.withResolvers<Client>()
  const mayDo: MayDo = (user, access) => server.authorize(user, { subresource: '', ...access }).allowed
  const isSojourn = ({ name }: User) => name === sojournUser.name
  const [browsers, kubernetes] = [browserAccess(clock), new KubernetesAdmission(store)]
  const server = await createApiServer({
    store,
    clock,
    random: systemRandom,
    uid: () => randomUUID(),
    credentialsDirectory: directory.file('pki'),
    admission: [
      creatorAdmission(mayDo, isSojourn),
      ownKindsAdmission,
      bonds.hook,
      environments.hook,
      ...shared,
      kubernetes.hook,
    ],
    cascades: bonds.cascades,
    deletionRecords: userDeletionRecords(clock, { ...config, isNeeded: (object) => bonds.isNeeded(object) }),
    cascadeRecordAccess: recordAccess,
    beforeEmptying: async (object) => recordWriter(config, await home.promise).recordWithContents(object, clock.now()),
    nodeName,
    handlers: workloads.handlers,
    extraRoutes: (method, path) => routes.find(method, path),
    sessionToken: (request) => browsers.tokenOf(request),
    hosts: [config.host],
    onError: reportTo(log),
  })
  const client = new Client(secretKeepingTransport(server.transportAs(sojournUser)))
  await registerKinds(client).then(() => applyRolesOfPeople(client))
  home.resolve(client)
  const clientAs = (user: RouteUser) => new Client(server.transportAs(user))
  const events = new EventRecorder('dashboard', { client, clock, log, isAudit: true })
  routes.add(...dashboardRoutes({ clientAs, clock, own: client, events }), forecastRoute({ clientAs, clock, config }))
  routes.add(...browsers.routes((token) => server.userOfToken(token)?.name))
  const embedded = embeddedAccess(server)
  const instance = createInstance({ config, client, clock, log, routes, url: () => localUrl, embedded })
  const { informers, lifecycle } = instance
  lifecycle.runEverywhere(loopLag(instance))
  // Before the server accepts a deletion.
  await Promise.all([bonds.follow(informers, client, authorizer(server)), environments.follow(informers, client)])
  const call = webhookCaller({ ...instance.networks.administrators, store })
  kubernetes.start({ server, uid: randomUUID, call, clock, onError: reportTo(log) })
  const { url } = await server.listen({ port: await freePort({ ...config, flag: 'port' }), host: config.host })
  // A server for one person. One that listens on every address is not: which name others use is theirs to say.
  const localUrl = isAnyAddress(config.host) ? undefined : url
  await instance.networks.denyServer(url)
  const kubeconfig = directory.file('kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig(url), { mode: 0o600 })
  if (config.only.includes('workloads'))
    await workloads.start(instance, { nodeName, directory: directory.file('pods') })
  const started = await startSystems(instance, config.only)
  await whenReady(started, instance)
  const { isReady: _, ...addresses } = { proxy: 'none', ...started }
  await publishEndpoints(instance, { api: url, proxy: addresses.proxy }, reportTo(log))
  return {
    api: url,
    ...addresses,
    kubeconfig,
    dashboardLink: () => url + browsers.startLink(server.credentials.tokens.tokenOf(administrator.name) ?? ''),
    async stop() {
      await lifecycle.stop()
      await server.close()
      await store.close()
      directory.release()
    },
  }
}

/** The ClusterRoles that users bind, as in a cluster that Sojourn is installed in. */
async function applyRolesOfPeople(client: Client): Promise<void> {
  const approver = shippedPolicies('approvals').filter(({ kind }) => kind === 'ClusterRole')
  const type = clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRole')
  for (const role of [...peopleManifests(), ...approver]) await client.apply(type, role, { force: true })
}

/** Logs errors that no request answers for, with what they are about. */
function reportTo(log: Logger): (error: unknown, about?: object | string) => void {
  return (error, about) => {
    const where = typeof about === 'string' ? { key: about } : about
    log.error('internal error', { ...where, error: error instanceof Error ? error.stack : String(error) })
  }
}

function recordWriter(config: Config, client: Client): RecordWriter {
  return new RecordWriter({ client, keys: keySource(config, client) })
}
