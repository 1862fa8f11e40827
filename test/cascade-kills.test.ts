import { configMaps } from '../src/kube/core-types.ts'
import type { ChildProcess } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { Client } from '../src/client/client.ts'
import { loadKubeconfig } from '../src/client/kubeconfig.ts'
import { networkTransport } from '../src/client/network-transport.ts'
import { departure, type Departure } from '../src/apis/departure.ts'
import type { StoredObject } from '../src/kube/object.ts'
import { ignoring } from '../src/kube/status-error.ts'
import { startCollector } from './kills/collector-process.ts'
import { KillableServer } from './kills/killable-server.ts'
import { ownedBy } from './cascades.ts'
import { runCommand } from './command.ts'

const branches = 40
const leaves = 20
const place = { namespace: 'default' }

/** A server that is killed and started again, and what tests ask of it. */
class Killed implements AsyncDisposable {
  readonly server: KillableServer
  client!: Client
  #close = () => {}

  constructor(roles: string) {
    this.server = new KillableServer(roles)
  }

  async start(): Promise<void> {
    this.#close()
    await this.server.start()
    const network = networkTransport(loadKubeconfig([this.server.kubeconfig], { now: () => Date.now(), env: {} }), {})
    this.client = new Client(network.transport)
    this.#close = () => network.close()
  }

  async create(name: string, owner?: StoredObject): Promise<StoredObject> {
    const metadata = { name, ...place, ...(owner ? { ownerReferences: [ownedBy(owner)] } : {}) }
    const made = await this.client.create<StoredObject>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    return { ...made, apiVersion: 'v1', kind: 'ConfigMap' }
  }

  async objects(): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = []
    for await (const { items } of this.client.listAll(configMaps, place)) found.push(...items)
    return found.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
  }

  async records(): Promise<readonly Departure[]> {
    return (await this.client.list<Departure>(departure.type, { ...place, labelSelector: '!sojourn.dev/page' })).items
  }

  restore(record: Departure | undefined) {
    return runCommand(this.server.kubeconfig, 'restore', record?.metadata.name ?? '')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
    await this.server[Symbol.asyncDispose]()
  }
}

describe('a server that is killed in the middle of a cascade', () => {
  const killed = new Killed('api,collector')
  const { server } = killed
  const start = () => killed.start()
  const create = (name: string, owner?: StoredObject) => killed.create(name, owner)
  const objects = () => killed.objects()
  const restore = (record: Departure | undefined) => killed.restore(record)

  beforeAll(start)
  afterAll(() => killed[Symbol.asyncDispose]())

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
    await killed.client.deleteObject(configMaps, { ...place, name: 'root' })
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

    const [record, ...others] = await killed.records()
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

describe('a server that is killed while no collector runs', () => {
  const killed = new Killed('api')
  const collectors: ChildProcess[] = []
  const collect = async () => {
    const child = await startCollector(killed.server.kubeconfig)
    collectors.push(child)
    return child
  }
  beforeAll(() => killed.start())
  afterAll(async () => {
    for (const child of collectors) child.kill('SIGKILL')
    await killed[Symbol.asyncDispose]()
  })

  it('has lost no root without its record, whatever it was at', async () => {
    for (let round = 0; round < 3; round++) {
      const roots = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const root = await killed.create(`r${round}-${index}`)
          await killed.create(`r${round}-${index}-child`, root)
          return root.metadata
        }),
      )
      let acknowledged = 0
      const enough = Promise.withResolvers<void>()
      const deletes = Promise.allSettled(
        roots.map(async ({ name }) => {
          await killed.client.deleteObject(configMaps, { ...place, name })
          if (++acknowledged === 1 + round * 20) enough.resolve()
        }),
      )
      await enough.promise
      await killed.server.kill()
      await deletes
      await killed.start()

      const there = new Set((await killed.objects()).map(({ metadata }) => metadata.uid))
      const recorded = new Map((await killed.records()).map(({ spec }) => [spec.object.uid, spec.manifest]))
      expect(roots.filter(({ uid }) => !there.has(uid)).length).toBeGreaterThanOrEqual(acknowledged)
      for (const { uid, name } of roots) expect(recorded.has(uid), name).toBe(!there.has(uid))
      for (const { uid, name } of roots)
        if (!there.has(uid)) expect(recorded.get(uid)).toMatchObject({ metadata: { name } })
    }
    for (const { metadata } of await killed.objects())
      await killed.client.deleteObject(configMaps, { ...place, name: metadata.name }).catch(ignoring('NotFound'))
  }, 120_000)

  it('has its cascade on one record by a collector that comes later, in a process of its own, after the one before was killed', async () => {
    const before = new Set((await killed.records()).map(({ metadata }) => metadata.name))
    const first = await collect()
    const root = await killed.create('root')
    const branch = await killed.create('branch', root)
    await killed.create('leaf', branch)
    await killed.client.deleteObject(configMaps, { ...place, name: 'root' })
    first.kill('SIGKILL')
    await killed.server.kill()
    await killed.start()
    expect(await killed.client.get(configMaps, { ...place, name: 'root' }).catch(ignoring('NotFound'))).toBeUndefined()

    await collect()
    await vi.waitFor(async () => expect(await killed.objects()).toEqual([]), { timeout: 60_000, interval: 50 })
    const [record, ...others] = (await killed.records()).filter(({ metadata }) => !before.has(metadata.name))
    expect(others).toEqual([])
    expect(await killed.restore(record)).toMatchObject({ code: 0, err: '' })
    const back = (await killed.objects()).map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name])
    expect(back).toEqual([
      ['branch', 'root'],
      ['leaf', 'branch'],
      ['root', undefined],
    ])
  }, 120_000)
})
