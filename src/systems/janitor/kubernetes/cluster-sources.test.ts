import { configMaps } from '../../../kube/core-types.ts'
import { expect, it } from 'vitest'
import { startRealWorld } from '../../../../test/world.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import { ClusterSources } from './cluster-sources.ts'

it('reports who mentions a name as objects are created and deleted, and nothing once it is closed', async () => {
  await using world = await startRealWorld()
  const open: ClusterHandle['open'] = (type, options) => world.informers.open(world.client, type, options)
  const sources = new ClusterSources({ open, close() {} } as ClusterHandle)
  const mentions = await sources.mentions(configMaps, new AbortController().signal)
  expect(mentions('wanted')).toBeUndefined()
  const metadata = { name: 'who', namespace: 'team' }
  await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ref: 'wanted' } })
  await expect.poll(() => mentions('wanted'), { timeout: 10_000 }).toContain('who')
  sources.close()
  expect(() => mentions('wanted')).toThrow('configmaps are no longer followed')
})
