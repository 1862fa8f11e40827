import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { openMemoryStore } from '../store/sqlite-store.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { aggregatedRules } from './role-aggregation.ts'

describe("the server's own controllers", () => {
  let server: TestServer
  beforeEach(async () => {
    server = await startTestServer({ clock: systemClock })
  })
  afterEach(() => server.close())

  const send = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    server.transport({
      method,
      path,
      ...(body ? { body } : {}),
      headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    })
  const status = async (path: string) => (await send('GET', path)).status
  const object = async (path: string) => (await send('GET', path)).body as KubeObject & Record<string, unknown>
  const namespace = (name: string) =>
    send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  const configMap = (name: string, finalizers: string[] = []) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, finalizers },
  })

  it('create the defaults of every namespace, including those of the first start', async () => {
    await namespace('fresh')
    for (const name of ['default', 'kube-system', 'fresh']) {
      await expect.poll(() => status(`/api/v1/namespaces/${name}/serviceaccounts/default`)).toBe(200)
      await expect.poll(() => status(`/api/v1/namespaces/${name}/configmaps/kube-root-ca.crt`)).toBe(200)
    }
  })

  it('restore defaults that were deleted or changed', async () => {
    const path = '/api/v1/namespaces/default/configmaps/kube-root-ca.crt'
    await expect.poll(() => status(path)).toBe(200)
    await send('PATCH', path, { data: { 'ca.crt': 'forged' } })
    await expect.poll(async () => (await object(path))['data']).toEqual({ 'ca.crt': server.credentials.authority })
    await send('DELETE', '/api/v1/namespaces/default/serviceaccounts/default')
    await expect.poll(() => status('/api/v1/namespaces/default/serviceaccounts/default')).toBe(200)
  })

  it('publish how clients are authenticated', async () => {
    const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    await expect.poll(() => status(path)).toBe(200)
    expect((await object(path))['data']).toEqual({ 'client-ca-file': server.credentials.authority })
  })

  it('fill token Secrets, also of a ServiceAccount that is created later', async () => {
    const secrets = '/api/v1/namespaces/default/secrets'
    const annotations = { 'kubernetes.io/service-account.name': 'robot' }
    const type = 'kubernetes.io/service-account-token'
    await send('POST', secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token', annotations }, type })
    await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
    const data = async () => ((await object(`${secrets}/token`))['data'] ?? {}) as Record<string, string>
    await expect.poll(async () => Object.keys(await data()).toSorted()).toEqual(['ca.crt', 'namespace', 'token'])
    const token = Buffer.from((await data())['token'] ?? '', 'base64').toString()
    expect(server.userOfToken(token)?.name).toBe('system:serviceaccount:default:robot')
    await send('DELETE', `${secrets}/token`)
    expect(server.userOfToken(token)).toBeUndefined()
  })

  it('publish the address of the server as the Service default/kubernetes, and restore it', async () => {
    const { port } = await server.listen({ port: 0 })
    const path = '/api/v1/namespaces/default/services/kubernetes'
    const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes'
    expect((await object(path)).spec).toMatchObject({
      clusterIP: '10.96.0.1',
      ports: [{ port: 443, targetPort: port }],
    })
    expect(await object(slice)).toMatchObject({ endpoints: [{ addresses: ['127.0.0.1'] }], ports: [{ port }] })
    await send('DELETE', path)
    await expect.poll(() => status(path)).toBe(200)
    await send('PATCH', slice, { ports: [{ name: 'https', port: 1 }] })
    await expect.poll(() => object(slice)).toMatchObject({ ports: [{ port }] })
  })

  it('delete Pods before the rest of a terminating namespace, and say what remains', async () => {
    await namespace('going')
    const container = { name: 'c', image: 'none' }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', finalizers: ['ex.io/hold'] } }
    await send('POST', '/api/v1/namespaces/going/pods', { ...pod, spec: { containers: [container] } })
    await send('POST', '/api/v1/namespaces/going/configmaps', configMap('a'))
    await send('DELETE', '/api/v1/namespaces/going')
    await expect
      .poll(async () => (await object('/api/v1/namespaces/going')).status)
      .toMatchObject({
        conditions: [
          { type: 'NamespaceDeletionDiscoveryFailure', status: 'False' },
          { type: 'NamespaceDeletionGroupVersionParsingFailure', status: 'False' },
          { type: 'NamespaceDeletionContentFailure', status: 'True' },
          { type: 'NamespaceContentRemaining', status: 'True' },
          { status: 'True', message: expect.stringContaining('ex.io/hold in 1 resource instances') as string },
        ],
      })
    expect(await status('/api/v1/namespaces/going/configmaps/a')).toBe(200)
    await send('PATCH', '/api/v1/namespaces/going/pods/p', { metadata: { finalizers: null } })
    await expect.poll(() => status('/api/v1/namespaces/going')).toBe(404)
  })

  it('empty a terminating namespace, whatever kinds are in it', async () => {
    await namespace('going')
    await send('POST', '/api/v1/namespaces/going/configmaps', configMap('a'))
    await send('POST', '/apis/coordination.k8s.io/v1/namespaces/going/leases', {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l' },
    })
    await send('DELETE', '/api/v1/namespaces/going')
    await expect.poll(() => status('/api/v1/namespaces/going')).toBe(404)
    expect(server.store.count({ resource: 'configmaps', namespace: 'going' })).toBe(0)
    expect(server.store.count({ resource: 'leases.coordination.k8s.io', namespace: 'going' })).toBe(0)
  })

  it('hold a namespace as long as something in it is held, and say so', async () => {
    await namespace('held')
    await send('POST', '/api/v1/namespaces/held/configmaps', configMap('h', ['example.com/hold']))
    await send('DELETE', '/api/v1/namespaces/held')
    const message = async () =>
      (
        (await object('/api/v1/namespaces/held')).status as { conditions?: { type: string; message: string }[] }
      ).conditions?.find(({ type }) => type === 'NamespaceContentRemaining')?.message
    await expect.poll(message).toBe('Some resources are remaining: configmaps has 1 resource instances')
    await send('PATCH', '/api/v1/namespaces/held/configmaps/h', { metadata: { finalizers: null } })
    await expect.poll(() => status('/api/v1/namespaces/held')).toBe(404)
  })

  it('do not touch other namespaces', async () => {
    await namespace('one')
    await namespace('two')
    await send('POST', '/api/v1/namespaces/two/configmaps', configMap('kept'))
    await send('DELETE', '/api/v1/namespaces/one')
    await expect.poll(() => status('/api/v1/namespaces/one')).toBe(404)
    expect(await status('/api/v1/namespaces/two/configmaps/kept')).toBe(200)
  })

  it('gather rules into aggregated roles, and take them out again', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    const rules = async (name: string) => JSON.stringify((await object(`${roles}/${name}`))['rules'])
    await expect.poll(() => rules('view')).toContain('configmaps')
    await expect.poll(() => rules('admin')).toContain('rolebindings')
    expect(await rules('view')).not.toContain('secrets')
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    await send('POST', roles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'extra', labels },
      rules: [{ apiGroups: ['x'], resources: ['extras'], verbs: ['get'] }],
    })
    await expect.poll(() => rules('admin')).toContain('extras')
    await send('DELETE', `${roles}/extra`)
    await expect.poll(() => rules('admin')).not.toContain('extras')
  })
})

describe('the viewer', () => {
  it('reads what CRDs add while they are there, and never Secrets', async () => {
    await using server = await startTestServer({ clock: systemClock })
    const viewer = server.transportAs({ name: 'v', groups: ['sojourn:viewers', 'system:authenticated'] })
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const path = '/apis/seen.example/v1/namespaces/default/things'
    const status = async (at: string) => (await viewer({ method: 'GET', path: at })).status
    expect(await status(path)).toBe(403)
    await server.transport({
      method: 'POST',
      path: definitions,
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'things.seen.example' },
        spec: {
          group: 'seen.example',
          scope: 'Namespaced',
          names: { plural: 'things', kind: 'Thing' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        },
      },
    })
    await expect.poll(() => status(path)).toBe(200)
    expect(await status('/apis/apiregistration.k8s.io/v1/apiservices')).toBe(200)
    expect(await status('/api/v1/secrets')).toBe(403)
    expect((await viewer({ method: 'POST', path, body: {} })).status).toBe(403)
    await server.transport({ method: 'DELETE', path: `${definitions}/things.seen.example` })
    await expect.poll(() => status(path)).toBe(403)
  })
})

describe('a restarted server', () => {
  it('resumes terminating namespaces, and restores missing roles', async () => {
    const store = openMemoryStore(systemClock)
    const first = await startTestServer({ clock: systemClock, store, controllers: false })
    const send = (server: TestServer, method: 'POST' | 'DELETE' | 'GET', path: string, body?: object) =>
      server.transport({ method, path, ...(body ? { body } : {}) })
    await send(first, 'POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'going' },
    })
    await send(first, 'DELETE', '/api/v1/namespaces/going')
    await send(first, 'DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterroles/view')
    // Not closed before: that would close the store too, which a restart keeps.
    const second = await startTestServer({ clock: systemClock, store })
    await expect.poll(async () => (await send(second, 'GET', '/api/v1/namespaces/going')).status).toBe(404)
    expect((await send(second, 'GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/view')).status).toBe(200)
    await second.close()
    await first.close()
  })
})

describe('aggregatedRules', () => {
  const role = (name: string, label: string, verb: string): KubeObject => ({
    apiVersion: '',
    kind: 'ClusterRole',
    metadata: { name, labels: { [label]: 'true' } },
    rules: [{ verbs: [verb] }],
  })

  it('takes each rule once, in order of the roles, and none of its own', () => {
    const all: KubeObject = {
      ...role('all', 'a', 'own'),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'true' } }] },
    }
    const roles = [role('z', 'a', 'get'), role('m', 'a', 'list'), role('n', 'a', 'get'), role('x', 'b', 'delete'), all]
    expect(aggregatedRules(all, roles)).toEqual([{ verbs: ['list'] }, { verbs: ['get'] }])
  })

  it('selects nothing without selectors', () => {
    const all: KubeObject = { ...role('all', 'a', 'own'), aggregationRule: {} }
    expect(aggregatedRules(all, [role('z', 'a', 'get')])).toEqual([])
  })
})
