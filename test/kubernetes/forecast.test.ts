import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { forecast } from '../../src/app/forecast/forecast.ts'
import { installManifests } from '../../src/app/install/install.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { describeRef } from '../../src/kube/object.ts'
import { run as runTool } from './kubectl.ts'

const missing = await whyUnavailable('kube-apiserver', 'etcd', 'kubectl')
if (missing) console.warn(`SKIPPED: forecasts of a real cluster: ${missing}`)

describe.skipIf(missing)('a forecast of a real cluster', () => {
  let cluster: ReferenceCluster
  let at = 0

  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    const manifests = installManifests({
      roles: ['cleaner'],
      image: 'none',
      replicas: 1,
      dryRun: false,
      separateRoles: true,
    })
    await apply(...manifests.filter(({ kind }) => kind === 'CustomResourceDefinition'))
    await vi.waitFor(() => kubectl('get', 'cleaners', '-A'), { timeout: 20_000, interval: 200 })
    const target = { name: 'it', delete: true, reference: { version: 'v1', kind: 'ConfigMap', name: 'old' } }
    await apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'default' } },
      {
        apiVersion: cleaner.apiVersion,
        kind: cleaner.kind,
        metadata: { name: 'preview', namespace: 'default' },
        spec: { ttl: '50h', targets: [target] },
      },
    )
  }, 900_000)
  afterAll(() => cluster?.stop())

  const kubectl = (...args: readonly string[]) => runTool('kubectl', args, cluster)

  async function apply(...manifests: readonly object[]): Promise<void> {
    const file = join(dirname(cluster.kubeconfig), `apply-${at++}.yaml`)
    writeFileSync(file, manifests.map((manifest) => `---\n${stringify(manifest)}`).join(''))
    await kubectl('apply', '--server-side', '-f', file)
  }

  /** What somebody with these rights, and no others, is told; and what was asked of the cluster for it. */
  async function foretoldTo(name: string, rules: readonly object[]) {
    const meta = { name, namespace: 'default' }
    await apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', ...meta }],
      },
    )
    const access = loadKubeconfig([cluster.kubeconfig], { now: () => Date.now(), env: {} })
    const token = await kubectl('create', 'token', name)
    const network = networkTransport({ ...access, credentials: () => Promise.resolve({ token }) })
    const asked: string[] = []
    const client = new Client((request) => {
      asked.push(`${request.method}${request.query?.watch ? ' watch' : ''}`)
      return network.transport(request)
    })
    const config = readConfig({ flags: {}, env: {} })
    const said = await forecast(client, { config, now: Date.now(), forMs: 5 * 86_400_000 })
    network.close()
    return { said, asked }
  }

  it('needs no more than to get and list, and asks for no more', async () => {
    const readAll = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }]
    const { said, asked } = await foretoldTo('reader', readAll)
    expect(new Set(asked)).toEqual(new Set(['GET']))
    expect(said.unread).toEqual([])
    expect(said.events.map(({ what, object }) => `${what} ${describeRef(object)}`)).toEqual([
      'leaves Cleaner/default/preview',
      'leaves ConfigMap/default/old',
    ])
  }, 120_000)

  it('says what it was not let see', async () => {
    const some = [{ apiGroups: ['', cleaner.group], resources: ['configmaps', 'cleaners'], verbs: ['get', 'list'] }]
    const { said } = await foretoldTo('half-blind', some)
    expect(said.unread).toContainEqual(expect.stringContaining('secrets: '))
    expect(said.events.map(({ what }) => what)).toEqual(['leaves', 'leaves'])
  }, 120_000)
})
