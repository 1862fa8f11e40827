import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import { configMaps } from '../../kube/core-types.ts'
import { noticeHtml } from '../../notices/html.ts'
import { subjectOf, type Channel, type Notice } from '../../notices/notice.ts'
import type { JanitorOptions } from './janitor.ts'
import { slackMessages } from '../../notices/slack.ts'
import { noticeText } from '../../notices/text.ts'

const minute = 60_000
const hour = 3_600_000
const day = 86_400_000
let world: JanitorWorld
afterEach(() => world[Symbol.asyncDispose]())

/** A mail channel and a chat channel; the chat refuses as often as it is told to. */
async function start(
  names: readonly string[],
  options: {
    readonly refusals?: number
    readonly ownerOf?: (name: string) => string
    readonly refuses?: (notice: Notice) => boolean
    readonly janitor?: Pick<JanitorOptions, 'publicUrl'>
    readonly policy?: Parameters<JanitorWorld['policy']>[0]
  } = {},
) {
  const { ownerOf = () => 'ann@example.org', refuses = () => false } = options
  const mails: Notice[] = []
  const chats: Notice[] = []
  let left = options.refusals ?? 0
  const channel = (name: string): Channel => ({
    name,
    audience: name === 'mail' ? 'owner' : 'group',
    send: (notice) => {
      if (name === 'chat' && left-- > 0) return Promise.reject(new Error('the chat is down'))
      if (name === 'mail' && refuses(notice)) return Promise.reject(new Error('no such user'))
      ;(name === 'mail' ? mails : chats).push(notice)
      return Promise.resolve({ accepted: name === 'mail' ? notice.to : [name], rejected: [] })
    },
  })
  world = await startJanitorWorld({
    janitor: { clusterName: 'prod-eu', openChannel: ({ metadata }) => channel(metadata.name), ...options.janitor },
  })
  for (const name of ['mail', 'chat'])
    await world.channel(name, { type: 'webhook', webhook: { url: 'https://hooks.example.org' } })
  for (const name of names) await world.configMap(name, { annotations: { owner: ownerOf(name) } })
  await world.pass(2 * hour)
  const usual = { notification: { channels: ['mail', 'chat'] }, retention: { duration: '6d' } }
  await world.policy(options.policy ?? usual)
  await world.pass(minute)
  return { mails, chats }
}

const pathOf = (url: string | undefined) => (url ?? '').replace('https://sojourn.example', '')

describe('a notice', () => {
  it('names its cluster, and speaks of one resource in the singular', async () => {
    const { mails } = await start(['one'])
    expect(subjectOf(mails[0]!)).toMatch(/^\[prod-eu\] ConfigMap one will be deleted from /)
    expect(noticeText(mails[0]!)).toContain('(cluster prod-eu)')
    expect(noticeText(mails[0]!)).toContain('this resource seems to be no longer needed')
    expect(noticeHtml(mails[0]!)).not.toMatch(/these resources|Keep all/)
  })

  it('C69: keeps all of its resources by one link, which is good for nothing else', async () => {
    const { mails } = await start(['one', 'two'])
    await world.configMap('other', { annotations: { owner: 'bob@example.org' } })
    await world.pass(2 * hour)
    expect(noticeHtml(mails[0]!)).toContain('Keep all of these')
    const path = pathOf(mails[0]?.listUrl)
    const shown = await world.call('GET', path)
    expect(String(shown.body)).toContain('Keep all of these 2 resources?')
    expect(await world.phases()).toMatchObject({ one: 'Notified', two: 'Notified' })
    const forged = path.replace('ann%40', 'bob%40')
    expect((await world.call('POST', forged, { body: 'for=ever' })).status).toBe(403)
    expect((await world.call('POST', path, { body: 'for=ever' })).status).toBe(200)
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'OptedOut', two: 'OptedOut', other: 'Notified' })
  })

  describe('of owners that are combined', () => {
    const names = Array.from({ length: 12 }, (_, index) => `map-${index}`)
    const combined = (name: string) => `victim@example.org,${name}@example.org`
    const namesOf = (notices: readonly Notice[]) =>
      notices.flatMap(({ items }) => items.map(({ name }) => name)).toSorted()
    const to = (address: string, notices: readonly Notice[]) => notices.filter((each) => each.to.includes(address))

    it.each([
      ['each with another', combined],
      [
        'each in another case',
        (name: string) =>
          `${name}@example.org,${'victim'.slice(0, Number(name.slice(4)) % 6).toUpperCase()}${'victim'.slice(Number(name.slice(4)) % 6)}@example.org`,
      ],
    ])('124: is one per address: %s', async (_, ownerOf) => {
      const { mails, chats } = await start(names, { ownerOf })
      const isVictim = ({ to: [address = ''] }: Notice) => address.toLowerCase() === 'victim@example.org'
      // Marks that were in the cache before the others may be announced before them.
      expect(mails.filter(isVictim).length).toBeLessThanOrEqual(2)
      expect(namesOf(mails.filter(isVictim))).toEqual(names.toSorted())
      expect(namesOf(to('map-3@example.org', mails))).toEqual(['map-3'])
      expect(mails.every((each) => each.to.length === 1)).toBe(true)
      expect(namesOf(chats)).toEqual(names.toSorted())
      expect(new Set(Object.values(await world.phases()))).toEqual(new Set(['Notified']))
    })

    it('124: has a list of what is its own address, alone or with others', async () => {
      const { mails } = await start(['map-1', 'map-2'], { ownerOf: combined })
      const list = String((await world.call('GET', pathOf(to('map-1@example.org', mails)[0]?.listUrl))).body)
      expect(list).toContain('team/map-1')
      expect(list).not.toContain('team/map-2')
      const path = pathOf(to('victim@example.org', mails).at(-1)?.listUrl)
      expect((await world.call('POST', path, { body: 'for=ever' })).status).toBe(200)
      await world.pass(minute)
      expect(await world.phases()).toEqual({ 'map-1': 'OptedOut', 'map-2': 'OptedOut' })
    })

    it('124: confirms a mark by any of its addresses, and never one whose addresses all refuse', async () => {
      const refused = ['victim@example.org', 'map-2@example.org']
      await start(['map-1', 'map-2'], {
        ownerOf: combined,
        refuses: ({ to: [address = ''] }) => refused.includes(address),
      })
      expect(await world.phases()).toEqual({ 'map-1': 'Notified', 'map-2': 'Marked' })
      const notices =
        (await world.candidates()).find(({ spec }) => spec.resource.name === 'map-1')?.status?.notices ?? []
      expect(notices.some(({ error }) => error === 'no such user')).toBe(true)
      await world.pass(8 * day)
      expect([await world.exists('map-1'), await world.exists('map-2')]).toEqual([false, true])
    })
  })

  it('126: is one per address, however often the owner changes to and fro', async () => {
    const { mails } = await start(['one'])
    for (let change = 0; change < 12; change++) {
      const owner = change % 2 === 0 ? 'bob@example.org' : 'ann@example.org'
      const body = { metadata: { annotations: { owner } } }
      await world.client.patch(configMaps, { namespace: 'team', name: 'one' }, { type: 'merge', body })
      await world.pass(2 * hour)
    }
    expect(mails.map(({ to }) => to.join())).toEqual(['ann@example.org', 'bob@example.org'])
    await world.pass(8 * day)
    expect(await world.exists('one')).toBe(false)
  })

  it('126: is at most 20 an hour to the tags of one mailbox, and the others stay until theirs are sent', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `map-${index}`)
    const { mails } = await start(names, { ownerOf: (name) => `ann+${name}@example.org` })
    expect(mails).toHaveLength(20)
    expect(Object.values(await world.phases()).filter((phase) => phase === 'Marked')).toHaveLength(10)
    await world.pass(2 * hour)
    expect(mails).toHaveLength(30)
  })

  it('126: of a best-effort policy is not skipped because there were too many', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `map-${index}`)
    const { mails } = await start(names, {
      ownerOf: (name) => `ann+${name}@example.org`,
      policy: { notification: { channels: ['mail'], onFailure: 'Proceed' }, retention: { duration: '1s' } },
    })
    expect(mails).toHaveLength(20)
    const left = await Promise.all(names.map((name) => world.exists(name)))
    expect(left.filter(Boolean).length).toBeGreaterThanOrEqual(10)
  })

  it('C70: keeps a resource for 30 days, then marks and announces it anew', async () => {
    const { mails } = await start(['one'])
    const path = pathOf(mails[0]?.items[0]?.optOutUrl)
    const kept = await world.call('POST', path, { body: 'for=30d' })
    expect(String(kept.body)).toContain('will delete it for 30 days')
    await world.pass(29 * day)
    expect(await world.phases()).toEqual({ one: 'OptedOut' })
    expect(mails).toHaveLength(1)
    await world.pass(2 * day)
    expect(await world.phases()).toEqual({ one: 'Notified' })
    expect(mails).toHaveLength(2)
    expect(await world.exists('one')).toBe(true)
  })

  it('58: has a link that is good for its own mark only', async () => {
    const { mails } = await start(['one'])
    const path = pathOf(mails[0]?.items[0]?.optOutUrl)
    await world.call('POST', path, { body: 'for=30d' })
    await world.pass(31 * day)
    expect(await world.phases()).toEqual({ one: 'Notified' })
    const reused = await world.call('POST', path, { body: 'for=ever' })
    expect([reused.status, String(reused.body)]).toEqual([403, expect.stringContaining('has expired')])
    expect(await world.phases()).toEqual({ one: 'Notified' })
    expect((await world.call('POST', pathOf(mails[1]?.items[0]?.optOutUrl), { body: 'for=ever' })).status).toBe(200)
  })

  it('58: tells without a valid link not what is marked', async () => {
    const { mails } = await start(['one'])
    const path = pathOf(mails[0]?.items[0]?.optOutUrl).replace(/signature=\w{8}/, 'signature=00000000')
    const unknown = path.replace(/opt-out\/[^?]+/, 'opt-out/none')
    expect(await world.call('GET', path)).toEqual(await world.call('GET', unknown))
  })

  it('is one digest that names every resource, for an owner of many', async () => {
    const names = Array.from({ length: 45 }, (_, index) => `map-${index}`)
    const { mails } = await start(names)
    // Marks that were in the cache before the others may be announced before them.
    expect(mails.reduce((sum, { items }) => sum + items.length, 0)).toBe(45)
    const digest = mails.find(({ isDigest }) => isDigest)!
    for (const text of [noticeText(digest), noticeHtml(digest)]) {
      for (const { name } of digest.items) expect(text).toContain(`ConfigMap team/${name}`)
      expect(text).toContain('Keep all of these')
    }
    const list = String((await world.call('GET', pathOf(digest.listUrl))).body)
    for (const name of names) expect(list).toContain(`team/${name}`)
  })

  it('127: is one digest with commands where no public URL is known', async () => {
    const names = Array.from({ length: 45 }, (_, index) => `map-${index}`)
    const { mails } = await start(names, { janitor: { publicUrl: () => undefined } })
    // Marks that were in the cache before the others may be announced before them.
    expect(mails.length).toBeLessThanOrEqual(2)
    const digest = mails.find(({ isDigest }) => isDigest)!
    const slack = slackMessages(digest)
    expect(slack).toHaveLength(1)
    for (const text of [noticeText(digest), noticeHtml(digest), JSON.stringify(slack)]) {
      for (const { name } of digest.items) expect(text).toContain(`sojourn opt-out configmap/${name} -n team`)
      expect(text).not.toMatch(/https?:|undefined|full list/)
    }
  })

  it('C71: sends a copy again that a channel refused, and never the notice itself', async () => {
    const { mails, chats } = await start(['one'], { refusals: 3 })
    await world.pass(hour)
    expect(chats).toHaveLength(1)
    await world.pass(day)
    expect([mails.length, chats.length]).toEqual([1, 1])
  })
})
