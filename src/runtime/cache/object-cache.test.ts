import { expect, it } from 'vitest'
import type { StoredObject } from '../../kube/object.ts'
import { ObjectCache } from './object-cache.ts'

function object(name: string, namespace: string): StoredObject {
  const metadata = { name, namespace, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

it('lists the very same array until something changes, and never an outdated one', () => {
  const cache = new ObjectCache()
  const names = (namespace?: string) => cache.all(namespace).map(({ metadata }) => metadata.name)
  const first = object('a', 'shop')
  cache.put(first)
  const before = cache.all()
  expect(cache.all()).toBe(before)
  expect(names('shop')).toEqual(['a'])
  cache.put(object('b', 'shop'))
  expect(names()).toEqual(['a', 'b'])
  expect(names('shop')).toEqual(['a', 'b'])
  const newer = object('a', 'shop')
  cache.put(newer)
  expect(cache.all()[0]).toBe(newer)
  cache.delete(newer)
  expect(names()).toEqual(['b'])
  expect(names('shop')).toEqual(['b'])
  expect(before).toEqual([first])
})
