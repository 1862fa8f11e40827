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
