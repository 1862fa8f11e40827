import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { threadCpuUsage } from 'node:process'
import { afterAll, describe, expect, it } from 'vitest'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { configMaps } from '../../src/kube/core-types.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import { defaultPrices } from '../../src/prices/prices.ts'
import { read } from '../../src/parsing/answer-text.ts'
import { readAnswer } from '../../src/parsing/answer.ts'
import { parsingThread } from '../../src/parsing/parsing-thread.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { seededRandom } from '../../src/runtime/time/random.ts'
import { VirtualClock } from '../../src/runtime/time/virtual-clock.ts'
import type { Http } from '../../src/runtime/http/http.ts'
import { askOpenCost } from '../../src/systems/savings/opencost.ts'
import { readRegistry } from '../../src/systems/janitor/aws/read/eureka.ts'
import { verify, type CheckPorts } from '../../src/systems/promoter/strategies/verify.ts'
import { FakeApi } from '../runtime/fake-api.ts'

const mib = 1024 * 1024
const emptyLists = `[${'[],'.repeat(mib)}0]`
const hostile: readonly (readonly [name: string, text: string])[] = [
  ['144: a million empty lists', emptyLists],
  ['144: brackets', '['.repeat(3 * mib)],
  ['144: a million numbers', `[${'1,'.repeat(mib)}0]`],
  ['144: a million fields', `{${'"":{},'.repeat(mib / 2)}"":0}`],
  ['144: three megabytes that are not JSON', 'x'.repeat(3 * mib)],
]

describe('144: the answer of a server that a tenant names', () => {
  afterAll(() => parsingThread.close())

  it.each(hostile)('%s: at most 5 ms of the main thread', async (_, text) => {
    await readAnswer(Buffer.from(`["${'x'.repeat(100_000)}"]`))
    const costs: number[] = []
    for (let round = 0; round < 3; round++) {
      const before = threadCpuUsage()
      await expect(readAnswer(Buffer.from(text))).rejects.toThrow()
      const { user, system } = threadCpuUsage(before)
      costs.push((user + system) / 1000)
    }
    expect(Math.min(...costs)).toBeLessThanOrEqual(5)
  })

  it('144: counts its values before any of them is built', () => {
    expect(() => read(Buffer.from(emptyLists))).toThrow('it has more than 394216 values')
  })

  it('144: is read whole where it answers as servers do', async () => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({
      metadata: { name: `c${index}`, labels: {}, annotations: { note: 'a "text", with [brackets], {braces} and \\' } },
      data: { empty: [], none: null, nested: [[{}], [1.5, true]] },
    }))
    expect(await readAnswer(Buffer.from(JSON.stringify({ items }, undefined, 1)))).toEqual({ items })
  })

  const ports = { http: answering(emptyLists), now: () => 0, signal: AbortSignal.timeout(60_000) }
  it.each([
    ['Prometheus', () => passes(ports as unknown as CheckPorts)],
    ['OpenCost', () => askOpenCost('https://costs.example.org', ports.http, defaultPrices)],
    ['Eureka', () => readRegistry(ports.http, 'https://registry.example.org')],
  ])('144: %s fills no memory', async (_, ask) => {
    await expect(ask()).rejects.toThrow()
  })

  it.each([
    ['144: a list', `{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":${emptyLists}}`],
    [
      '144: an event',
      `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"data":${emptyLists}}}\n`,
    ],
  ])('%s of another cluster fills no memory', async (what, text) => {
    const server = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(text),
    )
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const config = { server: url, namespace: 'default', credentials: () => Promise.resolve({}) }
    const network = networkTransport(config, { maxBytes: 32 * mib })
    const client = new Client(network.transport, { cluster: 'a.leaf' })
    const read = async () => {
      if (what === '144: a list') return client.list(configMaps)
      for await (const event of client.watch(configMaps, {})) return event
    }
    try {
      await expect(read()).rejects.toThrow(/not read/)
    } finally {
      network.close()
      server.close()
    }
  })
})

describe('145: the cluster of a tenant that lists without end', () => {
  /** A cluster with page after page of large ConfigMaps; how many have been asked for. */
  function endless(text: string) {
    const api = new FakeApi()
    let pages = 0
    api.streams = false
    api.faults.push(({ path, query }) => {
      if (!path.endsWith('/configmaps') || query?.watch === 'true' || pages > 400) return undefined
      const items = Array.from({ length: 100 }, (_, index) => ({
        metadata: { name: `c${pages}-${index}`, namespace: 'a', uid: `${pages}-${index}`, resourceVersion: '1' },
        data: { text: text + String(index) },
      }))
      pages++
      return { status: 200, headers: {}, body: { metadata: { resourceVersion: '1', continue: 'more' }, items } }
    })
    return { api, pages: () => pages }
  }

  it('145: fills no memory, and nothing is concluded from what is missing; another namespace has its own share', async () => {
    const clock = new VirtualClock(0)
    using informers = new Informers({ clock, random: seededRandom(1) })
    const { api, pages } = endless('x'.repeat(40_000))
    const open = (cluster: string, from: FakeApi) => informers.open(new Client(from.transport, { cluster }), configMaps)
    const caches = [open('a.one', api), open('a.two', api)]
    await clock.runFor(10 * 60_000)
    const kept = caches.flatMap((cache) => cache.list())
    expect(JSON.stringify(kept.slice(0, 10)).length * (kept.length / 10)).toBeLessThan(140 * mib)
    expect(pages()).toBeLessThan(300)
    for (const cache of caches) {
      expect(cache.synced).toBe(false)
      expect(cache.lastError?.message).toContain('list more than')
    }
    const good = new FakeApi()
    good.put('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'b', name: 'x' } })
    const other = open('b.one', good)
    await clock.runFor(60_000)
    expect(other.list().map(({ metadata }: StoredObject) => metadata.name)).toEqual(['x'])
    for (const cache of [...caches, other]) cache.close()
  })
})

function answering(text: string): Http {
  return () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from(text) })
}

async function passes(ports: CheckPorts): Promise<void> {
  const prometheus = { url: 'https://metrics.example.org', query: 'up > 0' }
  const plan = { checks: [{ prometheus }], intervalMs: 1000 } as unknown as Parameters<typeof verify>[0]
  const { result } = await verify(plan, ports)
  if (result !== 'verified') throw new Error(result)
}
