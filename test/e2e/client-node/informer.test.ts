import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
} from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../apiserver/test-server.ts'
import { systemClock } from '../../../src/runtime/time/clock.ts'

describe('@kubernetes/client-node', () => {
  let server: TestServer
  let config: KubeConfig
  let core: CoreV1Api
  beforeAll(async () => {
    server = await startTestServer({ clock: systemClock })
    const { url } = await server.listen({ port: 0 })
    config = new KubeConfig()
    config.loadFromString(server.kubeconfig(url))
    core = config.makeApiClient(CoreV1Api)
  })
  afterAll(() => server.close())

  const configMap = (name: string, value = '1'): V1ConfigMap => ({ metadata: { name }, data: { value } })

  it('creates, reads, lists, replaces, patches and deletes', async () => {
    const namespace = 'default'
    await core.createNamespacedConfigMap({ namespace, body: configMap('crud') })
    const read = await core.readNamespacedConfigMap({ namespace, name: 'crud' })
    expect(read.data).toEqual({ value: '1' })
    await core.replaceNamespacedConfigMap({
      namespace,
      name: 'crud',
      body: Object.assign({}, read, { data: { value: '2' } }),
    })
    await expect(core.replaceNamespacedConfigMap({ namespace, name: 'crud', body: read })).rejects.toMatchObject({
      code: 409,
    })
    const patched = await core.patchNamespacedConfigMap(
      { namespace, name: 'crud', body: { data: { more: '3' } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )
    expect(patched.data).toEqual({ value: '2', more: '3' })
    expect((await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=crud' })).items).toHaveLength(
      1,
    )
    await core.deleteNamespacedConfigMap({ namespace, name: 'crud' })
    await expect(core.readNamespacedConfigMap({ namespace, name: 'crud' })).rejects.toMatchObject({ code: 404 })
  })

  it('tells dates and numbers as their types', async () => {
    const apps = config.makeApiClient(AppsV1Api)
    const created = await apps.createNamespacedDeployment({
      namespace: 'default',
      body: {
        metadata: { name: 'typed' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    })
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date)
    const scale = await apps.readNamespacedDeploymentScale({ namespace: 'default', name: 'typed' })
    expect(scale.spec?.replicas).toBe(2)
  })

  it('keeps an informer up to date', async () => {
    const list = () => core.listNamespacedConfigMap({ namespace: 'kube-public' })
    const informer = makeInformer(config, '/api/v1/namespaces/kube-public/configmaps', list)
    const seen: string[] = []
    for (const verb of ['add', 'update', 'delete'] as const) {
      informer.on(
        verb,
        (object: V1ConfigMap) => void seen.push(`${verb} ${object.metadata?.name} ${object.data?.['value']}`),
      )
    }
    await core.createNamespacedConfigMap({ namespace: 'kube-public', body: configMap('early') })
    await informer.start()
    await core.createNamespacedConfigMap({ namespace: 'kube-public', body: configMap('late') })
    const late = await core.readNamespacedConfigMap({ namespace: 'kube-public', name: 'late' })
    await core.replaceNamespacedConfigMap({
      namespace: 'kube-public',
      name: 'late',
      body: Object.assign({}, late, { data: { value: '2' } }),
    })
    await core.deleteNamespacedConfigMap({ namespace: 'kube-public', name: 'late' })
    await expect.poll(() => seen).toContain('delete late 2')
    await informer.stop()
    expect(seen.filter((line) => /early|late/.test(line))).toEqual([
      'add early 1',
      'add late 1',
      'update late 2',
      'delete late 2',
    ])
  })

  it('works with custom resources', async () => {
    const { transport } = server
    await transport({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'pets.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'pets', kind: 'Pet' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
                },
              },
            },
          ],
        },
      },
    })
    const custom = config.makeApiClient(CustomObjectsApi)
    const where = { group: 'example.com', version: 'v1', namespace: 'default', plural: 'pets' }
    await custom.createNamespacedCustomObject({
      ...where,
      body: { apiVersion: 'example.com/v1', kind: 'Pet', metadata: { name: 'rex' }, spec: { legs: 4 } },
    })
    expect(await custom.listNamespacedCustomObject(where)).toMatchObject({
      kind: 'PetList',
      items: [{ spec: { legs: 4 } }],
    })
  })
})
