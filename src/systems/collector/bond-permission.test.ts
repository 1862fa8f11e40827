import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { Cascades, type CascadeOptions } from '../../../test/cascades.ts'
import { bond, grantAnnotation, holdFinalizer } from '../../apis/bond.ts'
import { Client } from '../../client/client.ts'
import type { Transport } from '../../kube/transport.ts'
import { bondController } from './bonds/bond-controller.ts'

let here: Cascades
afterEach(() => here[Symbol.asyncDispose]())

describe('a Bond without the leave of another namespace', () => {
  const grantedTo = (namespace: string) =>
    here.world.client.patch(
      namespaces,
      { name: 'platform' },
      { type: 'merge', body: { metadata: { annotations: { [grantAnnotation]: namespace } } } },
    )
  const goneFromPlatform = async () => {
    await here.world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
    await here.world.pass(20_000)
    return (await here.get('database', 'platform')) === undefined
  }
  async function startWithPlatform(options: CascadeOptions = {}): Promise<void> {
    here = await Cascades.start(options)
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
    await here.create('database', [], { namespace: 'platform' })
    await here.create('app')
  }
  const patchBond = (body: object) =>
    here.world.client.patch(bond.type, { namespace: 'team', name: 'app-database' }, { type: 'merge', body })

  it.each(['Deny', 'Hold'] as const)('does not come into force when it cannot be read: %s', async (onDelete) => {
    await startWithPlatform()
    await here.bind('app', 'database', onDelete, { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    await patchBond({ spec: { dependent: { kind: 'Nothing' } } })
    await here.world.pass(20_000)
    expect((await here.bond('app-database'))?.status).toMatchObject({
      phase: 'Pending',
      conditions: [{ status: 'False', reason: 'KindNotFound' }],
    })
    expect(await goneFromPlatform()).toBe(true)
  })

  it('guards nothing by a uid that it says itself', async () => {
    await startWithPlatform()
    const { uid } = (await here.get('database', 'platform'))?.metadata ?? {}
    await here.world.create({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'b', namespace: 'team' },
      spec: {
        dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'app' },
        dependency: { apiVersion: 'nowhere.dev/v1', kind: 'Nothing', namespace: 'platform', name: 'database', uid },
        onDelete: 'Deny',
      },
    } as never)
    await here.world.pass(20_000)
    expect(await goneFromPlatform()).toBe(true)
  })

  it('keeps nothing waiting for what follows it, however long that takes', async () => {
    await startWithPlatform()
    await here.world.client.patch(
      configMaps,
      { namespace: 'team', name: 'app' },
      { type: 'merge', body: { metadata: { finalizers: ['x.dev/held'] } } },
    )
    await here.bind('app', 'database', 'Cascade', { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    const answer = await here.world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
    expect(answer.metadata?.finalizers).toBeUndefined()
    await here.world.pass(20_000)
    expect(await here.get('database', 'platform')).toBeUndefined()
    expect((await here.get('app'))?.metadata.deletionTimestamp).toBeDefined()
  })

  it.each(['Hold', 'Cascade'] as const)(
    'releases what it held when the permission is withdrawn: %s',
    async (onDelete) => {
      await startWithPlatform()
      await grantedTo('team')
      await here.bind('app', 'database', onDelete, { dependencyNamespace: 'platform' })
      await here.world.pass(5000)
      expect((await here.get('database', 'platform'))?.metadata.finalizers).toEqual([holdFinalizer])
      await grantedTo('others')
      await here.world.pass(20_000)
      expect((await here.get('database', 'platform'))?.metadata.finalizers).toBeUndefined()
    },
  )

  it('goes on holding while its permission is unknown', async () => {
    await startWithPlatform({ isRunning: false })
    await grantedTo('team')
    let isForbidden = false
    const through: Transport = (request) =>
      isForbidden && request.path === '/api/v1/namespaces/platform'
        ? Promise.resolve({
            status: 403,
            body: { kind: 'Status', reason: 'Forbidden', code: 403, message: 'no' },
          } as never)
        : here.world.server.transport(request)
    here.world.run(bondController({ ...here.world, client: new Client(through) }))
    await here.bind('app', 'database', 'Deny', { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    isForbidden = true
    await patchBond({ metadata: { labels: { look: 'again' } } })
    await here.world.pass(60_000)
    expect((await here.bond('app-database'))?.status).toMatchObject({
      phase: 'Active',
      conditions: [
        { type: 'Ready', status: 'Unknown', reason: 'Forbidden' },
        { type: 'Reconciling', status: 'True' },
      ],
    })
    await expect(goneFromPlatform()).rejects.toThrow('is in use by Bond team/app-database')
  })
})
