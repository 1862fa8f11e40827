import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

let world: TestObjects
beforeEach(async () => {
  world = await openTestObjects()
})
afterEach(() => world.close())

interface Spec {
  readonly clusterIP?: string
  readonly ports: readonly { readonly nodePort?: number }[]
}
const service = async (name: string, more: object = {}) => {
  const body = { metadata: { name }, spec: { ports: [{ port: 80 }], selector: { app: name }, ...more } }
  return (await world.create('v1/services', body)).spec as Spec
}

it('gives each Service an address of its own', async () => {
  const specs = await Promise.all(['a', 'b', 'c'].map((name) => service(name)))
  expect(new Set(specs.map(({ clusterIP }) => clusterIP)).size).toBe(3)
  expect(specs[0]).toMatchObject({ clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'], ipFamilies: ['IPv4'] })
})

it('takes the address that is asked for, none included', async () => {
  expect(await service('a', { clusterIP: '10.96.0.10' })).toMatchObject({ clusterIP: '10.96.0.10' })
  expect((await service('b')).clusterIP).toBe('10.96.0.11')
  expect(await service('c', { clusterIP: 'None' })).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'] })
})

it('keeps the address when an update omits it', async () => {
  const { clusterIP } = await service('a')
  const object = await world.get('v1/services', 'a')
  const spec = { ports: [{ port: 81 }], selector: { app: 'a' } }
  const after = await world.update('v1/services', { ...object, spec } as never)
  expect(after.spec).toMatchObject({ clusterIP, ports: [{ port: 81 }] })
})

it('gives published ports a number', async () => {
  const first = await service('a', { type: 'NodePort' })
  const second = await service('b', { type: 'LoadBalancer' })
  expect([first.ports[0]?.nodePort, second.ports[0]?.nodePort]).toEqual([30_000, 30_001])
})

it('gives nothing to a name elsewhere', async () => {
  const body = { metadata: { name: 'a' }, spec: { type: 'ExternalName', externalName: 'example.com' } }
  expect((await world.create('v1/services', body)).spec).not.toHaveProperty('clusterIP')
})

it('gives an address or a port to one Service only', async () => {
  const fixed = { type: 'NodePort', clusterIP: '10.96.0.50', ports: [{ port: 80, nodePort: 30_080 }] }
  await service('a', fixed)
  await expect(service('b', { clusterIP: '10.96.0.50' })).rejects.toThrow(
    'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.50"]: failed to allocate IP 10.96.0.50: provided IP is already allocated',
  )
  await expect(service('b', { ...fixed, clusterIP: undefined })).rejects.toThrow(
    'spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
  )
  const object = await world.get('v1/services', 'a')
  await world.update('v1/services', { ...object, metadata: { ...object.metadata, labels: { x: 'y' } } } as never)
  await world.delete('v1/services', 'a')
  expect(await service('b', fixed)).toMatchObject({ clusterIP: '10.96.0.50' })
})

it('gives an address to one of two Services that ask for it at once', async () => {
  const both = await Promise.allSettled(['a', 'b'].map((name) => service(name, { clusterIP: '10.96.0.50' })))
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})
