import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { seededRandom } from '../../runtime/time/random.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import type { Role } from '../config/config.ts'
import { Leadership, ledRoles } from './leadership.ts'

const pod = (role: string) => `system:serviceaccount:sojourn-system:sojourn-${role}`

/** Processes with these roles; each can be cut off from the API. */
function startProcesses(...sets: readonly (readonly Role[])[]) {
  const clock = new VirtualClock(1_000_000)
  const api = new FakeApi()
  const start = (
    roles: readonly Role[],
    index: number,
    { user = pod('all'), settings = ['no --dry-run', '--max 7'] } = {},
  ) => {
    const cut = { now: false, stalled: false }
    const client = new Client(async (request) => {
      if (cut.now) throw new TransportError('cut off')
      const response = await api.transport(request)
      return response.stream ? { ...response, stream: until(response.stream, cut) } : response
    })
    const leadership = new Leadership(
      { client, clock, log: silentLogger, random: seededRandom(index) },
      { roles, user, settings, identity: `p${index}` },
    )
    const stop = new AbortController()
    const refusal = leadership.refusal(stop.signal)
    const replacedBy: string[] = []
    void leadership.replaced.then((sentence) => replacedBy.push(sentence))
    const stopped = refusal.then((sentence) => (sentence === undefined ? leadership.start(stop.signal) : undefined))
    return { roles, leadership, cut, stop, stopped, refusal, replacedBy }
  }
  return { clock, api, start, processes: sets.map((roles, index) => start(roles, index)) }
}

/** A stream that breaks, its event lost, when the process is cut off, or that says nothing more while it is stalled. */
function until(stream: AsyncIterable<unknown>, cut: { now: boolean; stalled: boolean }): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const events = stream[Symbol.asyncIterator]()
      return {
        async next() {
          const event = await events.next()
          if (cut.stalled) return new Promise<never>(() => {})
          if (cut.now) throw new TransportError('cut off')
          return event
        },
        return: () => events.return?.() ?? Promise.resolve({ done: true, value: undefined }),
      }
    },
  }
}

const writes = (api: FakeApi) => api.requests.filter(({ method }) => method !== 'GET').length

describe('Leadership', () => {
  it('gives each role one leader at most, however roles are spread, cut off, stopped or mended', async () => {
    const step = fc.record({ process: fc.nat(3), do: fc.constantFrom('cut', 'mend', 'stop'), passMs: fc.nat(25_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (script) => {
        const { clock, processes } = startProcesses(
          ledRoles,
          ledRoles,
          ['cleaner', 'janitor'],
          ['collector', 'janitor', 'promoter'],
        )
        const leadersOf = (role: Role) =>
          processes.filter(({ roles, leadership }) => roles.includes(role) && leadership.holds(role))
        for (const { process, do: what, passMs } of script) {
          const one = processes[process]
          if (what === 'stop') one?.stop.abort()
          else if (one) one.cut.now = what === 'cut'
          const until = clock.now() + passMs
          while (clock.now() < until) {
            await clock.run(Math.min(until, clock.now() + 100))
            for (const role of ledRoles) expect(leadersOf(role).length).toBeLessThanOrEqual(1)
          }
        }
        for (const { cut } of processes) cut.now = false
        await clock.runFor(90_000)
        for (const role of ledRoles) {
          const alive = processes.filter(({ roles, stop }) => roles.includes(role) && !stop.signal.aborted)
          expect(leadersOf(role)).toHaveLength(alive.length > 0 ? 1 : 0)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('renews one Lease for all roles of a process, and asks for nothing where another leads', async () => {
    const { clock, api } = startProcesses(ledRoles, ledRoles)
    await clock.runFor(60_000)
    const before = [writes(api), api.requests.length]
    await clock.runFor(100_000)
    expect(writes(api) - (before[0] ?? 0)).toBeLessThanOrEqual(22)
    const watches = api.requests.slice(before[1]).filter(({ query }) => query?.['watch'])
    expect(api.requests.length - (before[1] ?? 0) - watches.length).toBeLessThanOrEqual(22)
  })

  it('goes on after an outage that no other replica used', async () => {
    const { clock, processes } = startProcesses(ledRoles)
    await clock.runFor(10_000)
    const [only] = processes
    expect(only?.leadership.holds('cleaner')).toBe(true)
    if (only) only.cut.now = true
    await clock.runFor(60_000)
    expect(only?.leadership.holds('cleaner')).toBe(false)
    if (only) only.cut.now = false
    await clock.runFor(10_000)
    expect([only?.leadership.holds('cleaner'), only?.leadership.holds('promoter')]).toEqual([true, true])
    expect(only?.replacedBy).toEqual([])
  })

  it('says who has taken over, only when one has', async () => {
    const { clock, processes } = startProcesses(ledRoles, ledRoles)
    await clock.runFor(10_000)
    const [leader, other] = processes[0]?.leadership.holds('cleaner') ? processes : processes.toReversed()
    if (leader) leader.cut.now = true
    await clock.runFor(60_000)
    expect(other?.leadership.holds('cleaner')).toBe(true)
    expect(leader?.replacedBy).toEqual([])
    if (leader) leader.cut.now = false
    await clock.runFor(60_000)
    expect(leader?.replacedBy).toEqual([expect.stringMatching(/^p\d leads the role \w+ now$/)])
    expect(leader?.leadership.holds('cleaner')).toBe(false)
  })

  it('takes no role whose leader renews, although its own watch has stalled', async () => {
    const { clock, processes, start } = startProcesses(ledRoles)
    await clock.runFor(10_000)
    const other = start(ledRoles, 9)
    await clock.runFor(5000)
    other.cut.stalled = true
    for (let second = 0; second < 60; second++) {
      await clock.runFor(1000)
      expect(ledRoles.filter((role) => other.leadership.holds(role))).toEqual([])
    }
    expect(processes[0]?.leadership.holds('collector')).toBe(true)
  })

  it('asks for each role again after an outage, although its own watch has stalled', async () => {
    const { clock, processes, start } = startProcesses(ledRoles)
    await clock.runFor(10_000)
    const other = start(['collector'], 9)
    await clock.runFor(5000)
    const [first] = processes
    if (first) Object.assign(first.cut, { now: true, stalled: true })
    await clock.runFor(40_000)
    expect(other.leadership.holds('collector')).toBe(true)
    if (first) first.cut.now = false
    for (let second = 0; second < 20; second++) {
      await clock.runFor(1000)
      expect(first?.leadership.holds('collector')).toBe(false)
    }
    expect(first?.leadership.holds('cleaner')).toBe(true)
  })

  it.each([
    ['a dry run', ['--dry-run', '--max 7'], 'no --dry-run'],
    ['other limits', ['no --dry-run', '--max 1000'], '--max 7'],
  ])('refuses a process with %s under another account, but not an upgrade', async (_, settings, wanted) => {
    const { clock, start } = startProcesses(['cleaner'])
    await clock.runFor(10_000)
    const dry = { settings }
    const stranger = start(ledRoles, 7, { ...dry, user: 'alice' })
    const upgrade = start(['cleaner'], 8, { ...dry, user: pod('cleaner') })
    await clock.runFor(5000)
    expect(await stranger.refusal).toMatch(/^p0 \(system:serviceaccount:.*\) runs the role cleaner /)
    expect(await stranger.refusal).toMatch(new RegExp(` with ${wanted}$`))
    expect(await upgrade.refusal).toBeUndefined()
  })
})
