import { describe, expect, it } from 'vitest'
import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment } from '../../apis/environment.ts'
import { findCondition } from '../../kube/conditions.ts'
import { configMaps, namespaces } from '../../kube/core-types.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import {
  channel,
  classOf,
  day,
  deploymentOf,
  exists,
  forges,
  hour,
  launch,
  Mails,
  minute,
  namespaceOf,
  place,
  pullUrl,
  read,
  start,
} from '../../../test/environments/environments-world.ts'
import { PullForge } from '../../../test/pull-forge.ts'
import { startWorld, type World } from '../../../test/world.ts'

const withPull = { 'sojourn.dev/owner': 'ada@example.org', 'sojourn.dev/pull-request': pullUrl }
const pulls = { pullRequest: { forges: [...forges] }, channels: [], delete: {} }

const merge = (world: World, type: ResourceType, at: { namespace?: string; name: string }, body: object) =>
  world.client.patch(type, at, { type: 'merge', body })
const label = (world: World, labels: Record<string, string | null>) =>
  merge(world, namespaces, { name: 'shop-pr-42' }, { metadata: { labels } })
const setClass = (world: World, spec: object) => merge(world, environmentClass.type, { name: 'preview' }, { spec })

describe('an Environment that is deleted', () => {
  it('comes back where the class selects its Namespace', async () => {
    await using started = await start({ channels: [] })
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(minute)
    const before = await read(world)
    await world.client.deleteObject(environment.type, place, {})
    await world.pass(minute)
    expect((await read(world)).metadata.uid).not.toBe(before.metadata.uid)
  })

  it('stays away where the class does not, and its Namespace stays', async () => {
    await using started = await start({ channels: [], delete: { after: '1d' } })
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(minute)
    await label(world, { env: null })
    await world.pass(9 * day)
    expect(await world.names(environment.type)).toEqual([])
    expect(await exists(world)).toBe(true)
  })
})

describe('the comment on the pull request', () => {
  it.each([
    [
      'that its Namespace was deleted by others',
      (world: World) => world.client.deleteObject(namespaces, { name: 'shop-pr-42' }, {}),
      /\*\*Environment shop-pr-42\*\* (?:was|is being) deleted\./,
    ],
    [
      'that its Namespace is no environment any more',
      (world: World) => label(world, { env: null }),
      /\*\*Environment shop-pr-42\*\* is no longer looked after by Sojourn\./,
    ],
  ])('says %s', async (_, act, text) => {
    await using started = await start(pulls)
    const { world, forge } = started
    forge.open(42)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(2 * minute)
    expect(forge.comments).toEqual([expect.stringContaining('is awake')])
    forge.isDown = true
    await act(world)
    await world.pass(minute)
    forge.isDown = false
    await world.pass(10 * minute)
    expect(forge.comments).toEqual([expect.stringMatching(text)])
  })

  it('is one for each of two environments of the same pull request', async () => {
    await using started = await start(pulls)
    const { world, forge } = started
    forge.open(42)
    for (const name of ['one', 'two']) await world.create(namespaceOf(name, withPull))
    await world.pass(20 * minute)
    expect(
      forge.comments
        .map((text) => /Environment (\w+)/.exec(text)?.[1])
        .toSorted((a = '', b = '') => a.localeCompare(b)),
    ).toEqual(['one', 'two'])
  })

  it('is written to the new pull request, and what was read of the old one is forgotten', async () => {
    await using started = await start(pulls)
    const { world, forge } = started
    forge.open(42)
    forge.close(43, world.clock.now())
    await world.create(
      namespaceOf('shop-pr-42', { ...withPull, 'sojourn.dev/pull-request': pullUrl.replace('42', '43') }),
    )
    await world.pass(10 * minute)
    expect((await read(world)).status?.pullRequest).toMatchObject({ state: 'closed', commentId: '1' })
    await merge(world, namespaces, { name: 'shop-pr-42' }, { metadata: { annotations: withPull } })
    await world.pass(10 * minute)
    const { status } = await read(world)
    expect(status?.pullRequest).toMatchObject({ url: pullUrl, state: 'open', commentId: '2' })
    expect(status?.pullRequest?.closedAt).toBeUndefined()
    expect(status?.announcement).toBeUndefined()
  })
})

describe('a deletion that is due', () => {
  const soon = { channels: [], delete: { when: 'true', warnBefore: '1h' } }
  const held = async (world: World) => (await read(world)).status

  it.each([
    [
      'an object in it that is to be kept',
      { metadata: { labels: { 'sojourn.dev/keep': 'true' } } },
      /ConfigMap.*settings|settings/,
    ],
  ])('is held by %s, and names it', async (_, mark, name) => {
    await using started = await start(soon)
    const { world } = started
    await world.create(namespaceOf())
    const settings = { namespace: 'shop-pr-42', name: 'settings' }
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: settings })
    await merge(world, configMaps, settings, mark)
    await world.pass(2 * hour)
    expect(await held(world)).toMatchObject({ phase: 'Held', message: expect.stringMatching(name) as string })
    await merge(world, configMaps, settings, { metadata: { labels: null } })
    await world.pass(2 * hour)
    expect(await exists(world)).toBe(false)
  })

  it('waits for the window of its class, and shows when that opens', async () => {
    await using started = await start({ ...soon, delete: { ...soon.delete, window: 'nights' } })
    const { world } = started
    const opens = new Date(world.clock.now() + 12 * hour)
    const at = (date: Date) => date.toISOString().slice(11, 16)
    const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
    const windows = [{ days, start: at(opens), end: at(new Date(opens.getTime() + hour)) }]
    const { apiVersion } = environmentClass
    await world.create({
      apiVersion,
      kind: 'WorkSchedule',
      metadata: { name: 'nights' },
      spec: { timeZone: 'UTC', windows },
    })
    await world.create(namespaceOf())
    await world.pass(2 * hour)
    const status = await held(world)
    expect(status?.phase).toBe('Held')
    expect(Date.parse(status?.deletesAt ?? '')).toBe(Math.floor(opens.getTime() / minute) * minute)
    await world.pass(11 * hour)
    expect(await exists(world)).toBe(false)
  })

  it('is withdrawn when the condition of its class was true for a while only', async () => {
    await using started = await start(soon)
    const { world } = started
    await world.create(namespaceOf())
    await world.pass(30 * minute)
    expect((await held(world))?.phase).toBe('Announced')
    await setClass(world, { delete: { when: 'false' } })
    await world.pass(day)
    expect(await held(world)).toMatchObject({ phase: 'Awake' })
    expect((await held(world))?.announcement).toBeUndefined()
  })

  it('never comes nearer when its class is shortened after the announcement', async () => {
    await using started = await start({ delete: { after: '10d', warnBefore: '4d' } })
    const { world, mails } = started
    await world.create(namespaceOf())
    await world.pass(6 * day + hour)
    const told = mails.sent[0]!.notice.items[0]!.deletionAt
    await setClass(world, { delete: { after: '1d', warnBefore: '1h' } })
    await world.pass(told - world.clock.now() - minute)
    expect(await exists(world)).toBe(true)
    await world.pass(hour)
    expect(await exists(world)).toBe(false)
  })

  it('follows when pushes stop, not when bots comment; a push keeps it from being stale and not from being unused', async () => {
    await using started = await start({ ...pulls, pullRequest: { ...pulls.pullRequest, staleAfter: '3d' } })
    const { world, forge } = started
    forge.open(42)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(day)
    expect(Date.parse((await held(world))?.deletesAt ?? '') - world.clock.now()).toBeLessThan(2.1 * day)
    await world.pass(day)
    await setClass(world, { delete: { after: '4d' } })
    await world.pass(minute)
    expect((await held(world))?.message).toContain('no push and no use')
  })
})

describe('the time', () => {
  it('may jump forward by a year: the owner still has the whole warning', async () => {
    await using started = await start()
    const { world, mails } = started
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.pass(minute)
    await world.pass(365 * day)
    expect(mails.sent).toHaveLength(1)
    const [{ at, notice } = mails.sent[0]!] = mails.sent
    expect(notice.items[0]!.deletionAt).toBeGreaterThanOrEqual(at + day - minute)
  })

  it('that a notice was sent twice shows by its Message-ID, when the process ended before it was recorded', async () => {
    const world = await startWorld()
    const [mails, forge] = [new Mails(), new PullForge()]
    await world.create(channel)
    await world.create(classOf())
    await world.create(namespaceOf())
    let isGone = false
    const first = launch(world, {
      mails,
      forge,
      transport: (request) =>
        isGone && request.method !== 'GET' ? Promise.reject(new Error('killed')) : world.server.transport(request),
    })
    mails.onSend = () => Promise.resolve(void (isGone = true))
    await world.pass(6 * day + hour)
    await first.stop()
    mails.onSend = () => Promise.resolve()
    const second = launch(world, { mails, forge })
    await world.pass(hour)
    const ids = mails.sent.map(({ notice }) => notice.messageId)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    await second.stop()
    await world[Symbol.asyncDispose]()
  })
})

describe('an owner', () => {
  it.each([
    ['with a line break', 'ada@example.org\r\nBcc: all@example.org'],
    ['of nothing but blanks', '   '],
  ])('%s is none: the default of the class is not told either, and nothing is deleted', async (_, owner) => {
    await using started = await start({ delete: { after: '2d' } })
    const { world, mails } = started
    await world.create(namespaceOf('shop-pr-42', { 'sojourn.dev/owner': owner }))
    await world.pass(5 * day)
    expect(mails.sent).toEqual([])
    expect((await read(world)).status).toMatchObject({
      phase: 'Held',
      message: expect.stringContaining('no owner is known') as string,
    })
    expect(await exists(world)).toBe(true)
  })
})

describe('bad input', () => {
  const conditionOf = async (world: World, type: string) => findCondition((await read(world)).status?.conditions, type)

  it.each([
    ['a Secret that is missing', 'other', undefined, 'there is no Secret sojourn-system/other'],
    ['a Secret without a token', 'empty', {}, 'Secret sojourn-system/empty has no token or password'],
  ])('%s is named by PullRequestKnown, and holds the deletion', async (_, name, data, message) => {
    await using started = await start({
      channels: [],
      delete: { after: '1d', warnBefore: '1h' },
      pullRequest: { forges: [{ ...forges[0]!, secretRef: { name } }] },
    })
    const { world } = started
    const metadata = { name, namespace: 'sojourn-system' }
    if (data) await world.create({ apiVersion: 'v1', kind: 'Secret', metadata, data } as unknown as StoredObject)
    await world.create(namespaceOf('shop-pr-42', withPull))
    await world.pass(3 * day)
    expect(await conditionOf(world, 'PullRequestKnown')).toMatchObject({ status: 'False', message })
    expect((await read(world)).status?.message).toContain(`the pull request cannot be read: ${message}`)
    const { status } = await world.client.get<EnvironmentClass>(environmentClass.type, { name: 'preview' })
    expect(findCondition(status?.conditions, 'Ready')?.message).toContain(
      `the pull request of shop-pr-42 cannot be read: ${message}`,
    )
    expect(await exists(world)).toBe(true)
  })
})
