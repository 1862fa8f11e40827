import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { localNetwork } from '../../../test/local-network.ts'
import { defaultPrices, readPrices } from '../../prices/prices.ts'
import { askOpenCost, pricesOf } from './opencost.ts'

const gib = 2 ** 30
/** As OpenCost answers for a day: costs and hours by namespace. */
const allocations = {
  shop: { name: 'shop', cpuCoreHours: 24, cpuCost: 0.48, ramByteHours: 48 * gib, ramCost: 0.096, pvByteHours: 0 },
  batch: {
    name: 'batch',
    cpuCoreHours: 10,
    cpuCost: 0.1,
    ramByteHours: 20 * gib,
    ramCost: 0.02,
    gpuHours: 2,
    gpuCost: 1,
  },
  asleep: { name: 'asleep', cpuCoreHours: 0, cpuCost: 0, ramByteHours: 0, ramCost: 0 },
  __idle__: { name: '__idle__', cpuCoreHours: 16, cpuCost: 0.32, ramByteHours: 0, ramCost: 0 },
}

describe('prices of OpenCost', () => {
  it('are cost by hours: of the namespace, or of the cluster where it slept', () => {
    const { unit, namespaces, currency } = pricesOf(allocations, defaultPrices)
    expect(namespaces['shop']).toMatchObject({ cpu: 0.02, memory: 0.002 })
    expect(namespaces['batch']?.gpu).toBe(0.5)
    expect(unit.cpu).toBeCloseTo(0.9 / 50, 12)
    expect(namespaces['asleep']).toEqual(unit)
    expect(namespaces['__idle__']).toBeUndefined()
    expect([currency, unit.storage, unit.loadBalancers]).toEqual(['USD', defaultPrices.unit.storage, 0.025])
  })

  it('give way to those that the file sets for a namespace', () => {
    const file = readPrices({ namespaces: { shop: { cpuHour: 0.5 } } })
    expect(pricesOf(allocations, file).namespaces['shop']?.cpu).toBe(0.5)
  })

  it('are asked for by the allocation API, and faults are told', async () => {
    const asked: (string | undefined)[] = []
    const answers: [number, unknown][] = [
      [200, { code: 200, data: [allocations] }],
      [503, 'not ready'],
      [200, { code: 200, data: null }],
    ]
    const server = createServer((request, response) => {
      asked.push(request.url)
      const [status, body] = answers.shift() ?? [500, '']
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const network = localNetwork()
    try {
      expect((await askOpenCost(url, network.http, defaultPrices)).namespaces['shop']?.cpu).toBe(0.02)
      await expect(askOpenCost(url, network.http, defaultPrices)).rejects.toThrow('OpenCost answered 503')
      await expect(askOpenCost(url, network.http, defaultPrices)).rejects.toThrow('no allocations')
      expect(asked[0]).toBe('/allocation?window=1d&aggregate=namespace&accumulate=true')
    } finally {
      server.close()
    }
  })
})
