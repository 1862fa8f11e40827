import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/time/clock.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { compareVersions } from './groups.ts'

interface Discovered {
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources: readonly {
        readonly resource: string
        readonly subresources?: readonly { subresource: string }[]
      }[]
    }[]
  }[]
}

describe('discovery', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ clock: systemClock })
  })
  afterAll(() => server.close())

  const get = (path: string, headers: Record<string, string> = {}) => server.transport({ method: 'GET', path, headers })
  const aggregated = (version: string) => ({
    accept: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  })
  const definition = (plural: string, ...versions: string[]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.find.example` },
    spec: {
      group: 'find.example',
      scope: 'Cluster',
      names: { plural, kind: plural[0]?.toUpperCase() + plural.slice(1) },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object' } },
      })),
    },
  })
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

  it('says the same in all three forms', async () => {
    const plain = (await get('/apis/apps/v1')).body as { resources: { name: string }[] }
    for (const version of ['v2', 'v2beta1']) {
      const { items } = (await get('/apis', aggregated(version))).body as Discovered
      const apps = items.find(({ metadata }) => metadata.name === 'apps')?.versions[0]?.resources ?? []
      const names = apps.flatMap(({ resource, subresources = [] }) => [
        resource,
        ...subresources.map(({ subresource }) => `${resource}/${subresource}`),
      ])
      expect(names).toEqual(plain.resources.map(({ name }) => name))
    }
  })

  it('names the core group with nothing, and only below /api', async () => {
    const { items } = (await get('/api', aggregated('v2'))).body as Discovered
    expect(items.map(({ metadata }) => metadata.name)).toEqual([undefined])
    const others = (await get('/apis', aggregated('v2'))).body as Discovered
    expect(others.items.every(({ metadata }) => metadata.name)).toBe(true)
  })

  it('changes its ETag when a kind is added or removed, and not otherwise', async () => {
    const etag = async () => (await get('/apis', aggregated('v2'))).headers['etag']
    const before = await etag()
    expect(await etag()).toBe(before)
    await server.transport({ method: 'POST', path: definitions, body: definition('things', 'v1') })
    const between = await etag()
    expect(between).not.toBe(before)
    expect((await get('/apis', { ...aggregated('v2'), 'if-none-match': between ?? '' })).status).toBe(304)
    await server.transport({ method: 'DELETE', path: `${definitions}/things.find.example` })
    await expect.poll(etag).toBe(before)
  })

  it('prefers the most mature version of a group', async () => {
    await server.transport({
      method: 'POST',
      path: definitions,
      body: definition('many', 'v1alpha1', 'v2', 'v1', 'v3beta2', 'odd'),
    })
    const { body } = await get('/apis/find.example')
    expect(body).toMatchObject({
      preferredVersion: { version: 'v2' },
      versions: ['v2', 'v1', 'v3beta2', 'v1alpha1', 'odd'].map((version) => ({ version })),
    })
  })

  it('describes every group and version in OpenAPI', async () => {
    const { paths } = (await get('/openapi/v3')).body as { paths: Record<string, { serverRelativeURL: string }> }
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['api/v1', 'apis/apps/v1', 'apis/find.example/v2']))
    for (const { serverRelativeURL } of Object.values(paths)) {
      const [path = '', hash = ''] = serverRelativeURL.split('?hash=')
      const { status, body } = await server.transport({ method: 'GET', path, query: { hash } })
      expect([status, (body as { openapi: string }).openapi]).toEqual([200, '3.0.0'])
    }
  })

  it('shows nothing of a group that is not there', async () => {
    for (const path of [
      '/apis/nothing.example',
      '/apis/nothing.example/v1',
      '/apis/apps/v9',
      '/api/v9',
      '/openapi/v3/apis/nothing/v1',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
  })
})

it('orders versions as Kubernetes does', () => {
  const versions = ['v10beta3', 'foo1', 'v1', 'v3beta1', 'v12alpha1', 'v11beta2', 'v10', 'v2', 'foo10', 'v11alpha2']
  expect(versions.toSorted(compareVersions)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ])
})
