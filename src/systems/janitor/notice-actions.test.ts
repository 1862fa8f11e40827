import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import { noticeHtml } from '../../notices/html.ts'
import { subjectOf, type Channel, type Notice } from '../../notices/notice.ts'
import { noticeText } from '../../notices/text.ts'

const minute = 60_000
const hour = 3_600_000
const day = 86_400_000
let world: JanitorWorld
afterEach(() => world[Symbol.asyncDispose]())

/** A mail channel and a chat channel; the chat refuses as often as it is told to. */
async function start(names: readonly string[], options: { readonly refusals?: number } = {}) {
  const mails: Notice[] = []
  const chats: Notice[] = []
  let left = options.refusals ?? 0
  const channel = (name: string): Channel => ({
    name,
    audience: name === 'mail' ? 'owner' : 'group',
    send: (notice) => {
      if (name === 'chat' && left-- > 0) return Promise.reject(new Error('the chat is down'))
      ;(name === 'mail' ? mails : chats).push(notice)
      return Promise.resolve({ accepted: [name], rejected: [] })
    },
  })
  world = await startJanitorWorld({
    janitor: { clusterName: 'prod-eu', openChannel: ({ metadata }) => channel(metadata.name) },
  })
  for (const name of ['mail', 'chat'])
    await world.channel(name, { type: 'webhook', webhook: { url: 'https://hooks.example.org' } })
  for (const name of names) await world.configMap(name, { annotations: { owner: 'ann@example.org' } })
  await world.pass(2 * hour)
  await world.policy({ notification: { channels: ['mail', 'chat'] }, retention: { duration: '6d' } })
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

  it('C71: sends a copy again that a channel refused, and never the notice itself', async () => {
    const { mails, chats } = await start(['one'], { refusals: 3 })
    await world.pass(hour)
    expect(chats).toHaveLength(1)
    await world.pass(day)
    expect([mails.length, chats.length]).toEqual([1, 1])
  })
})
