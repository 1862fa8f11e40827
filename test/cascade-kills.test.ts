import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Client } from '../src/client/client.ts'
import { loadKubeconfig } from '../src/client/kubeconfig.ts'
import { networkTransport } from '../src/client/network-transport.ts'
import { departure, type Departure } from '../src/apis/departure.ts'
import type { StoredObject } from '../src/kube/object.ts'
import { KillableServer } from './kills/killable-server.ts'
import { configMaps, ownedBy } from './cascades.ts'
import { runCommand } from './command.ts'

const branches = 40
const leaves = 20
const place = { namespace: 'default' }

describe('a server that is killed in the middle of a cascade', () => {
  const server = new KillableServer('api,collector')
  let client: Client
  let close = () => {}

  beforeAll(() => start())
  afterAll(async () => {
    close()
    await server[Symbol.asyncDispose]()
  })

  async function start(): Promise<void> {
    close()
    await server.start()
    const network = networkTransport(loadKubeconfig([server.kubeconfig], { now: () => Date.now(), env: {} }), {})
    client = new Client(network.transport)
    close = () => network.close()
  }

  async function create(name: string, owner?: StoredObject): Promise<StoredObject> {
    const metadata = { name, ...place, ...(owner ? { ownerReferences: [ownedBy(owner)] } : {}) }
    const made = await client.create<StoredObject>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    return { ...made, apiVersion: 'v1', kind: 'ConfigMap' }
  }

  async function objects(): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = []
    for await (const { items } of client.listAll(configMaps, place)) found.push(...items)
    return found.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
  }

  async function records(): Promise<readonly Departure[]> {
    return (await client.list<Departure>(departure.type, { ...place, labelSelector: '!sojourn.dev/page' })).items
  }

  const restore = (record: Departure | undefined) =>
    runCommand(server.kubeconfig, 'restore', record?.metadata.name ?? '')

  it('writes on in the one record, and one restore brings all of it back, each to its owner', async () => {
    const root = await create('root')
    await Promise.all(
      Array.from({ length: branches }, async (_, branch) => {
        const owner = await create(`b${branch}`, root)
        for (let leaf = 0; leaf < leaves; leaf++) await create(`b${branch}-${leaf}`, owner)
      }),
    )
    const all = (await objects()).length
    expect(all).toBe(1 + branches + branches * leaves)

    let kills = 0
    await client.deleteObject(configMaps, { ...place, name: 'root' })
    for (let before = all; before > 0;) {
      // Killed as soon as some more have gone, twice.
      await vi.waitFor(async () => expect((await objects()).length).toBeLessThan(before), {
        timeout: 20_000,
        interval: 1,
      })
      before = (await objects()).length
      if (kills === 2 || before === 0) continue
      await server.kill()
      kills++
      await start()
    }
    expect(kills).toBe(2)

    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(await restore(record)).toMatchObject({ code: 0, err: '' })
    const back = await objects()
    expect(back.length).toBe(all)
    const nameOf = new Map(back.map(({ metadata }) => [metadata.uid, metadata.name]))
    for (const { metadata } of back) {
      const [owner] = metadata.ownerReferences ?? []
      const [branch, leaf] = metadata.name.split('-')
      const expected = metadata.name === 'root' ? undefined : leaf === undefined ? 'root' : branch
      expect(owner && nameOf.get(owner.uid), metadata.name).toBe(expected)
    }

    const { code, err } = await restore(record)
    expect(code).toBe(1)
    const uid = back.find(({ metadata }) => metadata.name === 'root')?.metadata.uid
    expect(err).toContain('was restored before')
    expect(err).toContain(`ConfigMap/${place.namespace}/root (uid ${uid})`)
    expect((await objects()).length).toBe(all)
  }, 120_000)
})
