import { configMaps, leases } from '../../../src/kube/core-types.ts'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { departure, type Departure } from '../../../src/apis/departure.ts'
import { Client } from '../../../src/client/client.ts'
import { loadKubeconfig } from '../../../src/client/kubeconfig.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { ownedBy } from '../../cascades.ts'
import { startCollector } from '../../kills/collector-process.ts'
import { KillableServer } from '../../kills/killable-server.ts'

const place = { namespace: 'default' }
const patient = { timeout: 40_000, interval: 50 }

describe('collectors apart from the API, in processes of their own', () => {
  const server = new KillableServer('api')
  const collectors: ChildProcess[] = []
  let client: Client
  let close = () => {}

  beforeAll(async () => {
    await server.start()
    const network = networkTransport(loadKubeconfig([server.kubeconfig], { now: () => Date.now(), env: {} }), {})
    client = new Client(network.transport)
    close = () => network.close()
    collectors.push(...(await Promise.all([startCollector(server.kubeconfig), startCollector(server.kubeconfig)])))
  }, 120_000)
  afterAll(async () => {
    for (const child of collectors) child.kill('SIGKILL')
    close()
    await server[Symbol.asyncDispose]()
  })

  async function create(name: string, owner?: StoredObject): Promise<StoredObject> {
    const metadata = { name, ...place, ...(owner ? { ownerReferences: [ownedBy(owner)] } : {}) }
    const made = await client.create<StoredObject>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    return { ...made, apiVersion: 'v1', kind: 'ConfigMap' }
  }

  async function tree(root: string): Promise<void> {
    const top = await create(root)
    for (const branch of ['a', 'b', 'c']) {
      const owner = await create(`${root}-${branch}`, top)
      for (const leaf of ['1', '2', '3']) await create(`${root}-${branch}${leaf}`, owner)
    }
  }

  const left = async () => (await client.list(configMaps, place)).items.map(({ metadata }) => metadata.name)
  const onlyFurniture = async () => expect(await left()).toEqual(['kube-root-ca.crt'])

  it('let dependents follow, two of them at once, on one record; and one goes on where the other was killed', async () => {
    await tree('first')
    await client.deleteObject(configMaps, { ...place, name: 'first' })
    await vi.waitFor(onlyFurniture, patient)

    await tree('second')
    const { spec } = await client.get<StoredObject & { spec: { holderIdentity: string } }>(leases, {
      namespace: 'sojourn-system',
      name: 'sojourn-collector',
    })
    const leader = collectors.find(({ pid }) => spec.holderIdentity.endsWith(`-${pid}`))
    expect(leader).toBeDefined()
    leader?.kill('SIGKILL')
    if (leader) await once(leader, 'exit')
    await client.deleteObject(configMaps, { ...place, name: 'second' })
    // The other one takes over when the Lease of the dead one has run out.
    await vi.waitFor(onlyFurniture, patient)
    const records = await client.list<Departure>(departure.type, { ...place, labelSelector: '!sojourn.dev/page' })
    expect(records.items.map(({ spec: { object, takes } }) => [object.name, takes])).toEqual([
      ['first', 12],
      ['second', 12],
    ])
  }, 120_000)
})
