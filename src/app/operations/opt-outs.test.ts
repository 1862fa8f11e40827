import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { Client } from '../../client/client.ts'
import { protectionOf } from '../../departures/door/protection.ts'
import type { StoredObject } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { optOutObject, optInObject, type TypedObject } from './opt-outs.ts'
import { registerKinds } from '../../admission/register-kinds.ts'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ clock: systemClock })
  client = new Client(server.transport)
  await registerKinds(client)
})
afterAll(() => server?.close())

const now = Date.UTC(2026, 10, 17)

function thing(name: string, { group = '', labels = {} }: { group?: string; labels?: Record<string, string> } = {}) {
  const metadata = { name, namespace: 'team', uid: `uid-${name}`, resourceVersion: '1', labels }
  return {
    type: { group, version: 'v1', kind: 'Service', plural: 'services', namespaced: true, verbs: [] },
    object: { apiVersion: group ? `${group}/v1` : 'v1', kind: 'Service', metadata } as unknown as StoredObject,
  } as unknown as TypedObject
}

/** Whether the door lets it go. */
async function isSpared({ object }: TypedObject, at = now): Promise<boolean> {
  const { items } = await client.list<CleanupOptOut>(cleanupOptOut.type)
  return protectionOf(object, { cluster: '', optOuts: items, bonds: [], now: at })?.because === 'opted-out'
}

describe('an opt-out', () => {
  it('counts again after it was ended', async () => {
    const shop = thing('again')
    await optOutObject(client, shop, {})
    expect(await isSpared(shop)).toBe(true)
    expect((await optInObject(client, shop, now)).ended).toHaveLength(1)
    expect(await isSpared(shop)).toBe(false)
    await optOutObject(client, shop, { reason: 'after all' })
    expect(await isSpared(shop)).toBe(true)
  })

  it('that was to end lasts when it is asked for without an end', async () => {
    const shop = thing('longer')
    await optOutObject(client, shop, { until: now + 1000, reason: 'demo' })
    await optOutObject(client, shop, {})
    expect(await isSpared(shop, now + 2000)).toBe(true)
  })

  it('of one object leaves that of another alone, though they share their name but for the group', async () => {
    const [ours, theirs] = [thing('twin'), thing('twin', { group: 'serving.example.org' })]
    await optOutObject(client, ours, {})
    await optOutObject(client, theirs, {})
    expect(await isSpared(ours)).toBe(true)
    expect(await isSpared(theirs)).toBe(true)
    await optInObject(client, theirs, now)
    expect(await isSpared(ours)).toBe(true)
    expect(await isSpared(theirs)).toBe(false)
  })

  it('of one object leaves that of another alone, though their long names begin alike', async () => {
    const [one, other] = [thing(`${'a'.repeat(245)}1`), thing(`${'a'.repeat(245)}2`)]
    await optOutObject(client, one, {})
    expect(await isSpared(other)).toBe(false)
    await optOutObject(client, other, {})
    await optInObject(client, one, now)
    expect(await isSpared(other)).toBe(true)
  })

  it('is ended whichever user created it; one by labels is named and kept', async () => {
    const shop = thing('shared', { labels: { app: 'shared' } })
    const { apiVersion, kind } = cleanupOptOut
    const create = (name: string, spec: object) =>
      client.create(cleanupOptOut.type, { apiVersion, kind, metadata: { name }, spec })
    await create('by-link', { resource: { apiVersion: 'v1', kind: 'Service', namespace: 'team', name: 'shared' } })
    await create('by-label', { selector: { kind: 'Service', labels: { matchLabels: { app: 'shared' } } } })
    expect(await optInObject(client, shop, now)).toEqual({ ended: ['by-link'], left: ['by-label'] })
    expect(await isSpared(shop)).toBe(true)
  })
})
