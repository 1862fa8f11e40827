import { execFile } from 'node:child_process'
import { request } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureTool, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { clusterRoles, nameOf, type ClusterRole } from '../../src/app/install/rbac.ts'
import { startDashboard } from '../../src/app/dashboard/cluster-dashboard.ts'
import { startRun } from '../../src/app/cluster/run.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { whenEstablished } from '../kubernetes/kubectl.ts'
import { startAuditedCluster, type AuditedCluster } from './audited-cluster.ts'
import { activatorCase } from './cases/activator.ts'
import { configMap, namespace, World, type Case, type Stage } from './cases/case.ts'
import { cleanerCase } from './cases/cleaner.ts'
import { collectorCase } from './cases/collector.ts'
import { environmentsCase } from './cases/environments.ts'
import { janitorCase } from './cases/janitor.ts'
import { promoterCase } from './cases/promoter.ts'
import { beyondCases } from './beyond-cases.ts'
import { refusedOf, rightsOf, unusedOf } from './rights.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'helm')
if (missing) console.warn(`SKIPPED: that no role may more than it needs was NOT shown: ${missing}`)

const cases: Readonly<Record<ClusterRole, Case>> = {
  cleaner: cleanerCase,
  collector: collectorCase,
  janitor: janitorCase,
  environments: environmentsCase,
  promoter: promoterCase,
  activator: activatorCase,
}
const home = 'sojourn-system'
const workload = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'access-dashboard' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
  },
}
const chart = join(import.meta.dirname, '../../deploy/chart')

describe.skipIf(missing)('on a real kube-apiserver, with all that the chart can grant', { timeout: 300_000 }, () => {
  let cluster: AuditedCluster
  let world: World
  let close: () => void

  beforeAll(async () => {
    cluster = await startAuditedCluster()
    const network = networkTransport(reach(cluster.token), { userAgent: 'administrator' })
    close = () => network.close()
    world = new World(new Client(network.transport), cluster.token)
    const options = [
      '-n',
      home,
      '--create-namespace',
      '--set',
      'proxy.tls.enabled=true,separateRoles=true,dashboard.enabled=true',
      '--kubeconfig',
      cluster.kubeconfig,
    ]
    await promisify(execFile)(await ensureTool('helm'), ['install', 'sojourn', chart, ...options])
    await whenEstablished(cluster)
  }, 900_000)
  afterAll(async () => {
    close?.()
    await cluster?.stop()
  })

  function reach(token: string) {
    const { url: server, ca } = cluster
    return { server, ca, namespace: 'default', credentials: () => Promise.resolve({ token }) }
  }

  it.each(clusterRoles)('the %s needs everything it may, and may everything it needs', async (role) => {
    const account = nameOf(role)
    const { stages, targets = [] } = cases[role]
    // The breaker that another one opened is everybody's.
    await world.remove(configMap(home, 'sojourn-door'))
    await grantTargets(account, targets)
    const token = await tokenOf(account)
    const rights = await rightsOf(world.client, account)
    const unused = () =>
      unusedOf(rights, cluster.asked(account), home).filter((right) => !(right in (beyondCases[role] ?? {})))
    for (const stage of stages) await play(role, { stage, token, unused })
    expect({ refused: refused(role), unused: unused() }).toEqual({ refused: [], unused: [] })
  })

  it('the proxy needs everything it may, and may everything it needs', async () => {
    const rights = await rightsOf(world.client, 'sojourn-proxy')
    const unused = () => unusedOf(rights, cluster.asked('sojourn-proxy'), home)
    const begin = async (account: string, part: string) => {
      const flags = { port: '0', 'proxy-port': '0', 'peer-port': '0', only: 'activator', 'proxy-address': '127.0.0.1' }
      const parts = { ...flags, 'activator-part': part, 'proxy-tls-port': '0', compatibility: 'kube-green' }
      return startRun(readConfig({ flags: parts, env: {} }), reach(await tokenOf(account)), { log: silentLogger })
    }
    const running = [await begin('sojourn-activator', 'scaler'), await begin('sojourn-proxy', 'proxy')]
    try {
      const proxy = running[1]?.proxy ?? expect.fail('no proxy')
      await world.until(() => world.ask(proxy, 'GET', '/', undefined, { host: 'statefulset.example.com' }))
      await world.until(() => world.ask(running[1]?.url ?? '', 'GET', '/metrics'))
      await world.until(() => Promise.resolve(unused().length === 0)).catch(() => {})
      expect({ refused: refusedOf(cluster.asked('sojourn-proxy')), unused: unused() }).toEqual({
        refused: [],
        unused: [],
      })
    } finally {
      for (const each of running) await each.stop()
    }
  })

  it('the dashboard needs everything it may, and may everything it needs', async () => {
    const account = 'sojourn-dashboard'
    const rights = await rightsOf(world.client, account)
    const unused = () => unusedOf(rights, cluster.asked(account), home)
    await world.create(namespace('access-dashboard'), workload)
    // A user who may not list namespaces, and changes one workload twice.
    const user = { kind: 'ServiceAccount', name: 'user', namespace: 'access-dashboard' }
    await world.create({ apiVersion: 'v1', kind: user.kind, metadata: { name: user.name, namespace: user.namespace } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', roleRef, subjects: [user] }
    await world.create({ ...binding, metadata: { name: 'user', namespace: user.namespace } })
    const flags = { port: '0', only: 'dashboard' }
    const running = await startDashboard(readConfig({ flags, env: {} }), reach(await tokenOf(account)), {
      log: silentLogger,
    })
    try {
      const { call, session } = await signedIn(running.url, await tokenOf(user.name, user.namespace))
      await call('GET', '/sojourn/v1alpha1/namespaces', session)
      for (const replicas of [0, 1, 0])
        await call('PATCH', `/act/apis/apps/v1/namespaces/${user.namespace}/deployments/web`, session, {
          metadata: { annotations: { 'sojourn.dev/awake': 'always' } },
          spec: { replicas },
        })
      await world.until(() => Promise.resolve(unused().length === 0)).catch(() => {})
      expect({ refused: refusedOf(cluster.asked(account)), unused: unused() }).toEqual({ refused: [], unused: [] })
    } finally {
      await running.stop()
    }
  })

  /** Runs the program until it has done what the stage is for, or for as long as that may take. */
  async function play(
    role: ClusterRole,
    {
      stage,
      token,
      unused,
    }: { readonly stage: Stage; readonly token: string; readonly unused: () => readonly string[] },
  ): Promise<void> {
    await stage.given?.(world)
    const flags = { port: '0', 'proxy-port': '0', only: role, ...stage.flags }
    const running = await startRun(readConfig({ flags, env: stage.env ?? {} }), reach(token), { log: silentLogger })
    try {
      await world.until(() => world.ask(running.url, 'GET', '/metrics'))
      await stage.act?.(world, { ...running, unused })
      const isDone = () => {
        const left = unused()
        return stage.until ? !stage.until.some((right) => left.some((each) => right.test(each))) : left.length === 0
      }
      await world.until(() => Promise.resolve(isDone()))
    } finally {
      await running.stop()
    }
  }

  /** The collector looks at every kind there is; which ones it may see is the administrator's choice. */
  function refused(role: ClusterRole): readonly string[] {
    const lines = refusedOf(cluster.asked(nameOf(role)))
    return role === 'collector' ? lines.filter((line) => !/ (list|watch)$/.test(line)) : lines
  }

  async function grantTargets(account: string, rules: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    const name = `access-${account}-targets`
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await world.create({ apiVersion, kind: 'ClusterRole', metadata: { name }, rules })
    await world.create({
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: home }],
    })
  }

  async function tokenOf(account: string, of: string = home): Promise<string> {
    const { body } = await world.client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${of}/serviceaccounts/${account}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    return (body as { status: { token: string } }).status.token
  }
})

/** A session of the dashboard, as a page holds it. */
async function signedIn(url: string, token: string) {
  const call = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: object) =>
    new Promise<{ cookies: readonly string[]; text: string }>((resolve, reject) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const options = { method, headers: { 'content-type': type, ...headers }, rejectUnauthorized: false }
      const sent = request(new URL(path, url), options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => {
          if (response.statusCode === 200) resolve({ cookies: response.headers['set-cookie'] ?? [], text })
          else reject(new Error(`${method} ${path} was answered ${response.statusCode}: ${text}`))
        })
      })
      sent.on('error', reject)
      sent.end(body && JSON.stringify(body))
    })
  const { cookies, text } = await call('POST', '/auth/token', { 'sec-fetch-site': 'same-origin' }, { token })
  const cookie = cookies.map((each) => each.split(';')[0] ?? '').filter((each) => !each.endsWith('='))
  const { secret } = JSON.parse(text) as { readonly secret: string }
  const session = { cookie: cookie.join('; '), 'x-sojourn-session': secret, 'sec-fetch-site': 'same-origin' }
  return { call, session }
}
