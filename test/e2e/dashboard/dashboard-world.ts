import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../src/app/config/config.ts'
import { startUp } from '../../../src/app/embedded/up.ts'
import { Client } from '../../../src/client/client.ts'
import { loadKubeconfig } from '../../../src/client/kubeconfig.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../../src/kube/object.ts'
import { silentLogger } from '../../../src/runtime/observability/log.ts'

/** A real `sojourn up` with objects for every view. */
export interface DashboardWorld extends AsyncDisposable {
  readonly url: string
  readonly client: Client
  readonly kubeconfig: string
  /** A link that signs in once. */
  link(): string
  /** By user, from the kubeconfig that `sojourn up` writes. */
  readonly tokens: ReadonlyMap<string, string>
  create(manifest: KubeObject): Promise<StoredObject>
}

export async function startDashboardWorld({ only = 'api,cleaner,collector,promoter' } = {}): Promise<DashboardWorld> {
  const data = mkdtempSync(join(tmpdir(), 'dashboard-'))
  const flags = { data, port: '0', 'proxy-port': '0', only, durable: false }
  const up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const kubeconfig = loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} })
  const network = networkTransport(kubeconfig, { userAgent: 'test' })
  const client = new Client(network.transport)
  return {
    url: up.api,
    kubeconfig: up.kubeconfig,
    link: () => up.dashboardLink(),
    client,
    tokens: tokensOf(readFileSync(join(data, 'pki/tokens.csv'), 'utf8')),
    async create({ status, ...manifest }) {
      const type = await client.discovery.typeOf(manifest)
      if (!type) throw new Error(`the server does not serve ${manifest.kind}`)
      const created = await client.create<StoredObject>(type, manifest)
      if (status === undefined) return created
      const { namespace, name } = created.metadata
      const place = placeOf({ name, namespace })
      return client.patch<StoredObject>(type, place, { type: 'merge', body: { status } }, { subresource: 'status' })
    },
    async [Symbol.asyncDispose]() {
      network.close()
      await up.stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

function tokensOf(csv: string): ReadonlyMap<string, string> {
  const lines = csv.split('\n').filter(Boolean)
  return new Map(lines.map((line) => line.split(',')).map(([token = '', user = '']) => [user, token]))
}

const meta = (name: string) => ({ name, namespace: 'team' })
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')

/** Objects of every kind in one namespace, hostile names included. */
export function dashboardObjects(): readonly KubeObject[] {
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'none' }] } }
  const deployment = (name: string, replicas: number): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...meta(name), annotations: { 'proxless/last-used': inHours(-0.02) } },
    spec: { replicas, selector: { matchLabels: labels }, template },
  })
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
    configMap('scratch', { note: 'keep me' }),
    configMap('app-dev', { revision: 'v1.4.0' }),
    configMap('app-prod', { revision: 'v1.3.2' }),
    cleaner('preview-142', '3h', 'nothing-yet'),
    cleaner('scratch-cleaner', '1s', 'scratch'),
    candidate('old-report'),
    deployment('shop', 2),
    deployment('docs', 0),
    service('shop', 'shop.example.test'),
    service('docs', 'docs.example.test'),
    pipeline(),
  ]
}

function said(type: string, status: string, reason: string, message: string) {
  return {
    type: `sojourn.dev/${type}`,
    status,
    reason,
    message,
    lastTransitionTime: inHours(-1),
  }
}

function like(name: string, annotations: Record<string, string>, conditions: readonly object[]): KubeObject {
  const { metadata, ...rest } = service(name, `${name}.example.test`)
  return {
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    status: { conditions },
  }
}

/** Services in the states that the activator writes: taken over, bypassed, in front of a StatefulSet, and misconfigured. */
export function servicesOfAllSorts(): readonly KubeObject[] {
  const labels = { app: 'ledger' }
  const taken = { 'proxless/deployment': 'shop', 'sojourn.dev/takeover': 'true' }
  const missing = like('mute', {}, [
    said(
      'OnDemand',
      'False',
      'InvalidAnnotation',
      'proxless/deployment: is missing: beside proxless/domains it has to name one',
    ),
  ])
  delete (missing.metadata.annotations as Record<string, string>)['proxless/deployment']
  const ledger = like('ledger', { 'sojourn.dev/target': 'StatefulSet/ledger' }, [])
  delete (ledger.metadata.annotations as Record<string, string>)['proxless/deployment']
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: meta('ledger'),
      spec: {
        replicas: 0,
        serviceName: 'ledger',
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'none' }] } },
      },
    },
    like('till', taken, [said('TakenOver', 'True', 'InFront', 'Its callers come through the proxy.')]),
    like('fast', taken, [said('TakenOver', 'True', 'Bypassed', 'Its callers go straight to its pods.')]),
    like('fresh', taken, []),
    ledger,
    missing,
  ]
}

/** Services that were not woken, or sleep and wake by more than requests. */
export function servicesWithStories(): readonly KubeObject[] {
  const labels = { app: 'story' }
  /** A Service whose Deployment has these annotations. */
  const before = (name: string, annotations: Record<string, string>, replicas: number): readonly KubeObject[] => [
    like(name, { 'proxless/deployment': name }, []),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { ...meta(name), annotations },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'none' }] } },
      },
    },
  ]
  return [
    ...before('given-way', { 'sojourn.dev/contended': 'argocd scaled it up' }, 1),
    ...before('kept-by-hand', { 'sojourn.dev/awake-until': '2099-01-01T00:00:00Z' }, 1),
    ...before('slept-by-hand', { 'sojourn.dev/asleep-until': '2099-01-01T00:00:00Z' }, 0),
    like('crashing', {}, [said('Wakeable', 'False', 'CrashLoopBackOff', 'Container web ended with exit code 3')]),
  ]
}

/** Three generations of ConfigMaps: of the grandchildren one is protected and one has another owner. */
export async function createFamily({ create }: Pick<DashboardWorld, 'create'>): Promise<void> {
  const ownedBy = (...owners: readonly StoredObject[]) => ({
    ownerReferences: owners.map(({ metadata }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: metadata.name,
      uid: metadata.uid,
    })),
  })
  const member = (name: string, metadata: object) =>
    create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...meta(name), ...metadata } })
  const root = await member('family', {})
  const outsider = await member('outsider', {})
  for (const name of ['web', 'jobs', 'cache']) {
    const child = await member(`family-${name}`, ownedBy(root))
    for (const part of ['settings', 'secrets-of-the-team-with-a-long-name', 'state'])
      await member(`${name}-${part}`, ownedBy(child))
    if (name === 'jobs') for (let index = 1; index <= 12; index++) await member(`job-${index}`, ownedBy(child))
    if (name === 'web') await member('web-shared', ownedBy(child, outsider))
    if (name === 'web') await member('web-kept', { ...ownedBy(child), labels: { 'sojourn.dev/keep': 'true' } })
  }
}

function configMap(name: string, data: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(name), data }
}

function cleaner(name: string, ttl: string, target: string): KubeObject {
  const reference = { kind: 'ConfigMap', apiVersion: 'v1', name: target }
  const targets = [{ name: 'target', delete: true, includeWhenEvaluating: false, reference }]
  return {
    apiVersion: 'cleaner.vtex.dev/v1alpha',
    kind: 'Cleaner',
    metadata: meta(name),
    spec: { ttl, retry: { period: '1m' }, targets, conditions: ['true'] },
  }
}

function candidate(name: string): KubeObject {
  const resource = { provider: 'kubernetes', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name, uid: 'u-1' }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupCandidate',
    metadata: { name: `candidate-${name}` },
    spec: { policy: 'unused-config', location: 'here', resource },
    status: {
      phase: 'Notified',
      owner: { address: 'shop-team@example.test', source: 'annotation' },
      summaries: [{ rule: 'unused', description: 'no pod has used it for 30 days <img src=x onerror=alert(1)>' }],
      markedAt: inHours(-30),
      projectedDeletionTime: inHours(40),
      notices: [{ kind: 'notice', channel: 'mail', at: inHours(-24) }],
    },
  }
}

function service(name: string, domain: string): KubeObject {
  const annotations = { 'proxless/deployment': name, 'proxless/domains': domain }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...meta(name), annotations },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  }
}

/** The application of each environment is a ConfigMap: its data says the revision. */
function pipeline(): KubeObject {
  const app = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name })
  const environment = (name: string) => ({
    name,
    appRef: app(`app-${name}`),
    targets: [{ namespace: 'team' }],
  })
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: meta('shop'),
    spec: {
      appRef: app('app-dev'),
      environments: [environment('dev'), environment('prod')],
      settle: { quietPeriod: '0s' },
      promotion: { manual: true, strategy: { notification: {} } },
      adapter: { healthy: 'true', revision: 'self.data.revision' },
    },
  }
}

/** Three environments as their controller reports them: one announced, one awake, one asleep with a hostile address. */
export function environmentObjects(): readonly KubeObject[] {
  const of = (name: string, spec: object, status: object): readonly KubeObject[] => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Environment',
      metadata: { name, namespace: name },
      spec: { className: 'preview', ...spec },
      status,
    },
  ]
  const pullRequest = (number: number, state: string) => ({
    url: `https://forge.example.test/shop/pull/${number}`,
    state,
  })
  return [
    ...of(
      'shop-pr-42',
      {},
      {
        phase: 'Awake',
        power: 'Awake',
        owner: 'ada@example.org',
        urls: ['https://pr-42.shop.test'],
        pullRequest: pullRequest(42, 'open'),
        lastUsedAt: inHours(-0.05),
        message: `will be deleted on ${inHours(120)} unless it is used before; last use ${inHours(-0.05)} (Traffic)`,
        sleepsAt: inHours(0.45),
        deletesAt: inHours(120),
        timeline: [
          { at: inHours(-100), power: 'Asleep' },
          { at: inHours(-76), power: 'Awake' },
          { at: inHours(-64), power: 'Asleep' },
          { at: inHours(-3), power: 'Awake' },
        ],
      },
    ),
    ...of(
      'shop-pr-7',
      {},
      {
        phase: 'Asleep',
        power: 'Asleep',
        owner: '<img src=x onerror=alert(1)>',
        urls: ['javascript:alert(1)'],
        message: `will be deleted on ${inHours(70)} unless it is used before; last use ${inHours(-50)} (Traffic)`,
        lastUsedAt: inHours(-50),
        deletesAt: inHours(70),
      },
    ),
    ...of(
      'shop-pr-17',
      {},
      {
        phase: 'Announced',
        power: 'Asleep',
        owner: 'bob@example.org',
        urls: ['https://pr-17.shop.test'],
        pullRequest: pullRequest(17, 'closed'),
        message: 'Deleted in 21 h: not used for 6 days. bob@example.org was told.',
        lastUsedAt: inHours(-144),
        deletesAt: inHours(21),
      },
    ),
  ]
}
