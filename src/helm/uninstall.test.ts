import { jobs, secrets } from '../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { cleaner } from '../apis/cleaner.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import {
  cleanerOf,
  configMap,
  eventsOf,
  hour,
  left,
  minute,
  readyOf,
  releaseHolder,
  self,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../test/cleaners.ts'

let world: World
let running: CleanerProcess
beforeEach(async () => {
  world = await startWorld()
  running = await startCleaner(world)
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

const part = (name: string, metadata: object = {}): KubeObject => ({
  ...configMap(name),
  metadata: { name, ...metadata },
})

function job(name: string, annotations: Record<string, string> = {}): KubeObject {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, annotations }, spec: { template } }
}

/** Lets a Cleaner take release `app` away, and an hour pass. */
async function uninstall(helm: object = {}, forMs = hour): Promise<void> {
  await world.create(cleanerOf({ ttl: '0s', helm: { release: 'app', delete: true, ...helm } }))
  await world.pass(forMs)
}

const records = async () =>
  (await world.client.list(secrets, { namespace: 'team' })).items.map(({ metadata }) => metadata.name)
const isThere = async () => (await world.get(self)) !== undefined
const finish = (name: string, type: 'Complete' | 'Failed') =>
  world.client.patch(
    jobs,
    { namespace: 'team', name },
    { type: 'merge', body: { status: { conditions: [{ type, status: 'True' }] } } },
    { subresource: 'status' },
  )

describe('a Helm release', () => {
  it('C2-31: that does not exist is a success', async () => {
    await uninstall()
    expect(await isThere()).toBe(false)
    expect(await eventsOf(world)).not.toContain('HelmUninstallFailed')
  })

  it.each([
    ['no name', ''],
    ['54 characters', 'x'.repeat(54)],
  ])('C2-31: with %s is refused', async (_, release) => {
    await world
      .create(cleanerOf({ ttl: '0s', helm: { release, delete: true } }))
      .catch(() => world.create(cleanerOf({ ttl: '0s', helm: { release: 'Not OK', delete: true } })))
    await world.pass(minute)
    expect(await readyOf(world)).toMatchObject({
      reason: 'InvalidSpec',
      message: expect.stringContaining('spec.helm.release'),
    })
  })

  it('C2-31: whose record cannot be read is reported once, and delays nothing', async () => {
    await world.create({ ...releaseHolder({}), data: { release: btoa('garbage') } })
    await uninstall()
    expect(await isThere()).toBe(false)
    expect(await records()).toEqual(['sh.helm.release.v1.app.v1'])
    expect(await eventsOf(world)).toContain('HelmUninstallFailed')
  })

  it.each(['pending-upgrade', 'failed', 'pending-install', 'uninstalling'])(
    'C2-31: that is %s leaves like any other',
    async (status) => {
      await world.create(configMap('x'))
      await world.create(releaseHolder({ objects: [part('x')], revision: 1, status: 'superseded' }))
      await world.create(releaseHolder({ objects: [part('x')], revision: 2, status }))
      await uninstall()
      expect([await left(world), await records(), await isThere()]).toEqual([[], [], false])
    },
  )

  it('C2-31: that is already uninstalled only loses its records', async () => {
    await world.create(configMap('x'))
    await world.create(releaseHolder({ objects: [part('x')], status: 'uninstalled' }))
    await uninstall()
    expect([await left(world), await records()]).toEqual([['x'], []])
  })

  it('C2-31: keeps objects with a keep policy, and skips kinds that are not served with a warning', async () => {
    const kept = part('kept', { annotations: { 'helm.sh/resource-policy': 'keep' } })
    for (const name of ['kept', 'x']) await world.create(configMap(name))
    const unknown = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'y' } }
    await world.create(releaseHolder({ objects: [kept, part('x'), unknown] }))
    await uninstall()
    expect([await left(world), await records()]).toEqual([['kept'], []])
    const events = await eventsOf(world)
    expect(events).toContain('HelmResourceKept')
    expect(events).toContain('HelmReleaseUninstalled')
  })

  it('may be one of several, which are all uninstalled', async () => {
    for (const name of ['app', 'db', 'other']) {
      await world.create(configMap(name))
      await world.create(releaseHolder({ name, objects: [part(name)] }))
    }
    const releases = ['app', 'db'].map((release) => ({ release, delete: true }))
    await world.create(cleanerOf({ ttl: '0s', helm: { releases } }))
    await world.pass(hour)
    expect(await left(world)).toEqual(['other'])
    expect(await records()).toEqual(['sh.helm.release.v1.other.v1'])
    expect(await isThere()).toBe(false)
  })

  it('keeps an object that belongs to another release', async () => {
    const annotations = { 'meta.helm.sh/release-name': 'other', 'meta.helm.sh/release-namespace': 'team' }
    await world.create(configMap('x', { annotations }))
    await world.create(releaseHolder({ objects: [part('x')] }))
    await uninstall()
    expect([await left(world), await records()]).toEqual([['x'], []])
  })

  it('deletes nothing outside its namespace unless its annotations name the release', async () => {
    await world.create(configMap('x', { namespace: 'default' }))
    await world.create(releaseHolder({ objects: [part('x', { namespace: 'default' })] }))
    await uninstall()
    expect(await left(world, 'default')).toEqual(['x'])
  })

  it('reports when its records cannot be listed', async () => {
    await running.kill()
    running = await startCleaner(world, {
      through: (transport) => (request) =>
        request.path.endsWith('/secrets')
          ? Promise.resolve({
              status: 403,
              headers: {},
              body: { kind: 'Status', reason: 'Forbidden', message: 'no', code: 403 },
            })
          : transport(request),
    })
    await uninstall()
    expect(await eventsOf(world)).toContain('HelmSetupFailed')
    expect(await isThere()).toBe(true)
  })
})

describe('a delete hook', () => {
  const hooked = (hook: KubeObject) =>
    releaseHolder({ objects: [part('x')], hooks: [{ events: ['pre-delete'], object: hook }] })

  it('finishes before any object of the release is deleted, without delaying other Cleaners', async () => {
    await world.create(configMap('x'))
    await world.create(hooked(job('hook')))
    await uninstall({ timeout: '4h' })
    expect(await left(world)).toEqual(['x'])
    for (let index = 0; index < 12; index++)
      await world.create(
        cleanerOf({ ttl: '0s', helm: { release: 'app', delete: true, timeout: '4h' } }, { name: `also-${index}` }),
      )
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '0s', targets: [target('a')] }, { name: 'other' }))
    await world.pass(minute)
    expect(await left(world)).toEqual(['x'])
    await finish('hook', 'Complete')
    await world.pass(minute)
    expect([await left(world), await records(), await isThere()]).toEqual([[], [], false])
    // Those that named the same release ran its hook with the others, and end with it.
    expect(await world.names(cleaner.type)).toEqual([])
  })

  it('C2-31: that hangs times out and is retried, and everything is kept', async () => {
    await world.create(configMap('x'))
    await world.create(hooked(job('hook')))
    await uninstall({ timeout: '2m' }, 90_000)
    const first = await world.client.get<StoredObject>(jobs, { namespace: 'team', name: 'hook' })
    await world.pass(10 * minute)
    expect(await eventsOf(world)).toContain('HelmUninstallFailed')
    expect(await left(world)).toEqual(['x'])
    const second = await world.client.get<StoredObject>(jobs, { namespace: 'team', name: 'hook' })
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
    await finish('hook', 'Complete')
    await world.pass(10 * minute)
    expect([await left(world), await isThere()]).toEqual([[], false])
  })

  it('that fails is retried, and everything is kept', async () => {
    await world.create(configMap('x'))
    await world.create(hooked(job('hook')))
    await uninstall({ timeout: '1h' }, 2000)
    await finish('hook', 'Failed')
    await world.pass(3000)
    expect(await left(world)).toEqual(['x'])
    expect(await readyOf(world)).toMatchObject({
      status: 'False',
      reason: 'HelmUninstallFailed',
      message: expect.stringContaining('failed'),
    })
    expect(await eventsOf(world)).toContain('HelmUninstallFailed')
    await world.pass(10 * minute)
    await finish('hook', 'Complete')
    await world.pass(10 * minute)
    expect(await left(world)).toEqual([])
  })

  it('is not run twice, however often the uninstall is retried', async () => {
    let made = 0
    await running.kill()
    running = await startCleaner(world, {
      through: (transport) => (request) => {
        if (request.method === 'POST' && request.path.endsWith('/jobs')) made++
        return transport(request)
      },
    })
    const policy = { 'helm.sh/hook-delete-policy': 'hook-succeeded' }
    await world.create(
      releaseHolder({
        hooks: [
          { events: ['pre-delete'], object: job('one', policy) },
          { events: ['pre-delete'], object: job('two', policy) },
        ],
      }),
    )
    await uninstall({}, minute)
    await finish('one', 'Complete')
    await world.pass(minute)
    await finish('two', 'Complete')
    await world.pass(minute)
    expect(made).toBe(2)
    expect(await isThere()).toBe(false)
  })
})
