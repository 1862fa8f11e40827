import { pods } from '../kube/core-types.ts'
import { expect, it } from 'vitest'
import { Client } from './client.ts'

it('reads an empty list as kube-apiserver writes one of metadata: with null for its items', async () => {
  const body = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata: {}, items: null }
  const client = new Client(() => Promise.resolve({ status: 200, headers: {}, body }))
  const found: unknown[] = []
  for await (const { items } of client.listAll(pods, { metadataOnly: true })) found.push(...items)
  expect(found).toEqual([])
})

it.each([
  ['apps/v1/namespaces/b/deployments?watch=1&x=', '/apis/apps/v1%2Fnamespaces%2Fb%2Fdeployments%3Fwatch%3D1%26x%3D'],
  ['v1?x=1', '/api/v1%3Fx%3D1'],
])('138: asks for no other path, whatever the apiVersion %s of a manifest says', async (apiVersion, path) => {
  const asked: string[] = []
  const client = new Client((request) => {
    asked.push(request.path)
    return Promise.resolve({ status: 200, headers: {}, body: { resources: [] } })
  })
  expect(await client.discovery.typeOf({ apiVersion, kind: 'Deployment' })).toBeUndefined()
  expect(asked).toEqual([path])
})
