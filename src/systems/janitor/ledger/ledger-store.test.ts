import { customResourceDefinitions } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { usageLedger } from '../../../apis/usage-ledger.ts'
import { Client } from '../../../client/client.ts'
import { systemClock } from '../../../runtime/time/clock.ts'
import { afterInventory, type LedgerState } from './ledger.ts'
import { readLedger, writeLedger } from './ledger-store.ts'
import { day, hour, now, resource } from '../../../../test/janitor/fixtures.ts'

const place = { policy: 'tidy', location: 'kubernetes' }
const nothing = { state: undefined, shards: [] }

describe('a ledger in the cluster', () => {
  let server: TestServer
  let client: Client
  let writes: string[]

  beforeEach(async () => {
    writes = []
    server = await startTestServer({ clock: systemClock })
    client = new Client(async (request) => {
      if (request.method !== 'GET') writes.push(request.path.split('/').at(-1) ?? '')
      return server.transport(request)
    })
    await client.create(customResourceDefinitions, usageLedger.crd)
    writes.length = 0
  })
  afterEach(() => server.close())

  /** Two thousand resources in use, as a look sees them; `given` replaces some. */
  function look(former: LedgerState | undefined, at: number, given: Readonly<Record<number, string | null>> = {}) {
    const seen = Array.from({ length: 2000 }, (_, index) => {
      const by = given[index] === undefined ? 'Pod web' : given[index]
      return by === null ? [] : [resource({ uid: `uid-${index}`, use: { state: 'used', by } })]
    })
    return afterInventory(former, seen.flat(), { now: at, maxGapMs: day, everyMs: hour })
  }

  const read = () => readLedger(client, place.policy, place.location)

  it('is read as it was written, in as many shards as it needs', async () => {
    const state = look(undefined, now)
    await writeLedger(client, { ...place, state, former: nothing })
    const stored = await read()
    expect(stored.state).toEqual(state)
    expect(stored.shards).toHaveLength(4)
    expect(await readLedger(client, place.policy, 'elsewhere')).toEqual(nothing)
  })

  it('is written only in shards with changes, and in the first shard, which holds the time', async () => {
    await writeLedger(client, { ...place, state: look(undefined, now), former: nothing })
    const former = await read()
    writes.length = 0
    await writeLedger(client, { ...place, state: look(former.state, now + 1000), former })
    expect(writes).toHaveLength(1)
    writes.length = 0

    const again = await read()
    const state = look(again.state, now + 2000, { 7: null })
    await writeLedger(client, { ...place, state, former: again })
    expect(writes.length).toBeGreaterThanOrEqual(1)
    expect(writes.length).toBeLessThanOrEqual(2)
    const stored = await read()
    expect(stored.state?.entries.has('uid-7')).toBe(false)
    expect(stored.state).toEqual(state)

    const later = look(stored.state, now + 2 * hour, { 7: 'Job late' })
    await writeLedger(client, { ...place, state: later, former: stored })
    expect((await read()).state?.entries.get('uid-7')).toEqual({ lastSeenAt: now + 2 * hour, by: 'Job late' })
  })

  it('continues from its last write', async () => {
    const first = look(undefined, now)
    const written = await writeLedger(client, { ...place, state: first, former: nothing })
    const second = look(first, now + 2 * hour)
    await writeLedger(client, { ...place, state: second, former: written })
    expect((await read()).state).toEqual(second)
  })

  it('is ignored while a shard is missing, and is completed again', async () => {
    await writeLedger(client, { ...place, state: look(undefined, now), former: nothing })
    const { items } = await client.list(usageLedger.type)
    const name = items.find(({ metadata }) => metadata.name.endsWith('-2'))?.metadata.name ?? ''
    await client.deleteObject(usageLedger.type, { name })
    const former = await read()
    expect(former.state).toBeUndefined()
    const state = look(former.state, now + hour)
    await writeLedger(client, { ...place, state, former })
    expect((await read()).state).toEqual(state)
  })

  it('does not overwrite what another instance wrote since', async () => {
    const state = look(undefined, now)
    const former = await writeLedger(client, { ...place, state, former: nothing })
    await writeLedger(client, { ...place, state: look(state, now + 1000), former })
    await expect(writeLedger(client, { ...place, state: look(state, now + 2000), former })).rejects.toMatchObject({
      reason: 'Conflict',
    })
  })
})
