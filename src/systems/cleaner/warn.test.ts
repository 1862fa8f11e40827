import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  cleanerOf,
  configMap,
  eventsOf,
  hour,
  left,
  minute,
  readyOf,
  selected,
  self,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { cleaner, type Cleaner } from '../../apis/cleaner.ts'
import { transactOn } from '../../app/core/in-process-deleter.ts'
import { configMaps, events } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import type { Notice } from '../../notices/notice.ts'
import type { Route } from '../../runtime/http/route.ts'
import { createWarnings } from './keep.ts'

const day = 24 * hour
const place = { namespace: 'team', name: 'c' }
let world: World
let running: CleanerProcess
let routes: readonly Route[]
let sent: Notice[]
let isDown: boolean
let publicUrl: string | undefined

beforeEach(async () => {
  world = await startWorld()
  sent = []
  isDown = false
  publicUrl = 'https://sojourn.test'
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

/** Starts the cleaner as `sojourn up` does, with a channel that keeps what it is given. */
async function start({
  through = (transport) => transport,
  isReal = false,
  dryRun = false,
}: { through?: (transport: Transport) => Transport; isReal?: boolean; dryRun?: boolean } = {}): Promise<void> {
  const { notices, routes: pages } = createWarnings({
    client: world.client,
    clock: world.clock,
    network: {
      http: world.http,
      connect: () => {
        throw new Error('no network')
      },
    },
    publicUrl: () => publicUrl,
    dryRun,
    ...(isReal ? {} : { openChannel: () => ({ name: 'chat', audience: 'group', send }) }),
  })
  routes = pages
  running = await startCleaner(world, { notices, through, transact: transactOn(world.server) })
}

function send(notice: Notice) {
  if (isDown) return Promise.reject(new Error('the server is down'))
  sent.push(notice)
  return Promise.resolve({ accepted: ['chat'], rejected: [] })
}

/** A Cleaner that deletes ConfigMap `a` after two days, announced a day before. */
async function furnish(spec: object = {}): Promise<void> {
  await world.create({
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'NotificationChannel',
    metadata: { name: 'chat' },
    spec: { type: 'webhook', webhook: { url: 'https://chat.test' } },
  })
  await world.create(configMap('a', {}, { go: 'yes' }))
  const warn = { before: '24h', channels: ['chat'] }
  await world.create(cleanerOf({ ttl: '48h', targets: [target('a')], warn, ...spec }))
}

const change = (body: object) => world.client.patch(cleaner.type, place, { type: 'merge', body })
const setGo = (go: string) =>
  world.client.patch(configMaps, { ...place, name: 'a' }, { type: 'merge', body: { data: { go } } })
const statusOf = async () => (await world.get<Cleaner>(self))?.status

function ask(method: 'GET' | 'POST', notice = sent.at(-1), change: Record<string, string> = {}) {
  const url = new URL(notice?.items[0]?.optOutUrl ?? '')
  const [, , , group = '', namespace = '', name = ''] = url.pathname.split('/')
  const query = { ...Object.fromEntries(url.searchParams), ...change }
  return routes
    .find((route) => route.method === method)!
    .handle({
      method,
      url: url.pathname,
      remoteAddress: '',
      params: { group, namespace, name },
      query,
      headers: {},
      body: '',
    })
}

it('names what it deletes, in the notice and in an Event', async () => {
  await start({ isReal: true })
  const targets = [
    { ...target('first'), reference: { version: 'v1', kind: 'ConfigMap', name: 'a' } },
    selected('second', { app: 'preview' }),
  ]
  await world.create(configMap('a'))
  await world.create(cleanerOf({ ttl: '48h', targets, warn: { before: '24h' } }))
  await world.pass(25 * hour)
  await world.events.flush()
  const { items } = await world.client.list<StoredObject & { message?: string }>(events, { namespace: 'team' })
  expect(items.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      /^Cleaner team\/c will delete configmap\/a, every configmap with app=preview and itself from \w+, .*To keep it, /,
    ),
  )
})

describe('124: a tenant who may use a channel', () => {
  /** Cleaners of one namespace that tell this owner at once. */
  async function flood(count: number, owner: string): Promise<void> {
    await furnish()
    const warn = { before: '24h', channels: ['chat'] }
    for (let index = 0; index < count; index++) {
      const { metadata, ...rest } = cleanerOf({ ttl: '25h', targets: [target('a')], warn })
      const annotations = { 'sojourn.dev/owner': owner }
      await world.create({ ...rest, metadata: { ...metadata, name: `c${index}`, annotations } })
    }
    await world.pass(hour + 20_000)
  }
  const toVictim = () => sent.filter(({ to }) => to.some((each) => each.toLowerCase() === 'victim@example.org'))

  it('124: sends an address at most 20 notices an hour, and what it could not tell is not deleted', async () => {
    await start()
    await flood(25, 'victim@example.org')
    expect(toVictim()).toHaveLength(20)
    const { items } = await world.client.list<Cleaner>(cleaner.type, { namespace: 'team' })
    const waiting = items.filter(({ status }) => status?.warning?.error !== undefined)
    expect(waiting.map(({ status }) => status?.warning?.error)).toEqual(
      Array.from({ length: 5 }, () => expect.stringContaining('too many notices to victim@example.org within an hour')),
    )
    expect(await left(world)).toEqual(['a'])
    await world.pass(hour + minute)
    expect(toVictim()).toHaveLength(25)
  })

  it('126: sends no more after a restart, and none by tags of one mailbox', async () => {
    await start()
    await flood(25, 'victim@example.org')
    expect(sent).toHaveLength(20)
    await running.kill()
    await start()
    for (let index = 0; index < 25; index++) {
      const { metadata, ...rest } = cleanerOf({
        ttl: '0s',
        targets: [target('a')],
        warn: { before: '24h', channels: ['chat'] },
      })
      const annotations = { 'sojourn.dev/owner': `Victim+${index}@example.org` }
      await world.create({ ...rest, metadata: { ...metadata, name: `d${index}`, annotations } })
    }
    await world.pass(minute)
    // One becomes free every three minutes.
    expect(sent.length).toBeLessThanOrEqual(22)
    const stored = await world.client.get(configMaps, { namespace: 'sojourn-system', name: 'sojourn-notice-limits' })
    expect(JSON.stringify(stored)).not.toContain('victim')
  })

  it('126: sends an address at most 100 notices an hour from all namespaces', async () => {
    await start()
    await furnish()
    for (let index = 0; index < 120; index++) {
      const namespace = `team-${index % 10}`
      if (index < 10) await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      const warn = { before: '24h', channels: ['chat'] }
      const { metadata, ...rest } = cleanerOf({ ttl: '25h', targets: [target('a')], warn })
      const annotations = { 'sojourn.dev/owner': 'victim@example.org' }
      await world.create({ ...rest, metadata: { ...metadata, namespace, name: `c${index}`, annotations } })
    }
    await world.pass(hour + 20_000)
    expect(toVictim()).toHaveLength(100)
  })

  it('124: posts to a chat at most 100 notices an hour', async () => {
    await start()
    await flood(105, '')
    expect(sent).toHaveLength(100)
  })

  it('124: cannot use up the notices of others by a list of addresses', async () => {
    await start()
    await flood(1, Array.from({ length: 1000 }, (_, index) => `u${index}@example.org`).join())
    expect(sent.map(({ to }) => to.length)).toEqual([5])
    expect(await eventsOf(world)).toContain('OwnersRefused')
  })

  it('124: sends no more by editing one Cleaner again and again', async () => {
    await start()
    await flood(1, 'victim@example.org')
    for (let edit = 0; edit < 30; edit++) {
      const body = { spec: { ttl: `${25 * 60 - edit}m` } }
      await world.client.patch(cleaner.type, { ...place, name: 'c0' }, { type: 'merge', body })
      await world.pass(1000)
    }
    expect(toVictim()).toHaveLength(20)
  })
})

describe('a Cleaner with spec.warn', () => {
  it('announces the deletion once, a day before, and deletes on the announced date', async () => {
    await start()
    await furnish()
    await world.pass(day - minute)
    expect(sent).toEqual([])
    await world.pass(2 * minute)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.items[0]).toMatchObject({ kind: 'Cleaner', name: 'c', reasons: ['its TTL expires'] })
    expect(await readyOf(world)).toMatchObject({ status: 'True', reason: 'Announced' })
    expect((await statusOf())?.warning?.date).toBe(
      new Date(sent[0]!.items[0]!.deletionAt).toISOString().replace('.000', ''),
    )
    await world.pass(day - 3 * minute)
    expect(await left(world)).toEqual(['a'])
    await world.pass(5 * minute)
    expect([await left(world), sent.length]).toEqual([[], 1])
  })

  it('counts the whole warning from the notice, however short its TTL', async () => {
    await start()
    await furnish({ ttl: '1m' })
    await world.pass(day - minute)
    expect([await left(world), sent.length]).toEqual([['a'], 1])
    await world.pass(2 * minute)
    expect(await left(world)).toEqual([])
  })

  it('deletes nothing while no channel accepts the notice, and counts the warning from the one that was accepted', async () => {
    await start()
    await furnish()
    isDown = true
    await world.pass(5 * day)
    expect(await left(world)).toEqual(['a'])
    expect(await readyOf(world)).toMatchObject({ status: 'False', reason: 'NotAnnounced' })
    expect((await readyOf(world))?.message).toContain('the server is down')
    isDown = false
    await world.pass(7 * hour)
    expect([await left(world), sent.length]).toEqual([['a'], 1])
    await world.pass(day)
    expect(await left(world)).toEqual([])
  })

  it('keeps everything while a channel does not exist, and names the field', async () => {
    await start()
    await furnish({ warn: { before: '24h', channels: ['chat', 'typo'] } })
    await world.pass(day - minute)
    await world.pass(hour)
    expect(await left(world)).toEqual(['a'])
    const ready = await readyOf(world)
    expect(ready).toMatchObject({ status: 'False', reason: 'ChannelNotFound' })
    expect(ready?.message).toContain('spec.warn.channels[1]: there is no NotificationChannel typo')
    expect(sent).toEqual([])
  })

  it('uses no channel that the identity behind it may not get', async () => {
    await start()
    await furnish({ serviceAccountName: 'absent' })
    await world.pass(day + 10 * minute)
    expect([await left(world), sent]).toEqual([['a'], []])
    expect((await readyOf(world))?.reason).toBe('ServiceAccountNotFound')
  })

  it('announces conditions once they are true, and again when they were false after the date', async () => {
    await start()
    await furnish({ ttl: '1h', conditions: ['a.data.go == "yes"'], retry: { period: '1h' } })
    await setGo('no')
    await world.pass(3 * day)
    expect(sent).toEqual([])
    await setGo('yes')
    await world.pass(minute)
    expect(sent.map(({ items }) => items[0]?.reasons)).toEqual([['all its conditions are true']])
    await setGo('no')
    await world.pass(2 * day)
    expect((await statusOf())?.warning).toBeUndefined()
    await setGo('yes')
    await world.pass(hour)
    expect([await left(world), sent.length]).toEqual([['a'], 2])
    await world.pass(day)
    expect(await left(world)).toEqual([])
  })

  it('announces a changed spec again', async () => {
    await start()
    await furnish()
    await world.create(configMap('b'))
    await world.pass(day + hour)
    await change({ spec: { targets: [target('a'), target('b')] } })
    await world.pass(day - minute)
    expect([await left(world), sent.length]).toEqual([['a', 'b'], 2])
    await world.pass(hour)
    expect(await left(world)).toEqual([])
  })

  it('does not announce what is marked to be kept', async () => {
    await start()
    await furnish({ ttl: '1m' })
    await change({ metadata: { labels: { 'sojourn.dev/keep': 'true' } } })
    await world.pass(hour)
    expect([await left(world), sent]).toEqual([['a'], []])
    expect((await readyOf(world))?.reason).toBe('Held')
  })

  it('does not announce a dry run', async () => {
    await start()
    await furnish({ dryRun: true, ttl: '1m' })
    await world.pass(day)
    expect([await left(world), sent]).toEqual([['a'], []])
  })

  it('is kept by the link of its notice by POST only, and announced anew', async () => {
    await start()
    await furnish()
    await world.pass(day + minute)
    expect(await ask('GET')).toMatchObject({ status: 200, body: expect.stringContaining('Keep Cleaner team/c?') })
    expect((await statusOf())?.keptUntil).toBeUndefined()
    expect(await ask('POST', sent[0], { signature: 'f'.repeat(64) })).toMatchObject({ status: 403 })
    expect((await statusOf())?.keptUntil).toBeUndefined()
    expect(await ask('POST')).toMatchObject({ status: 200, body: expect.stringContaining('is kept') })
    await world.pass(day)
    expect([await left(world), sent.length]).toEqual([['a'], 2])
    // The first link is used up.
    expect(await ask('POST', sent[0])).toMatchObject({ body: expect.stringContaining('is not about to be deleted') })
    await world.pass(day - hour)
    expect(await left(world)).toEqual(['a'])
    await world.pass(2 * hour)
    expect([await left(world), sent.length]).toEqual([[], 2])
    expect(await ask('GET')).toMatchObject({ status: 403 })
  })

  it('is kept by a user who confirms in the very moment of the decision', async () => {
    let isKept = false
    await start({
      through: (transport) => async (request) => {
        const isDecision = request.method === 'PUT' && JSON.stringify(request.body).includes('"decision"')
        if (isDecision && !isKept) {
          isKept = true
          expect(await ask('POST')).toMatchObject({ status: 200 })
        }
        return transport(request)
      },
    })
    await furnish()
    await world.pass(2 * day + minute)
    expect([isKept, await left(world)]).toEqual([true, ['a']])
  })

  it('changes nothing from the link in a dry run', async () => {
    await start({ dryRun: true })
    await furnish()
    await world.pass(day + minute)
    expect(await ask('POST')).toMatchObject({ status: 409 })
    expect((await statusOf())?.keptUntil).toBeUndefined()
  })

  it('gives the command where no public URL is known, in an Event where it names no channel', async () => {
    publicUrl = undefined
    await start({ isReal: true })
    await furnish({ warn: { before: '24h' } })
    await world.pass(day + minute)
    const { items } = await world.client.list<StoredObject & { message: string }>(events, { namespace: 'team' })
    const [message = ''] = items.map((event) => event.message).filter((text) => text.includes('will delete'))
    expect(message).toContain(
      `kubectl patch cleaners.cleaner.vtex.dev -n team c --type=merge -p '{"spec":{"suspend":true}}'`,
    )
  })

  it('is told once and not deleted early, wherever the process is killed', async () => {
    let lost = 1
    for (let isDead = true; isDead; lost++) {
      const namespace = `lost-${lost}`
      await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      isDead = false
      let writes = 0
      const dying: Transport = async (request) => {
        if (isDead) throw new Error('killed')
        const isCounted = request.method !== 'GET' && request.path.includes(`/${namespace}/`)
        if (!isCounted || ++writes < lost) return world.server.transport(request)
        isDead = true
        // Every other request arrives, and only its answer is lost.
        if (lost % 2 === 0) await world.server.transport(request)
        throw new Error('killed')
      }
      await start({ isReal: true, through: () => dying })
      await world.create(configMap('a', { namespace }))
      await world.create(cleanerOf({ ttl: '2h', targets: [target('a')], warn: { before: '1h' } }, { namespace }))
      const date = world.clock.now() + 2 * hour
      await world.clock.run(date - minute, () => isDead)
      await running.kill()
      if (isDead) await world.pass(2 * minute)
      await start({ isReal: true })
      await world.clock.run(date - minute)
      expect(await left(world, namespace)).toEqual(['a'])
      await world.pass(hour)
      expect(await left(world, namespace)).toEqual([])
      expect((await eventsOf(world, namespace)).filter((reason) => reason === 'DeletionAnnounced')).toHaveLength(1)
      await running.kill()
      expect(lost).toBeLessThan(20)
    }
    // The date, the notice and that it was told are writes of their own.
    expect(lost).toBeGreaterThan(4)
  })
})
