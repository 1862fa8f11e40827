import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  cleanerOf,
  configMap,
  left,
  minute,
  readyOf,
  releaseHolder,
  self,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import type { Cleaner } from '../../apis/cleaner.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { restore } from '../../departures/restore/restore.ts'
import { readRelease } from '../../helm/release-record.ts'
import { secrets } from '../../kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'

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

const password: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'password', namespace: 'team' },
  data: { password: btoa('hunter2') },
}

/** Lets a Cleaner with a target and a release of two objects carry out its decision. */
async function decided(): Promise<Departure> {
  await world.create(configMap('a', {}, { k: 'v' }))
  await world.create(configMap('part', {}, { k: 'v' }))
  await world.create(password)
  await world.create(releaseHolder({ name: 'web', revision: 1, status: 'superseded', objects: [configMap('part')] }))
  await world.create(releaseHolder({ name: 'web', revision: 2, objects: [configMap('part'), password] }))
  await world.create(cleanerOf({ ttl: '0s', targets: [target('a')], helm: { release: 'web', delete: true } }))
  await world.pass(minute)
  expect(await left(world)).toEqual([])
  return recordOf('Cleaner')
}

async function recordOf(kind: string): Promise<Departure> {
  const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
  const found = items.find(({ spec }) => spec.object.kind === kind)
  if (!found) throw new Error(`there is no record of a ${kind}`)
  return found
}

const helmRecords = async () => {
  const { items } = await world.client.list<StoredObject>(secrets, { namespace: 'team', labelSelector: 'owner=helm' })
  return items.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name))
}

describe('the restore of a decision', () => {
  it('returns the Cleaner suspended, its targets, and its release with a record that Helm reads', async () => {
    const record = await decided()
    const { notes } = await restore(world.client, record, { now: world.clock.now() })
    // Where Sojourn does not run any more, its finalizers would keep the Cleaner for ever.
    expect((await world.get<Cleaner>(self))?.metadata.finalizers).toBeUndefined()
    await world.pass(10 * minute)
    expect(await left(world)).toEqual(['a', 'part'])
    expect((await world.get<Cleaner>(self))?.spec.suspend).toBe(true)
    expect(await readyOf(world)).toMatchObject({ status: 'True', reason: 'Suspended' })
    const holders = await helmRecords()
    expect(holders.map(({ metadata }) => metadata.labels)).toMatchObject([
      { version: '1', status: 'superseded' },
      { version: '2', status: 'deployed' },
    ])
    const release = await readRelease({ ...holders[1]!, kind: 'Secret' })
    expect(release).toMatchObject({ name: 'web', version: 2, info: { status: 'deployed' } })
    expect(release.parsed.objects.map(({ metadata }) => metadata.name)).toEqual(['part', 'password'])
    expect(notes).toContain('Cleaner/team/c was restored suspended: set spec.suspend to false once it may delete again')
  })

  it('keeps no value of a Secret in any record, not even inside a Helm record', async () => {
    await decided()
    const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
    const holder = items.find(({ spec }) => spec.object.name === 'sh.helm.release.v1.web.v2')
    const release = await readRelease({ ...(holder?.spec.manifest as unknown as StoredObject), kind: 'Secret' })
    const everything = JSON.stringify([items, release])
    expect(everything).not.toContain('hunter2')
    expect(everything).not.toContain(btoa('hunter2'))
  })

  it('returns the release with its values where records keep the data of Secrets', async () => {
    await running.kill()
    await world[Symbol.asyncDispose]()
    world = await startWorld({ recordSecrets: true })
    await world.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'sojourn-system', name: 'sojourn-record-keys' },
      data: { a: btoa('0123456789abcdef0123456789abcdef') },
    })
    running = await startCleaner(world)
    const record = await decided()
    const { notes } = await restore(world.client, record, { now: world.clock.now() })
    expect(notes.join()).not.toContain('without')
    expect(await world.get({ apiVersion: 'v1', kind: 'Secret', namespace: 'team', name: 'password' })).toMatchObject({
      data: password.data,
    })
    const [, newest] = await helmRecords()
    expect(newest?.metadata.labels).toMatchObject({ status: 'deployed' })
    const release = await readRelease({ ...newest!, kind: 'Secret' })
    expect(release.info.status).toBe('deployed')
    expect(release.manifest).toContain(btoa('hunter2'))
  })

  it('shows in a dry run what would come back, and changes nothing', async () => {
    const record = await decided()
    const { objects } = await restore(world.client, record, { now: world.clock.now(), dryRun: true })
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
      'Cleaner c',
      'ConfigMap a',
      'ConfigMap part',
      'Secret password',
      'Secret sh.helm.release.v1.web.v1',
      'Secret sh.helm.release.v1.web.v2',
    ])
    expect(await left(world)).toEqual([])
    expect((await recordOf('Cleaner')).status?.phase).not.toBe('Restored')
  })

  it('of one target returns only that', async () => {
    await decided()
    const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
    const record = items.find(({ spec }) => spec.object.name === 'a')!
    await restore(world.client, record, { now: world.clock.now() })
    expect(await left(world)).toEqual(['a'])
  })
})
