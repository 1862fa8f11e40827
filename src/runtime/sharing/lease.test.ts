import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { Lease } from './lease.ts'
import { silentLogger } from '../observability/log.ts'
import { seededRandom } from '../time/random.ts'
import { holdLease } from '../../../test/runtime/hold-lease.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

/** Members that contend for one lease; each can be cut off from the API. */
function contenders(...identities: readonly string[]) {
  const clock = new VirtualClock(1_000_000)
  const api = new FakeApi()
  const members = identities.map((identity, index) => {
    const cut = { now: false }
    const client = new Client((request) =>
      cut.now ? Promise.reject(new TransportError('cut off')) : api.transport(request),
    )
    const ports = { client, clock, log: silentLogger, random: seededRandom(index) }
    const lease = new Lease({ namespace: 'sojourn', name: 'leader', identity }, ports)
    const stop = new AbortController()
    return { lease, cut, stop, stopped: holdLease(lease, ports, stop.signal) }
  })
  return { clock, api, members }
}

describe('Lease', () => {
  it('is held by at most one member at any time, even if members are cut off, stopped or come back', async () => {
    const step = fc.record({ member: fc.nat(2), do: fc.constantFrom('cut', 'mend', 'stop'), passMs: fc.nat(20_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (script) => {
        const { clock, members } = contenders('a', 'b', 'c')
        for (const { member, do: what, passMs } of script) {
          const one = members[member]
          if (what === 'stop') one?.stop.abort()
          else if (one) one.cut.now = what === 'cut'
          const until = clock.now() + passMs
          while (clock.now() < until) {
            await clock.run(Math.min(until, clock.nextAt ?? until))
            expect(members.filter(({ lease }) => lease.held).length).toBeLessThanOrEqual(1)
          }
        }
      }),
      { numRuns: 40 },
    )
  })

  it('goes to another member once its holder has been silent for its whole duration', async () => {
    const { clock, members } = contenders('a', 'b')
    await clock.runFor(5000)
    const [holder, other] = members[0]?.lease.held ? members : members.toReversed()
    expect(holder?.lease.held).toBe(true)
    if (holder) holder.cut.now = true
    await clock.runFor(10_001)
    expect(holder?.lease.held).toBe(false)
    expect(other?.lease.held).toBe(false)
    await clock.runFor(10_000)
    expect(other?.lease.held).toBe(true)
    expect(other?.lease.transitions).toBe(1)
  })

  it('is given back on a stop, so that the next one need not wait', async () => {
    const { clock, api, members } = contenders('a', 'b')
    await clock.runFor(5000)
    const [holder, other] = members[0]?.lease.held ? members : members.toReversed()
    holder?.stop.abort()
    await clock.runFor(2500)
    await holder?.stopped
    expect(other?.lease.held).toBe(true)
    expect(api.get('leases', 'sojourn', 'leader')?.spec).toMatchObject({ leaseDurationSeconds: 15 })
  })

  it('is not acted on by a holder whose process stood still', async () => {
    const { clock, members } = contenders('a')
    await clock.runFor(5000)
    const lease = members[0]?.lease
    const changes: boolean[] = []
    lease?.onChange((held) => changes.push(held))
    if (members[0]) members[0].cut.now = true
    await clock.runFor(10_000)
    expect(lease?.held).toBe(false)
    expect(changes).toEqual([false])
    if (members[0]) members[0].cut.now = false
    await clock.runFor(5000)
    expect(changes).toEqual([false, true])
    expect(lease?.transitions).toBe(0)
  })

  it('survives its object being deleted', async () => {
    const { clock, api, members } = contenders('a', 'b')
    await clock.runFor(5000)
    api.delete('leases', 'sojourn', 'leader')
    await clock.runFor(10_000)
    expect(members.filter(({ lease }) => lease.held)).toHaveLength(1)
  })

  it('refuses times with which two could act at once', () => {
    const options = { namespace: 'a', name: 'b', identity: 'c', durationMs: 5000, renewDeadlineMs: 5000 }
    const client = new Client(new FakeApi().transport)
    expect(() => new Lease(options, { client, clock: new VirtualClock(), log: silentLogger })).toThrow(RangeError)
  })
})
