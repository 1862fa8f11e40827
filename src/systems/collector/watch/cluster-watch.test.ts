import { configMaps, leases } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades, ownedBy } from '../../../../test/cascades.ts'
import { Client } from '../../../client/client.ts'
import { TransportError } from '../../../client/transport-error.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { ApiRequest, Transport } from '../../../kube/transport.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import { Informers } from '../../../runtime/cache/informers.ts'
import { Collector } from '../controller.ts'

let here: Cascades
let informers: Informers
afterEach(async () => {
  informers.close()
  await here[Symbol.asyncDispose]()
})

/** Whether a request does not get through. */
let isCut: (request: ApiRequest) => boolean
/** Whether it takes its time. */
let isSlow: (request: ApiRequest) => boolean
beforeEach(() => {
  isSlow = () => false
})

/** A collector in a process of its own, whose way to the server can be cut. */
async function start(): Promise<Collector> {
  here = await Cascades.start({ isRunning: false })
  const { clock, ports } = here.world
  const transport: Transport = async (request) => {
    if (isCut(request)) throw new TransportError('cut')
    if (isSlow(request)) await sleep(clock, 10_000)
    return here.world.server.transport(request)
  }
  informers = new Informers({ clock, log: ports.log })
  const collector = new Collector({ ...here.world, informers, client: new Client(transport), ownsReferences: true })
  here.world.run(collector as never)
  await here.world.clock.settle()
  return collector
}

const lease = (name: string, owner: StoredObject) =>
  here.world.create<StoredObject>({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'team', ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] },
  })
const define = (plural: string) =>
  here.world.create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.x.dev` },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { kind: plural, plural, singular: plural },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  })

describe('the kinds that are watched', () => {
  it('32: are those that can be listed, watched and deleted; a group that cannot be read costs no other', async () => {
    isCut = ({ path }) => path === '/apis/coordination.k8s.io/v1'
    const collector = await start()
    const kinds = new Set(collector.world.types.map(({ kind }) => kind))
    expect(['ConfigMap', 'Deployment', 'Bond'].filter((kind) => !kinds.has(kind))).toEqual([])
    expect(['Lease', 'Event', 'Binding', 'TokenReview'].filter((kind) => kinds.has(kind))).toEqual([])
    expect(collector.world.unknownKinds).toEqual(['coordination.k8s.io/v1'])
    const owner = await here.create('owner')
    await here.create('child', [ownedBy(owner)])
    await lease('unseen', owner)
    await here.remove('owner')
    expect([await here.left(), await here.world.names(leases)]).toEqual([[], ['unseen']])
    isCut = () => false
    await here.world.pass(60_000)
    expect(await here.world.names(leases)).toEqual([])
    expect(collector.world.unknownKinds).toEqual([])
  })

  it('32: are none while they cannot be asked for, and nothing is judged before they are known', async () => {
    isCut = ({ path }) => path === '/apis'
    const collector = await start()
    const owner = await here.create('owner')
    const child = await lease('blocking', owner)
    const held = { metadata: { finalizers: ['x.dev/held'] } }
    await here.world.client.patch(leases, child.metadata, { type: 'merge', body: held })
    await here.world.client.deleteObject(
      configMaps,
      { namespace: 'team', name: 'owner' },
      { propagationPolicy: 'Foreground' },
    )
    await here.world.pass(60_000)
    expect([...collector.world.types]).toEqual([])
    isCut = () => false
    isSlow = ({ path }) => path.endsWith('/leases')
    await here.world.pass(60_000)
    expect((await here.get('owner'))?.metadata.finalizers).toEqual(['foregroundDeletion'])
    await here.world.client.patch(leases, child.metadata, { type: 'merge', body: { metadata: { finalizers: null } } })
    await here.world.pass(60_000)
    expect([await here.left(), await here.world.names(leases)]).toEqual([[], []])
  })

  it('97: an owner that can be neither watched nor asked for is not taken for gone', async () => {
    isCut = ({ path }) => path.includes('/leases')
    await start()
    const owner = await lease('owner', await here.create('top'))
    await here.create('child', [ownedBy(owner)])
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(['child', 'top'])
    isCut = () => false
    await here.world.pass(60_000)
    expect(await here.left()).toEqual(['child', 'top'])
  })

  it('33: stay watched while they cannot be read: their objects still hold an owner up', async () => {
    isCut = () => false
    const collector = await start()
    const owner = await here.create('owner')
    const child = await lease('blocking', owner)
    const body = { metadata: { finalizers: ['x.dev/held'] } }
    await here.world.client.patch(leases, { namespace: 'team', name: 'blocking' }, { type: 'merge', body })
    await here.world.pass(1000)
    isCut = ({ path }) => path === '/apis/coordination.k8s.io/v1'
    await define('gadgets')
    await here.world.pass(60_000)
    expect(collector.world.unknownKinds).toEqual(['coordination.k8s.io/v1'])
    expect(collector.world.typeOf({ apiVersion: 'x.dev/v1', kind: 'gadgets' })).toBeDefined()
    await here.remove('owner', 'Foreground')
    expect((await here.get('owner'))?.metadata.finalizers).toEqual(['foregroundDeletion'])
    const finished = { metadata: { finalizers: null } }
    await here.world.client.patch(leases, child.metadata, { type: 'merge', body: finished })
    await here.world.pass(60_000)
    expect([await here.left(), await here.world.names(leases)]).toEqual([[], []])
  })

  it('33: one that cannot be listed holds no other up, and is counted in when it can', async () => {
    isCut = ({ path }) => path.endsWith('/secrets')
    const collector = await start()
    const owner = await here.create('owner')
    await here.create('child', [ownedBy(owner)])
    await here.world.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'unlisted', namespace: 'team', ownerReferences: [ownedBy(owner)] },
    })
    await here.remove('owner')
    expect([await here.left(), collector.world.unknownKinds]).toEqual([[], ['secrets']])
    isCut = () => false
    await here.world.pass(120_000)
    const secret = { apiVersion: 'v1', kind: 'Secret', namespace: 'team', name: 'unlisted' }
    expect([await here.world.get(secret), collector.world.unknownKinds]).toEqual([undefined, []])
  })
})
