import { configMaps } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Cascades, ownedBy } from '../../../test/cascades.ts'
import { Client } from '../../client/client.ts'
import { restore } from '../../departures/restore/restore.ts'
import { StatusError } from '../../kube/status-error.ts'
import { TransportError } from '../../client/transport-error.ts'
import type { Transport } from '../../kube/transport.ts'

let here: Cascades
afterEach(() => here[Symbol.asyncDispose]())

/** A root that owns two branches, the first of which owns a leaf. */
async function plant(): Promise<void> {
  const root = await here.create('root')
  const branch = await here.create('branch', [ownedBy(root)])
  await here.create('leaf', [ownedBy(branch)])
  await here.create('other', [ownedBy(root)])
}
const all = ['branch', 'leaf', 'other', 'root']

const remove = () => here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'root' })

async function bringBack(client = here.world.client) {
  const [record] = await here.records()
  if (!record) throw new Error('nothing is recorded')
  return restore(client, record, { now: here.world.clock.now() })
}

/** Lets time pass until it is so: manifests are compressed beside the clock's own time. */
const until = (claim: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await here.world.pass(1000)
      await claim()
    },
    { timeout: 20_000, interval: 10 },
  )

const isOwnedByRoot = async (name: string) => {
  const [root, object] = await Promise.all([here.get('root'), here.get(name)])
  return object?.metadata.ownerReferences?.[0]?.uid === root?.metadata.uid
}

describe.each([
  ['over the API', false],
  ['in the server', true],
])('a root that is brought back before what it owned has left, by a collector %s', (_, isInServer) => {
  it('keeps all of it when none has come by yet', async () => {
    here = await Cascades.start({ isInServer, isRunning: false })
    await plant()
    await remove()
    const { objects, notes } = await bringBack()
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['root'])
    expect(notes).toEqual([
      'ConfigMap/team/branch and 1 more had not been deleted yet: the restored owner owns it again',
    ])
    await here.startCollector()
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(all)
    expect([await isOwnedByRoot('branch'), await isOwnedByRoot('other')]).toEqual([true, true])
    // And it means what it meant.
    await here.remove('root')
    expect(await here.left()).toEqual([])
  })

  it('keeps what was to be kept, as its own', async () => {
    here = await Cascades.start({ isInServer })
    const root = await here.create('root')
    await here.create('gone', [ownedBy(root)])
    await here.create('kept', [ownedBy(root)], { labels: { 'sojourn.dev/keep': 'true' } })
    await here.remove('root')
    await bringBack()
    expect(await isOwnedByRoot('kept')).toBe(true)
    await here.world.client.patch(
      configMaps,
      { namespace: 'team', name: 'kept' },
      { type: 'merge', body: { metadata: { labels: null } } },
    )
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(['gone', 'kept', 'root'])
  })
})

describe('a root that is brought back while a collector is half through', () => {
  /** Whether the collector's deletes are heard. */
  let isOpen: boolean

  async function start(): Promise<void> {
    isOpen = false
    const deaf =
      (server: Transport): Transport =>
      async (request) => {
        if (!isOpen && request.method === 'DELETE') throw new TransportError('not now')
        return server(request)
      }
    here = await Cascades.start({ isInServer: false, through: deaf })
    await plant()
    await remove()
    await until(async () => expect((await here.records())[0]?.spec.takes).toBeGreaterThan(1))
    expect(await here.left()).toEqual(['branch', 'leaf', 'other'])
  }

  it('keeps what is on its pages and has not gone yet', async () => {
    await start()
    const { objects } = await bringBack()
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['root'])
    isOpen = true
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(all)
    expect(await isOwnedByRoot('other')).toBe(true)
  })

  it('has what goes in the very moment back, too', async () => {
    await start()
    const late = new Client(async (request) => {
      // The root is to be made: whatever was looked at before goes now.
      const isRoot = request.method === 'POST' && !request.query?.['dryRun'] && request.path.endsWith('/configmaps')
      if (isRoot && !isOpen) {
        isOpen = true
        await until(async () => expect(await here.left()).toEqual([]))
      }
      return here.world.server.transport(request)
    })
    const { objects, notes } = await bringBack(late)
    expect(objects.map(({ metadata }) => metadata.name).toSorted()).toEqual(['branch', 'other', 'root'])
    expect(await isOwnedByRoot('other')).toBe(true)
    // What lived by those had not been recorded when the pages were read.
    expect(notes).toEqual([expect.stringContaining('more objects were deleted with it in the meantime')])
    await bringBack()
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(all)
  })
})

describe('who brings something back', () => {
  it('hears what they may not keep from leaving', async () => {
    here = await Cascades.start({ isRunning: false })
    await plant()
    await remove()
    const confined = new Client(async (request) => {
      if (request.method === 'PATCH' && request.path.endsWith('/other')) throw new StatusError('Forbidden', 'not yours')
      if (request.method === 'GET' && request.path.endsWith('/team/secrets')) throw new StatusError('Forbidden', 'no')
      return here.world.server.transport(request)
    })
    expect((await bringBack(confined)).notes).toEqual([
      'ConfigMap/team/branch had not been deleted yet: the restored owner owns it again',
      'ConfigMap/team/other will be deleted: you may not change its owner reference to the restored owner',
    ])
  })

  it('hears that more has left meanwhile, and has it back when they ask again', async () => {
    here = await Cascades.start({ isRunning: false })
    await plant()
    await remove()
    let isFirst = true
    const slow = new Client(async (request) => {
      if (isFirst && request.method === 'POST') {
        isFirst = false
        await here.startCollector()
        await until(async () => expect((await here.records())[0]?.spec.takes).toBe(3))
      }
      return here.world.server.transport(request)
    })
    const { notes } = await bringBack(slow)
    const [record] = await here.records()
    expect(notes).toEqual([`more objects were deleted with it in the meantime: restore ${record?.metadata.name} again`])
    expect(record?.status?.phase).toBe('Gone')
    await bringBack()
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(all)
    expect((await here.records())[0]?.status?.phase).toBe('Restored')
  })
})
