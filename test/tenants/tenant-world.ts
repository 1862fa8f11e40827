import { bond as bondKind } from '../../src/apis/bond.ts'
import { cleaner as cleanerKind } from '../../src/apis/cleaner.ts'
import { creatorAnnotation } from '../../src/tenancy/creator-record.ts'
import { createServer, type AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { startReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { readConfig, type Role } from '../../src/app/config/config.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { installManifests, type CreatorAdmission } from '../../src/app/install/install.ts'
import { clusterRoles, type ClusterRole } from '../../src/app/install/rbac.ts'
import { Client } from '../../src/client/client.ts'
import { isAllowed } from '../../src/client/access-review.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { findCondition, type Condition } from '../../src/kube/conditions.ts'
import type { KubeObject, ObjectRef, StoredObject } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { createLogger } from '../../src/runtime/observability/log.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { startAs, targets } from '../kubernetes/account.ts'
import { run, whenEstablished } from '../kubernetes/kubectl.ts'
import { creatorPolicy } from '../../src/tenancy/creator-proof.ts'
import { tenantManifests, type UserName } from './users.ts'

/** A cluster of several tenants with Sojourn's controllers running in it. Namespaces a and b are there. */
export interface TenantWorld extends AsyncDisposable {
  /** The API as one of the users. Admission and RBAC see that user. */
  as(user: UserName): Client
  /** The API as any user, in a group of their own. */
  asUser(name: string, group?: string): Client
  /** Creates an object as a user. */
  create(user: UserName, manifest: KubeObject): Promise<StoredObject>
  /** An object as the administrator sees it; undefined when it does not exist. */
  get(ref: ObjectRef): Promise<StoredObject | undefined>
  /** Resolves when the object no longer exists. */
  gone(ref: ObjectRef): Promise<void>
  /** Resolves with the Ready condition of an object once its reason is one of these. */
  ready(ref: ObjectRef, ...reasons: readonly string[]): Promise<Condition>
  /** Resolves when RBAC allows a user this, or no longer does. */
  may(user: string, resourceAttributes: Readonly<Record<string, string>>, isSo: boolean): Promise<void>
  /** Everything that the controllers have logged so far (embedded world only; otherwise empty). */
  readonly logged: () => string
  /** A kubeconfig file of the administrator, for real clients. */
  readonly kubeconfig: string
  /** Where a role serves its routes. */
  readonly serverOf: (role: ClusterRole) => string
}

export interface TenantWorldOptions {
  /** Which systems run. Defaults to the cleaner. */
  readonly roles?: readonly ClusterRole[]
  /** Further flags of `sojourn up` and `sojourn run`. */
  readonly flags?: Readonly<Record<string, string | boolean>>
  /** What records creators on a kube-apiserver: the policy of Kubernetes 1.36, the webhook of 1.30 to 1.35, that webhook while it is down, or nothing, without policies. Defaults to MAP. */
  readonly recorder?: Recorder
}

type Recorder = 'MAP' | 'Webhook' | 'WebhookDown' | 'Off'

interface WorldKind {
  readonly name: 'embedded' | 'kube-apiserver' | 'kube-apiserver with the webhook'
  /** Why it cannot be started here. */
  readonly missing: string | undefined
  /** Whether its admission records who wrote a spec. */
  readonly recordsCreators: boolean
  readonly start: (options?: TenantWorldOptions) => Promise<TenantWorld>
}

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: attacks on a real kube-apiserver: ${missing}`)

/**
 * For `describe.each(worlds)('…: $name', …)`. A kube-apiserver that cannot be built is left out, which was said on stderr;
 * SOJOURN_TENANT_WORLD=embedded leaves it out too, for a quick round.
 */
export const worlds: readonly WorldKind[] = [
  { name: 'embedded' as const, missing: undefined, recordsCreators: true, start: startEmbedded },
  { name: 'kube-apiserver' as const, missing, recordsCreators: hasCreatorPolicy(), start: startKubernetes },
].filter((kind) => kind.missing === undefined && (process.env['SOJOURN_TENANT_WORLD'] ?? kind.name) === kind.name)

/** A kube-apiserver as it is before 1.36, where MutatingAdmissionPolicies are off, and then not served either. */
const withoutMutatingPolicies = [
  '--feature-gates=MutatingAdmissionPolicy=false',
  `--runtime-config=${['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']
    .map((resource) => `admissionregistration.k8s.io/v1/${resource}=false`)
    .join(',')}`,
]

/** The worlds, and the one in which the cleaner's webhook records creators in place of a policy, as on Kubernetes 1.30 to 1.35. */
export const recordingWorlds: readonly WorldKind[] = [
  ...worlds,
  ...worlds
    .filter(({ name }) => name === 'kube-apiserver')
    .map((kind) => ({
      ...kind,
      name: 'kube-apiserver with the webhook' as const,
      start: (options: TenantWorldOptions = {}) => startKubernetes({ ...options, recorder: 'Webhook' }),
    })),
]

/** Whether the installed manifests keep creators' records. */
function hasCreatorPolicy(): boolean {
  return manifests().some(
    ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === creatorPolicy,
  )
}

function manifests(admission: CreatorAdmission = 'MAP'): readonly KubeObject[] {
  const sizes = { image: 'sojourn:1', replicas: 1, dryRun: false, separateRoles: true }
  return installManifests({ roles: clusterRoles, admission, ...sizes })
}

/** What is applied: no Deployments, for no Pod runs here. The API server calls the webhooks of the cleaner on this port of this machine. */
function appliedManifests(recorder: Recorder, port: number): readonly KubeObject[] {
  const isHook = ({ kind }: KubeObject) => kind.endsWith('WebhookConfiguration')
  if (recorder === 'MAP' || recorder === 'Off')
    return manifests(recorder).filter((item) => item.kind !== 'Deployment' && !isHook(item))
  return manifests('Webhook').flatMap((item) => {
    if (item.kind === 'Deployment') return []
    if (item.kind === 'Service' && item.metadata.name === 'sojourn-cleaner')
      return [{ ...item, spec: { type: 'ExternalName', externalName: 'localhost' } }]
    if (!isHook(item)) return [item]
    const hooks = item['webhooks'] as readonly { readonly clientConfig: { readonly service: object } }[]
    const webhooks = hooks.map((hook) => ({
      ...hook,
      clientConfig: { service: { ...hook.clientConfig.service, port } },
    }))
    return [{ ...item, webhooks }]
  })
}

/** A port of this machine on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** `sojourn up`, as its user starts it. */
async function startEmbedded({ roles = ['cleaner'], flags = {} }: TenantWorldOptions = {}): Promise<TenantWorld> {
  await using opened = new AsyncDisposableStack()
  const data = mkdtempSync(join(tmpdir(), 'sojourn-tenants-'))
  opened.defer(() => rmSync(data, { recursive: true, force: true }))
  const only: readonly Role[] = ['api', ...roles]
  const config = readConfig({
    flags: { data, port: '0', 'proxy-port': '0', durable: false, only: only.join(','), ...flags },
    env: {},
  })
  const lines: string[] = []
  const log = createLogger({ clock: systemClock, write: (line) => void lines.push(line), level: 'debug' })
  const up = await startUp(config, log)
  opened.defer(() => up.stop())
  const { kubeconfig, api: url } = up
  return await buildWorld({ kubeconfig, lines, opened, serverOf: () => url, prepare: () => Promise.resolve() })
}

/** `sojourn run` of each role with its installed account, to which an administrator has granted every target there is. */
async function startKubernetes({
  roles = ['cleaner'],
  flags = {},
  recorder = 'MAP',
}: TenantWorldOptions = {}): Promise<TenantWorld> {
  await using opened = new AsyncDisposableStack()
  const controllers = ['clusterrole-aggregation-controller', 'serviceaccount-controller', 'namespace-controller']
  const apiServer = { flags: recorder === 'MAP' ? [] : withoutMutatingPolicies }
  const cluster = await startReferenceCluster({ durable: false, apiServer, controllerManager: { controllers } })
  opened.defer(() => cluster.stop())
  const port = await freePort()
  const items = [...appliedManifests(recorder, port), targets(['*', '*', '*'])]
  const apply = (list: readonly KubeObject[]) =>
    run('kubectl', ['apply', '--server-side', '-f', '-'], {
      ...cluster,
      input: { apiVersion: 'v1', kind: 'List', items: list },
    })
  const isOfKind = ({ kind }: KubeObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition'
  await apply(items.filter(isOfKind))
  await whenEstablished(cluster)
  await apply(items.filter((item) => !isOfKind(item)))
  if (recorder === 'MAP') await whenEstablished(cluster)
  const servers = new Map<ClusterRole, string>()
  const serverOf = (role: ClusterRole) => servers.get(role) ?? ''
  const prepare = async (administrator: Client) => {
    const account = 'system:serviceaccount:sojourn-system:sojourn-cleaner'
    const spec = { user: account, resourceAttributes: { verb: 'escalate', group: '*', resource: '*' } }
    // Aggregation takes a moment.
    await until(async () => (await isAllowed(administrator, spec)) || undefined)
    if (recorder === 'MAP') await whenRecorded(administrator)
    for (const role of roles) {
      const own = role === 'cleaner' && recorder === 'Webhook' ? { port: String(port) } : {}
      const started = await startAs(cluster, role, { ...own, ...(flags as Readonly<Record<string, string>>) })
      opened.defer(() => started.stop())
      servers.set(role, started.url)
    }
    if (recorder === 'Webhook') await whenRecorded(administrator)
  }
  return await buildWorld({ kubeconfig: cluster.kubeconfig, lines: [], opened, serverOf, prepare })
}

interface Parts {
  readonly kubeconfig: string
  readonly serverOf: TenantWorld['serverOf']
  readonly lines: readonly string[]
  readonly opened: AsyncDisposableStack
  readonly prepare: (administrator: Client) => Promise<void>
}

async function buildWorld({ kubeconfig, lines, opened, serverOf, prepare }: Parts): Promise<TenantWorld> {
  const network = networkTransport(loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} }))
  opened.defer(() => network.close())
  const administrator = new Client(network.transport)
  for (const manifest of tenantManifests()) {
    const type = await administrator.discovery.typeOf(manifest)
    if (type) await administrator.create(type, manifest)
  }
  await prepare(administrator)
  const asUser = (name: string, group?: string) =>
    new Client(impersonating(network.transport, name, group), { fieldManager: name })
  await whenBound(administrator)
  const read = async (ref: ObjectRef) => {
    const type = await administrator.discovery.typeOf(ref)
    return type && (await administrator.get(type, ref).catch(ignoring('NotFound')))
  }
  const stack = opened.move()
  return {
    kubeconfig,
    serverOf,
    logged: () => lines.join('\n'),
    as: (user) => asUser(user),
    asUser,
    async create(user, manifest) {
      const type = await administrator.discovery.typeOf(manifest)
      if (!type) throw new Error(`${manifest.apiVersion} ${manifest.kind} is not served`)
      return asUser(user).create(type, manifest)
    },
    get: read,
    gone: async (ref) => void (await until(async () => (await read(ref)) === undefined || undefined)),
    ready: (ref, ...reasons) =>
      until(async () => {
        const { conditions } = ((await read(ref))?.status ?? {}) as { conditions?: readonly Condition[] }
        const ready = findCondition(conditions, 'Ready')
        return ready && reasons.includes(ready.reason) ? ready : undefined
      }),
    may: async (user, resourceAttributes, isSo) =>
      void (await until(async () =>
        (await isAllowed(administrator, { user, resourceAttributes })) === isSo ? true : undefined,
      )),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The admission policies of kube-apiserver refuse kinds whose schema they have not read yet. */
async function whenRecorded(administrator: Client): Promise<void> {
  const end = { apiVersion: 'v1', kind: 'ConfigMap', name: 'none' }
  for (const [kind, spec] of [
    [cleanerKind, { ttl: '1h' }],
    [bondKind, { dependent: end, dependency: end }],
  ] as const)
    await until(async () => {
      const manifest = {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name: 'try', namespace: 'default' },
        spec,
      }
      const tried = await administrator.create(kind.type, manifest, { dryRun: true }).catch(() => undefined)
      return tried?.metadata.annotations?.[creatorAnnotation]
    })
}

/** The roles of kube-apiserver follow its storage after a moment. */
async function whenBound(administrator: Client): Promise<void> {
  const attributes = { verb: 'delete', group: '', resource: 'configmaps', namespace: 'b' }
  await until(
    async () => (await isAllowed(administrator, { user: 'neighbour', resourceAttributes: attributes })) || undefined,
  )
}

/** The first value that is not undefined; throws after half a minute. */
export function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  return vi.waitFor(
    async () => {
      const found = await look()
      if (found === undefined) throw new Error('it has not happened in time')
      return found
    },
    { timeout: 30_000, interval: 50 },
  )
}

function impersonating(transport: Transport, user: string, group: string | undefined): Transport {
  return (request) =>
    transport({
      ...request,
      headers: {
        ...request.headers,
        'impersonate-user': user,
        ...(group === undefined ? {} : { 'impersonate-group': group }),
      },
    })
}
