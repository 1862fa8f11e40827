import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tenantManifests } from '../../src/app/install/rbac.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { configMaps, secrets } from '../../src/kube/core-types.ts'
import { run } from '../kubernetes/kubectl.ts'
import { cleaner, configMap, refTo, refToCleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'
const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete']

const real = worlds.filter(({ name }) => name === 'kube-apiserver')
it.skipIf(real.length === 0)('has a kube-apiserver', () => {})

describe.each(real)('constrained impersonation: $name', ({ start }) => {
  let world: TenantWorld
  let asStrong: Client
  const closing: (() => void)[] = []
  beforeAll(async () => {
    world = await start()
    const granted = tenantManifests('a', [{ apiGroups: [''], resources: ['configmaps'], verbs }])
    for (const manifest of granted) await world.create('administrator', manifest)
    const metadata = { name: 'strong', namespace: 'a' }
    await world.create('administrator', { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'strong' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    })
    const config = loadKubeconfig([world.kubeconfig], { now: () => Date.now(), env: {} })
    // The promoter's account: the others have every right on every target in this world.
    const words = ['create', 'token', 'sojourn-promoter', '-n', 'sojourn-system']
    const token = (await run('kubectl', words, { kubeconfig: world.kubeconfig })).trim()
    const network = networkTransport({ ...config, credentials: () => Promise.resolve({ token }) })
    closing.push(() => network.close())
    asStrong = new Client(network.transport).impersonating('system:serviceaccount:a:strong')
  })
  afterAll(async () => {
    for (const close of closing) close()
    await world?.[Symbol.asyncDispose]()
  })

  it('lets a Cleaner act as an account of its namespace', async () => {
    await world.create('tenant', configMap('a', 'by-account'))
    await world.create(
      'tenant',
      cleaner('a', 'by-account', { deletes: ['by-account'], spec: { serviceAccountName: 'strong' } }),
    )
    await world.gone(refTo('a', 'by-account'))
    await world.gone(refToCleaner('a', 'by-account'))
  })

  it('39: reaches neither another namespace nor another kind, though the account is a cluster administrator', async () => {
    await until(async () => (await asStrong.list(configMaps, { namespace: 'a' }).catch(() => undefined)) && true)
    await expect(asStrong.list(configMaps, { namespace: 'b' })).rejects.toThrow('orbidden')
    await expect(asStrong.list(secrets, { namespace: 'a' })).rejects.toThrow('orbidden')
  })
})
