import { expect, it } from 'vitest'
import { configMaps, namespaces } from '../kube/core-types.ts'
import type { StoredObject } from '../kube/object.ts'
import { systemClock } from '../runtime/time/clock.ts'
import { startCopy, type ClusterSnapshot } from './cluster-snapshot.ts'

const type = { ...configMaps, preferred: true, verbs: ['list'] } as unknown as ClusterSnapshot['kinds'][number]['type']
const object = (name: string, metadata: object) =>
  ({ metadata: { name, namespace: 'team', ...metadata } }) as unknown as StoredObject

it('copies objects with their versions, also those of aggregated APIs, which have none of their own', async () => {
  const items = [
    object('late', { uid: 'a', resourceVersion: '900' }),
    object('early', { uid: 'b', resourceVersion: '7' }),
    object('twin', { uid: 'c', resourceVersion: '7' }),
    object('bare', {}),
    object('bare-too', { resourceVersion: '' }),
  ]
  await using copy = await startCopy({ kinds: [{ type, items }], unread: [] }, systemClock)
  const { items: copied } = await copy.client.list<StoredObject>(configMaps, { namespace: 'team' })
  expect(copied.map(({ metadata }) => [metadata.name, metadata.resourceVersion])).toEqual([
    ['bare', '902'],
    ['bare-too', '903'],
    ['early', '7'],
    ['late', '900'],
    ['twin', '901'],
  ])
  const made = await copy.client.create<StoredObject>(namespaces, { metadata: { name: 'new' } } as StoredObject)
  expect(Number(made.metadata.resourceVersion)).toBeGreaterThan(903)
})
