import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { discoveryFacts, readRegistry } from './eureka.ts'
import { localNetwork } from '../../../../../test/local-network.ts'

let server: Server | undefined
afterEach(async () => {
  server?.closeAllConnections()
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
  server = undefined
})

/** A registry that answers every question about its applications like this. */
async function serve(body: unknown, status = 200): Promise<string> {
  server = createServer((request, response) => {
    const isAsked = request.url === '/eureka/apps' && request.headers.accept === 'application/json'
    response.writeHead(isAsked ? status : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/eureka/`
}

const instance = (id: string, status: string, at = 1000) => ({
  instanceId: `host-of-${id}`,
  status,
  lastUpdatedTimestamp: String(at),
  dataCenterInfo: { name: 'Amazon', metadata: { 'instance-id': id } },
})

const { http } = localNetwork()

describe('a Eureka registry', () => {
  it.each([
    ['as lists', [{ name: 'WEB', instance: [instance('i-1', 'UP', 5)] }]],
    ['with a single element instead of a list', { name: 'WEB', instance: instance('i-1', 'UP', 5) }],
  ])('is read %s', async (_, application) => {
    const registry = await readRegistry(http, await serve({ applications: { versions__delta: '1', application } }))
    expect(registry.get('i-1')).toMatchObject([{ status: 'UP', updatedAt: 5 }])
  })

  it('knows instances outside of AWS by the id they registered with, and may be empty', async () => {
    const { dataCenterInfo: _, ...own } = instance('x', 'DOWN')
    const registry = await readRegistry(http, await serve({ applications: { application: [{ instance: [own] }] } }))
    expect([...registry.keys()]).toEqual(['host-of-x'])
  })

  it.each([
    ['an error', { applications: {} }, 503],
    ['something else', { error: 'who are you' }, 200],
  ])('is not read when the server answers with %s', async (_, body, status) => {
    await expect(readRegistry(http, await serve(body, status))).rejects.toThrow('Eureka answered')
  })
})

describe('C55: a group is out of discovery', () => {
  const out = { status: 'OUT_OF_SERVICE', updatedAt: 1000 }
  it.each([
    ['when all its instances are, since the last of them is', ['a', 'b'], { isOutOfDiscovery: true, since: 2000 }],
    ['not while one is up', ['a', 'up'], { isOutOfDiscovery: false }],
    ['not while one is starting', ['a', 'starting'], { isOutOfDiscovery: false }],
    ['unknown, when one never registered', ['a', 'unregistered'], {}],
    ['not while one is up, even if others never registered', ['up', 'unregistered'], { isOutOfDiscovery: false }],
    ['not while any registration of an instance is up', ['both'], { isOutOfDiscovery: false }],
    ['when it has no instances', [], { isOutOfDiscovery: true }],
    ['at an unknown time, if one registration has no timestamp', ['a', 'undated'], { isOutOfDiscovery: true }],
  ])('%s', (_, ids, expected) => {
    const registry = new Map([
      ['a', [out]],
      ['b', [{ ...out, updatedAt: 2000 }]],
      ['up', [{ status: 'UP', updatedAt: 1 }]],
      ['starting', [{ status: 'STARTING', updatedAt: 1 }]],
      ['both', [out, { status: 'UP', updatedAt: 1 }]],
      ['undated', [{ ...out, updatedAt: undefined }]],
    ])
    const { since, ...facts } = { since: undefined, ...expected }
    expect(discoveryFacts(ids, registry)).toEqual({ ...facts, ...(since ? { outOfDiscoverySince: since } : {}) })
  })

  it('unknown without a registry', () => expect(discoveryFacts(['a'], undefined)).toEqual({}))
})
