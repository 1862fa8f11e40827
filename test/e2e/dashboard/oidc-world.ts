import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Provider } from 'oidc-provider'
import { stringify } from 'yaml'
import { startReferenceCluster } from '../../../scripts/reference-cluster/reference-cluster.ts'
import { dashboardSecret, emptySecret } from '../../../src/admission/webhook-configuration.ts'
import { allKinds } from '../../../src/apis/all-kinds.ts'
import { sojournNamespace } from '../../../src/apis/group.ts'
import { issueCertificate } from '../../../src/apiserver/auth/certificates/certificate.ts'
import { startDashboard } from '../../../src/app/dashboard/cluster-dashboard.ts'
import { readConfig } from '../../../src/app/config/config.ts'
import { peopleManifests, rbacFor } from '../../../src/app/install/rbac.ts'
import type { ClusterConfig } from '../../../src/client/cluster-config.ts'
import { silentLogger } from '../../../src/runtime/observability/log.ts'
import { attempt, whenEstablished } from '../../kubernetes/kubectl.ts'

/** Ada may edit namespace a, Bob may view namespace b; Mallory's group is one that Kubernetes reserves. */
export const users: Readonly<Record<string, readonly string[]>> = {
  'ada@example.org': ['team-a'],
  'bob@example.org': ['team-b'],
  'mallory@example.org': ['system:masters'],
}

/** A provider, a cluster that trusts it, and the dashboard with the account that an installation gives it. */
export async function startOidcWorld() {
  await using opened = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'sojourn-oidc-'))
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  const provider = await startProvider(folder)
  opened.defer(provider.close)
  const cluster = opened.use(
    await startReferenceCluster({
      durable: false,
      apiServer: {
        flags: [
          `--oidc-issuer-url=${provider.issuer}`,
          '--oidc-client-id=sojourn',
          '--oidc-username-claim=email',
          '--oidc-groups-claim=groups',
          `--oidc-ca-file=${provider.caFile}`,
        ],
      },
      controllerManager: { controllers: ['clusterrole-aggregation-controller'] },
    }),
  )
  const kubectl = async (args: readonly string[], input?: unknown) => {
    const said = await attempt('kubectl', args, { kubeconfig: cluster.kubeconfig, input })
    if (said.code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${said.stderr}`)
    return said.stdout.trim()
  }
  const apply = (objects: readonly object[]) =>
    kubectl(['apply', '--server-side', '-f', '-'], objects.map((object) => `---\n${stringify(object)}`).join(''))
  await apply([
    ...[sojournNamespace, 'a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...allKinds.map(({ crd }) => crd),
  ])
  await whenEstablished(cluster)
  await apply([
    ...rbacFor(['dashboard'], { options: ['impersonate'] }),
    ...peopleManifests(),
    emptySecret(dashboardSecret),
    binding('a', 'edit', 'team-a'),
    binding('b', 'view', 'team-b'),
    environmentIn('a'),
    environmentIn('b'),
    ...['a', 'b'].flatMap(onDemandIn),
  ])
  const account = await kubectl(['create', 'token', 'sojourn-dashboard', '-n', sojournNamespace])
  const place: ClusterConfig = {
    server: cluster.url,
    ca: cluster.ca,
    namespace: sojournNamespace,
    credentials: () => Promise.resolve({ token: account }),
  }
  /** Starts a dashboard; the provider sends users back to it alone. */
  const start = async (flags: Readonly<Record<string, string | boolean>> = {}) => {
    const port = String(provider.ports.shift() ?? 0)
    const oidc = {
      'public-url': `https://localhost:${port}`,
      'oidc-issuer': provider.issuer,
      'oidc-client-id': 'sojourn',
      'oidc-client-secret-file': provider.secretFile,
      'oidc-ca-file': provider.caFile,
    }
    const config = readConfig({ flags: { only: 'dashboard', port, ...oidc, ...flags }, env: {} })
    const dashboard = await startDashboard(config, place, { log: silentLogger })
    return { ...dashboard, publicUrl: `https://localhost:${port}` }
  }
  const stack = opened.move()
  return { kubectl, start, kubeconfig: cluster.kubeconfig, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

function binding(namespace: string, role: string, group: string) {
  const rbac = 'rbac.authorization.k8s.io'
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: group, namespace },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'Group', apiGroup: rbac, name: group }],
  }
}

function environmentIn(namespace: string) {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Environment',
    metadata: { name: 'environment', namespace },
    spec: { className: 'preview', owner: `${namespace}@example.org` },
  }
}

/** A Service on demand, with the last day that the activator notes on its Deployment. */
function onDemandIn(namespace: string) {
  const step = Math.floor(Date.now() / 1_800_000)
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'none' }] } }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', namespace, annotations: { 'sojourn.dev/last-day': `${step - 1}:40/2/1800` } },
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace, annotations: { 'proxless/deployment': 'shop' } },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  ]
}

/** `oidc-provider`, a certified one, with its own login form: any password does. */
async function startProvider(folder: string) {
  const now = Date.now()
  const authority = issueCertificate({ commonName: 'ca', usage: 'authority', now, days: 1, serial: randomBytes(16) })
  const hosts = ['localhost', '127.0.0.1']
  const { certificate, key } = issueCertificate(
    { commonName: 'provider', hosts, usage: 'server', now, days: 1, serial: randomBytes(16) },
    authority.issuer,
  )
  const [caFile, secretFile, secret] = [join(folder, 'ca.crt'), join(folder, 'secret'), randomBytes(24).toString('hex')]
  writeFileSync(caFile, authority.certificate)
  writeFileSync(secretFile, `${secret}\n`)
  const ports = await freePorts(4)
  const [own = 0, ...rest] = ports
  const issuer = `https://localhost:${own}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'sojourn',
        client_secret: secret,
        redirect_uris: rest.map((port) => `https://localhost:${port}/auth/callback`),
        post_logout_redirect_uris: rest.map((port) => `https://localhost:${port}/`),
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'offline_access', 'email', 'groups'],
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    ttl: { IdToken: 60 * 60 },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true, groups: [...(users[id] ?? [])] }),
    }),
  })
  const answer = provider.callback()
  const server = createServer({ cert: certificate, key }, (request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { issuer, caFile, secretFile, ports: rest, close }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as AddressInfo).port)
  }
  for (const server of servers) server.close()
  return ports
}
