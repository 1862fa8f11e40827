import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { fnv1a64 } from './fnv.ts'
import { silentLogger } from '../observability/log.ts'
import { seededRandom } from '../time/random.ts'
import { Shards, type ShardsOptions } from './shards.ts'
import { rendezvous, Slots } from './slots.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

/** Members that share slots; each can be cut off from the API. */
function sharing(identities: readonly string[], options: Partial<ShardsOptions> = {}) {
  const clock = new VirtualClock(1_000_000)
  const api = new FakeApi()
  const join = (identity: string) => {
    const cut = { now: false }
    const client = new Client((request) =>
      cut.now ? Promise.reject(new TransportError('cut off')) : api.transport(request),
    )
    const shards = new Shards(
      { namespace: 'sojourn', group: 'cleaner', identity, slots: 8, seats: 6, ...options },
      { client, clock, log: silentLogger, random: seededRandom(identity.charCodeAt(0)) },
    )
    const stop = new AbortController()
    return { identity, shards, cut, stop, stopped: shards.start(stop.signal) }
  }
  return { clock, api, join, members: identities.map(join) }
}

describe('Shards', () => {
  it('gives every slot to at most one member at any time, and to exactly one when all is calm', async () => {
    const step = fc.record({ member: fc.nat(2), do: fc.constantFrom('cut', 'mend', 'stop'), passMs: fc.nat(20_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (script) => {
        const { clock, members } = sharing(['a', 'b', 'c'])
        const holders = () => members.flatMap(({ shards }) => [...shards.held])
        for (const { member, do: what, passMs } of script) {
          const one = members[member]
          if (what === 'stop') one?.stop.abort()
          else if (one) one.cut.now = what === 'cut'
          const until = clock.now() + passMs
          while (clock.now() < until) {
            await clock.run(Math.min(until, clock.nextAt ?? until))
            expect(holders().length).toBe(new Set(holders()).size)
          }
        }
        for (const { cut } of members) cut.now = false
        await clock.runFor(60_000)
        const alive = members.filter(({ stop }) => !stop.signal.aborted)
        expect(new Set(holders()).size).toBe(alive.length > 0 ? 8 : 0)
        for (const { shards, stop } of members) if (stop.signal.aborted) expect(shards.held.size).toBe(0)
      }),
      { numRuns: 20 },
    )
  })

  it('hands slots over to a newcomer, after what is under way has ended', async () => {
    const releases: number[] = []
    const { clock, members, join } = sharing(['a'], {
      release: async (slot) => {
        releases.push(slot)
      },
    })
    await clock.runFor(10_000)
    expect(members[0]?.shards.held.size).toBe(8)
    const lost: number[] = []
    members[0]?.shards.onChange((change) => lost.push(...change.lost))
    const newcomer = join('b')
    await clock.runFor(20_000)
    const moved = [...newcomer.shards.held]
    expect(moved.length).toBeGreaterThan(0)
    expect(new Set(lost)).toEqual(new Set(moved))
    expect(new Set(releases)).toEqual(new Set(moved))
    expect(newcomer.shards.members).toEqual(['a', 'b'])
    expect((members[0]?.shards.held.size ?? 0) + moved.length).toBe(8)
  })

  it('is leader election with one slot', async () => {
    const { clock, members } = sharing(['a', 'b', 'c'], { slots: 1 })
    await clock.runFor(20_000)
    expect(members.filter(({ shards }) => shards.owns('anything'))).toHaveLength(1)
  })

  it('owns what falls into its slots and nothing else', async () => {
    const { clock, members } = sharing(['a', 'b'])
    await clock.runFor(30_000)
    for (let index = 0; index < 50; index++) {
      expect(members.filter(({ shards }) => shards.owns(`uid-${index}`))).toHaveLength(1)
    }
  })

  it('gives everything back on a stop', async () => {
    const { clock, api, members } = sharing(['a'])
    await clock.runFor(10_000)
    members[0]?.stop.abort()
    await clock.runFor(1000)
    await members[0]?.stopped
    const holders = api.all('leases').map(({ spec }) => (spec as { holderIdentity: string }).holderIdentity)
    expect(holders.every((holder) => holder === '')).toBe(true)
  })
})

describe('Slots', () => {
  it('hashes as FNV-1a 64 does', () => {
    const reference = (text: string) => {
      let hash = 0xcbf29ce484222325n
      for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
      return hash
    }
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        const { high, low } = fnv1a64(text)
        expect((BigInt(high) << 32n) | BigInt(low)).toBe(reference(text))
      }),
    )
  })

  it('puts every text into the one slot whose range holds its hash', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 100 }), (text, count) => {
        const slots = new Slots(count)
        const { high, low } = fnv1a64(text)
        const hash = (BigInt(high) << 32n) | BigInt(low)
        const { from, to } = slots.rangeOf(slots.slotOf(text))
        expect(hash >= BigInt(from)).toBe(true)
        expect(to === undefined || hash < BigInt(to)).toBe(true)
      }),
    )
  })

  it('moves only the slots of a member that leaves', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 8 }), (members) => {
        const [leaver, ...rest] = members
        for (let slot = 0; slot < 64; slot++) {
          const before = rendezvous(slot, members)
          if (before !== leaver) expect(rendezvous(slot, rest)).toBe(before)
        }
      }),
    )
  })

  it('shares slots out about evenly', () => {
    const members = ['pod-a', 'pod-b', 'pod-c', 'pod-d']
    const counts = Object.fromEntries(members.map((member) => [member, 0]))
    for (let slot = 0; slot < 1000; slot++) {
      const member = rendezvous(slot, members) ?? ''
      counts[member] = (counts[member] ?? 0) + 1
    }
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(180)
  })
})
