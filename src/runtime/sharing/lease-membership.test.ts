import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { silentLogger } from '../observability/log.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { seededRandom } from '../time/random.ts'
import { VirtualClock } from '../time/virtual-clock.ts'
import { LeaseMembership } from './lease-membership.ts'

/** Members of one group; each can be cut off from the API. */
function startGroup(identities: readonly string[]) {
  const clock = new VirtualClock(1_000_000)
  const api = new FakeApi()
  const join = (identity: string) => {
    const cut = { now: false }
    const client = new Client((request) =>
      cut.now ? Promise.reject(new TransportError('cut off')) : api.transport(request),
    )
    const membership = new LeaseMembership(
      { namespace: 'sojourn', group: 'cleaner', identity },
      { client, clock, log: silentLogger, random: seededRandom(identity.charCodeAt(0)) },
    )
    const stop = new AbortController()
    return { membership, cut, stop, stopped: membership.start(stop.signal) }
  }
  return { clock, api, join, members: identities.map(join) }
}

describe('LeaseMembership', () => {
  it('has at most one leader at any time, and exactly one when all is calm', async () => {
    const step = fc.record({ member: fc.nat(2), do: fc.constantFrom('cut', 'mend', 'stop'), passMs: fc.nat(20_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (script) => {
        const { clock, members } = startGroup(['a', 'b', 'c'])
        const leaders = () => members.filter(({ membership }) => membership.isLeader)
        for (const { member, do: what, passMs } of script) {
          const one = members[member]
          if (what === 'stop') one?.stop.abort()
          else if (one) one.cut.now = what === 'cut'
          const until = clock.now() + passMs
          while (clock.now() < until) {
            await clock.run(Math.min(until, clock.nextAt ?? until))
            expect(leaders().length).toBeLessThanOrEqual(1)
          }
        }
        for (const { cut } of members) cut.now = false
        await clock.runFor(60_000)
        const alive = members.filter(({ stop }) => !stop.signal.aborted)
        expect(leaders()).toHaveLength(alive.length > 0 ? 1 : 0)
        for (const { membership, stop } of members) if (stop.signal.aborted) expect(membership.isLeader).toBe(false)
      }),
      { numRuns: 20 },
    )
  })

  it('knows a member that joins later, and keeps its leader', async () => {
    const { clock, members, join } = startGroup(['b'])
    await clock.runFor(10_000)
    expect(members[0]?.membership.isLeader).toBe(true)
    const newcomer = join('a')
    await clock.runFor(20_000)
    expect(newcomer.membership.members).toEqual(['a', 'b'])
    expect(members[0]?.membership.members).toEqual(['a', 'b'])
    expect([members[0]?.membership.isLeader, newcomer.membership.isLeader]).toEqual([true, false])
  })

  it('hands the lead to another member on a stop, without waiting for the lease to expire', async () => {
    const { clock, members } = startGroup(['a', 'b'])
    await clock.runFor(20_000)
    const leader = members.find(({ membership }) => membership.isLeader)
    leader?.stop.abort()
    await clock.runFor(5000)
    expect(members.filter(({ membership }) => membership.isLeader)).toHaveLength(1)
    expect(leader?.membership.isLeader).toBe(false)
  })

  it('releases its Leases on a stop', async () => {
    const { clock, api, members } = startGroup(['a'])
    await clock.runFor(10_000)
    members[0]?.stop.abort()
    await clock.runFor(1000)
    await members[0]?.stopped
    const holders = api.all('leases').map(({ spec }) => (spec as { holderIdentity: string }).holderIdentity)
    expect(holders).toEqual(['', ''])
  })
})
