import { configMaps } from '../../src/kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TransportError } from '../../src/client/transport-error.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { signatureOf } from '../../src/notices/webhook-channel.ts'
import { startJanitorWorld, type JanitorWorld } from './janitor-world.ts'
import { startMailSink, startWebSink, type MailSink, type WebSink } from './sinks.ts'

const hour = 3_600_000
const minute = 60_000

let world: JanitorWorld
let mail: MailSink
let web: WebSink

beforeEach(async () => {
  world = await startJanitorWorld()
  mail = await startMailSink()
  web = await startWebSink()
  await world.channel('mail', {
    type: 'smtp',
    smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org' },
  })
  await world.channel('hook', { type: 'webhook', webhook: { url: web.url, secretRef: { name: 'hook' } } })
  await world.channel('slack', { type: 'slack', slack: { url: web.url, users: { 'ann@example.org': 'U1' } } })
  await world.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'hook', namespace: 'sojourn-system' },
    stringData: { key: 'secret' },
  })
})
afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await mail[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
})

async function owned(names: readonly string[], owner: string): Promise<void> {
  for (const name of names) await world.configMap(name, { annotations: { owner } })
}

/** A mail's text as people read it. */
function plain(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

describe('mails', () => {
  it('C25 C26: notify each owner once of all resources, in as many mails as needed', async () => {
    await owned(['a1', 'a2', 'a3'], 'ann@example.org')
    await owned(['b1'], 'bob@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'], itemsPerMessage: 2 } })
    await world.pass(minute)
    expect(mail.mails.map(({ to }) => to.join()).toSorted()).toEqual([
      'ann@example.org',
      'ann@example.org',
      'bob@example.org',
    ])
    const all = mail.mails.map(({ text }) => plain(text)).join('\n')
    for (const name of ['a1', 'a2', 'a3', 'b1']) expect(all).toContain(`team/${name}`)
    const projected = (await world.candidates()).map(({ status }) => status?.projectedDeletionTime)
    expect(new Set(projected).size).toBe(1)
    expect(all).toMatch(/Mon, 5 Jan 2026, 16:0\d \(UTC\)/)
    expect(Object.values(await world.phases())).toEqual(Array(4).fill('Notified'))
  })

  it('C28 E2: that fail hold the deletion, are retried, and the retention starts when one arrives', async () => {
    mail.refuse = () => ({ code: 451, message: 'later' })
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(10 * hour)
    expect(await world.phases()).toEqual({ one: 'Marked' })
    expect(await world.exists('one')).toBe(true)
    const [held] = await world.candidates()
    expect(held?.status?.notices?.at(-1)?.error).toContain('451')
    mail.refuse = () => undefined
    const before = world.clock.now()
    await world.pass(7 * hour)
    const [told] = await world.candidates()
    const toldAt = Date.parse(told?.status?.notices?.findLast(({ error }) => !error)?.at ?? '')
    expect(toldAt).toBeGreaterThanOrEqual(before - 1000)
    expect(Date.parse(told?.status?.projectedDeletionTime ?? '')).toBeGreaterThanOrEqual(toldAt + 6 * hour)
    await world.pass(7 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('C26: notify two owners of three marks in two mails', async () => {
    await owned(['a1', 'a2'], 'ann@example.org')
    await owned(['b1'], 'bob@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(minute)
    expect(mail.mails.map(({ to }) => to.join()).toSorted()).toEqual(['ann@example.org', 'bob@example.org'])
    expect(Object.values(await world.phases())).toEqual(['Notified', 'Notified', 'Notified'])
  })

  it('C27: omit resources that were opted out in the meantime', async () => {
    mail.refuse = () => ({ code: 451, message: 'later' })
    await owned(['one'], 'ann@example.org')
    await world.configMap('two', { annotations: { owner: 'ann@example.org' }, labels: { needed: 'yes' } })
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(10_000)
    mail.refuse = () => undefined
    await world.create({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'CleanupOptOut',
      metadata: { name: 'two' },
      spec: { selector: { apiVersion: 'v1', kind: 'ConfigMap', labels: { matchLabels: { needed: 'yes' } } } },
    })
    await world.pass(hour)
    expect(mail.mails).toHaveLength(1)
    expect(plain(mail.mails[0]?.text ?? '')).toContain('team/one')
    expect(plain(mail.mails[0]?.text ?? '')).not.toContain('team/two')
    const stamps = (await world.candidates()).map(({ spec, status }) => [
      spec.resource.name,
      (status?.notices ?? []).filter(({ error }) => error === undefined).length,
    ])
    expect(stamps).toEqual([
      ['one', 1],
      ['two', 0],
    ])
  })

  it('E2: are confirmed when one of two recipients accepts', async () => {
    mail.refuse = (address) => (address.startsWith('bob') ? { code: 550, message: 'no such user' } : undefined)
    await owned(['one'], 'ann@example.org, bob@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(minute)
    const [candidate] = await world.candidates()
    expect(candidate?.status?.phase).toBe('Notified')
    expect(candidate?.status?.notices?.map(({ recipient, error }) => [recipient, error !== undefined])).toEqual([
      ['ann@example.org', false],
      ['bob@example.org', true],
    ])
  })

  it('E2: of which only another recipient got a copy are not confirmed', async () => {
    mail.refuse = (recipient) => (recipient === 'ann@example.org' ? { code: 550, message: 'no such user' } : undefined)
    await world.channel('copied', {
      type: 'smtp',
      smtp: { host: '127.0.0.1', port: mail.port, from: 'janitor@example.org', cc: ['platform@example.org'] },
    })
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['copied'] } })
    await world.pass(20 * hour)
    expect(await world.phases()).toEqual({ one: 'Marked' })
    expect(await world.exists('one')).toBe(true)
  })

  it.each(['events', 'slack'])(
    'E2: that are refused hold everything, though %s took the notice, once',
    async (other) => {
      mail.refuse = () => ({ code: 550, message: 'no such user' })
      await owned(['one'], 'ann@example.org')
      await world.pass(2 * hour)
      await world.policy({ notification: { channels: ['mail', other] } })
      await world.pass(20 * hour)
      expect(await world.phases()).toEqual({ one: 'Marked' })
      expect(await world.exists('one')).toBe(true)
      const [held] = await world.candidates()
      expect(held?.status?.notices?.filter(({ kind, error }) => kind === 'copy' && !error)).toHaveLength(1)
      mail.refuse = () => undefined
      await world.pass(14 * hour)
      expect(await world.exists('one')).toBe(false)
    },
  )

  it.each([
    ['long before its date', 2 * hour],
    ['in the last minutes', 5 * hour + 55 * minute],
  ])('E2: tell the new owner of what was passed on %s, who has as long as the first', async (_, when) => {
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(when)
    const annotations = { owner: 'bob@example.org' }
    const type = configMaps
    await world.client.patch(
      type,
      { namespace: 'team', name: 'one' },
      { type: 'merge', body: { metadata: { annotations } } },
    )
    await world.pass(5 * hour)
    expect(mail.mails.map(({ to }) => to.join())).toEqual(['ann@example.org', 'bob@example.org'])
    expect(await world.exists('one')).toBe(true)
    await world.pass(3 * hour)
    expect(await world.exists('one')).toBe(false)
    expect(mail.mails).toHaveLength(2)
  })

  it('E1: without an owner are not sent, and nothing is deleted', async () => {
    await world.configMap('orphan')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'] } })
    await world.pass(10 * hour)
    const [candidate] = await world.candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Marked', conditions: [{ type: 'OwnerUnknown', status: 'True' }] })
    expect(await world.exists('orphan')).toBe(true)
  })

  it('remind before the date, and do not move it', async () => {
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['mail'], remindBefore: ['2h'] } })
    await world.pass(minute)
    const date = (await world.candidates())[0]?.status?.projectedDeletionTime
    await world.pass(5 * hour)
    expect(mail.mails.map(({ text }) => /^Subject: (?:\[[^\]]*\] )?(\w+)/m.exec(text)?.[1])).toEqual([
      'ConfigMap',
      'Reminder',
    ])
    expect((await world.candidates())[0]?.status?.projectedDeletionTime).toBe(date)
  })

  it('remind as often as configured, and are retried with growing backoff', async () => {
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({
      retention: { duration: '100h' },
      notification: { channels: ['mail'], remindBefore: ['60h', '20h'] },
    })
    await world.pass(minute)
    let tries = 0
    mail.refuse = () => ({ code: 451, message: `later, ${++tries}` })
    await world.pass(60 * hour)
    expect(tries).toBeGreaterThan(3)
    expect(tries).toBeLessThan(20)
    mail.refuse = () => undefined
    await world.pass(30 * hour)
    const ids = mail.mails.map(({ text }) => /^message-id: (.*)$/im.exec(text)?.[1])
    expect(new Set(ids).size).toBe(3)
    expect(mail.mails).toHaveLength(3)
    await world.pass(20 * hour)
    expect(await world.exists('one')).toBe(false)
  })

  it('show hostile names as text', async () => {
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({
      notification: { channels: ['mail'] },
      rules: [
        {
          rules: [
            { name: 'AttributeRule', description: '<script>alert(1)</script>', parameters: { namespace: 'team' } },
          ],
        },
      ],
    })
    await world.pass(minute)
    const text = plain(mail.mails[0]?.text ?? '')
    expect(text.slice(text.indexOf('<html'))).not.toContain('<script>')
  })
})

describe('webhooks', () => {
  it('carry a CloudEvent that is signed over method, path, time and body', async () => {
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['hook'] } })
    await world.pass(minute)
    const [post] = web.posts
    const event = JSON.parse(post?.body ?? '{}') as {
      type: string
      data: { owners: string[]; resources: { name: string; deletedFrom: string }[] }
    }
    expect(event).toMatchObject({
      specversion: '1.0',
      type: 'dev.sojourn.cleanup.notice',
      data: { owners: ['ann@example.org'], resources: [{ name: 'one' }] },
    })
    const timestamp = String(post?.headers['x-sojourn-timestamp'])
    const signature = signatureOf('secret', { method: 'POST', path: '/hook', timestamp, body: post?.body ?? '' })
    expect(post?.headers['x-sojourn-signature']).toBe(`sha256=${signature}`)
  })

  it('are retried when the receiver asks for it', async () => {
    web.answer = () => ({ status: 429, headers: { 'retry-after': '1800' } })
    await owned(['one'], 'ann@example.org')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['hook'] } })
    await world.pass(20 * minute)
    expect(web.posts).toHaveLength(1)
    web.answer = () => ({ status: 200 })
    await world.pass(20 * minute)
    expect(web.posts).toHaveLength(2)
    expect(await world.phases()).toEqual({ one: 'Notified' })
  })
})

describe('Slack', () => {
  it('has a button for each resource, and mentions no user by a resource name', async () => {
    await world.configMap('one', { annotations: { owner: 'ann@example.org' } })
    await world.pass(2 * hour)
    await world.policy({
      notification: { channels: ['slack'] },
      rules: [
        { rules: [{ name: 'AttributeRule', description: '<!channel> & co', parameters: { namespace: 'team' } }] },
      ],
    })
    await world.pass(minute)
    const body = web.posts[0]?.body ?? ''
    expect(body).toContain('"Keep it"')
    expect(body).toContain('For <@U1>')
    expect(body).toContain('&lt;!channel&gt; &amp; co')
    expect(body).not.toContain('<!channel>')
  })

  it.each([400, 404, 500])('that answers %i confirms nothing', async (status) => {
    web.answer = () => ({ status, body: 'no_service' })
    await world.configMap('one')
    await world.pass(2 * hour)
    await world.policy({ notification: { channels: ['slack'] } })
    await world.pass(minute)
    expect(await world.phases()).toEqual({ one: 'Marked' })
  })
})

describe('a notice that was sent but could not be recorded', () => {
  it('E3: is sent again with the same id, and nothing is deleted before either date', async () => {
    let failures = 1
    const through =
      (transport: Transport): Transport =>
      async (request) => {
        const isStamp =
          request.method === 'PUT' && request.path.includes('/cleanupcandidates/') && web.posts.length === 1
        if (isStamp && failures-- > 0) throw new TransportError('the connection broke')
        return transport(request)
      }
    await using other = await startJanitorWorld({ through })
    await other.channel('hook', { type: 'webhook', webhook: { url: web.url } })
    await other.configMap('one')
    await other.pass(2 * hour)
    await other.policy({ notification: { channels: ['hook'] } })
    await other.pass(10 * minute)
    const sent = web.posts.map(
      ({ body }) => JSON.parse(body) as { id: string; data: { resources: { deletedFrom: string }[] } },
    )
    expect(sent).toHaveLength(2)
    expect(sent[0]?.id).toBe(sent[1]?.id)
    const [candidate] = await other.candidates()
    const dates = sent.map(({ data }) => data.resources[0]?.deletedFrom ?? '')
    expect(candidate?.status?.phase).toBe('Notified')
    for (const date of dates) expect((candidate?.status?.projectedDeletionTime ?? '') >= date).toBe(true)
  })
})
