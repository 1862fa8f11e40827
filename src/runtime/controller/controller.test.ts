import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Key } from '../../kube/key.ts'
import { StatusError } from '../../kube/status-error.ts'
import { sleep } from '../time/clock.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import type { Follower } from './expectations.ts'
import { createLogger } from '../observability/log.ts'
import { Metrics } from '../observability/metrics.ts'
import { settled, TerminalError, wakeAt } from './outcome.ts'
import { seededRandom } from '../time/random.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const hour = 3_600_000
const day = 24 * hour

function key(name: string): Key {
  return { cluster: '', kind: 'Pod', namespace: 'default', name }
}

/** A started controller on a virtual clock, with what it did and said. */
function started(options: Partial<ControllerOptions> & Pick<ControllerOptions, 'reconcile'>) {
  const clock = new VirtualClock(1_000_000)
  const metrics = new Metrics()
  const lines: Record<string, unknown>[] = []
  const log = createLogger({ clock, level: 'debug', write: (line) => lines.push(JSON.parse(line)) })
  const stop = new AbortController()
  const controller = new Controller({
    name: 'test',
    ports: { clock, log, metrics, random: seededRandom(1) },
    ...options,
  })
  const stopped = controller.start(stop.signal)
  return { clock, metrics, lines, controller, stop, stopped }
}

describe('Controller', () => {
  it('never reconciles a key twice at once and always after its last change', async () => {
    const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), passMs: fc.nat(30) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(20), async (script, workMs) => {
        const running = new Set<string>()
        const startedAt = new Map<string, number>()
        const { clock, controller } = started({
          concurrency: 2,
          reconcile: async ({ name }) => {
            expect(running.has(name)).toBe(false)
            running.add(name)
            startedAt.set(name, clock.now())
            await sleep(clock, workMs)
            running.delete(name)
            return settled
          },
        })
        const changedAt = new Map<string, number>()
        for (const { name, passMs } of script) {
          controller.enqueue(key(name))
          changedAt.set(name, clock.now())
          await clock.runFor(passMs)
        }
        await clock.runFor(10_000)
        for (const [name, at] of changedAt) expect(startedAt.get(name)).toBeGreaterThanOrEqual(at)
        expect(controller.idle).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('looks again exactly when the reconcile asked to, and its last answer counts', async () => {
    const seenAt: number[] = []
    const { clock, controller } = started({
      reconcile: async () => {
        seenAt.push(clock.now() - 1_000_000)
        if (seenAt.length === 1) return wakeAt(1_000_000 + 5 * hour)
        if (seenAt.length === 2) return wakeAt(1_000_000 + 30 * day)
        return settled
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(hour)
    controller.enqueue(key('a'))
    await clock.runFor(60 * day)
    expect(seenAt).toEqual([0, hour, 30 * day])
    expect(controller.wakesAt(key('a'))).toBeUndefined()
  })

  it('reconciles nothing while its process may not act, and everything once it may', async () => {
    const seen: string[] = []
    let mayAct = false
    const clock = new VirtualClock(1_000_000)
    const log = createLogger({ clock, write: () => {} })
    const controller = new Controller({
      name: 'test',
      ports: { clock, log, metrics: new Metrics(), mayAct: () => mayAct },
      reconcile: ({ name }) => {
        seen.push(name)
        return Promise.resolve(settled)
      },
    })
    void controller.start(new AbortController().signal)
    controller.enqueue(key('a'))
    await clock.runFor(60_000)
    expect(seen).toEqual([])
    mayAct = true
    await clock.runFor(2000)
    expect(seen).toEqual(['a'])
  })

  it('does not spin when asked to look again at a time that has passed', async () => {
    let calls = 0
    const { clock, controller } = started({
      reconcile: async () => {
        calls++
        return wakeAt(5)
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(1000)
    expect(calls).toBeLessThanOrEqual(101)
  })

  it('tries again with growing waits, forgets failures after a success, and keeps failures apart', async () => {
    const seenAt: number[] = []
    const { clock, controller, metrics } = started({
      backoff: { baseMs: 100, capMs: 1000 },
      reconcile: async ({ name }) => {
        if (name === 'good') return settled
        seenAt.push(clock.now() - 1_000_000)
        if (seenAt.length < 4) throw new Error('boom')
        return settled
      },
    })
    controller.enqueue(key('bad'))
    controller.enqueue(key('good'))
    await clock.runFor(day)
    const waits = seenAt.slice(1).map((at, index) => at - (seenAt[index] ?? 0))
    expect(waits).toHaveLength(3)
    expect(waits.every((wait, index) => wait >= 100 * 2 ** index && wait <= 125 * 2 ** index)).toBe(true)
    const rendered = metrics.render()
    expect(rendered).toContain('sojourn_reconcile_total{controller="test",result="settled"} 2')
    expect(rendered).toContain('sojourn_reconcile_total{controller="test",result="failed"} 3')
    expect(rendered).toContain('sojourn_controller_keys{controller="test",state="failing"} 0')
  })

  it('waits at least as long as the server asked for', async () => {
    const seenAt: number[] = []
    const { clock, controller } = started({
      reconcile: async () => {
        seenAt.push(clock.now() - 1_000_000)
        if (seenAt.length > 1) return settled
        throw new StatusError('TooManyRequests', 'slow down', { details: { retryAfterSeconds: 30 } })
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(hour)
    expect(seenAt).toEqual([0, 30_000])
  })

  it('reports what cannot be mended once and tries it again only when it changes', async () => {
    let calls = 0
    const { clock, controller, lines } = started({
      reconcile: async () => {
        calls++
        throw new TerminalError('bad spec')
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(30 * day)
    expect(calls).toBe(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'error', controller: 'test', key: 'Pod/default/a' })
    controller.enqueue(key('a'))
    await clock.runFor(1)
    expect(calls).toBe(2)
  })

  it('does not trouble people with a lost race', async () => {
    let calls = 0
    const { clock, controller, lines } = started({
      reconcile: async () => {
        if (calls++ === 0) throw new StatusError('Conflict', 'modified')
        return settled
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(1000)
    expect(calls).toBe(2)
    expect(lines.map(({ level }) => level)).toEqual(['debug'])
  })

  it('survives a reconcile that throws before it begins', async () => {
    const { clock, controller, lines } = started({
      reconcile: () => {
        throw 'a string'
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(10)
    expect(lines[0]).toMatchObject({ message: 'reconcile failed', error: 'a string' })
  })

  it('does not reconcile before the cache shows our own write', async () => {
    const follower = fakeFollower()
    const seenAt: number[] = []
    const { clock, controller } = started({
      reconcile: async () => {
        seenAt.push(clock.now() - 1_000_000)
        return settled
      },
    })
    controller.expect(key('a'), '7', follower.informer)
    controller.enqueue(key('a'))
    await clock.runFor(500)
    expect(seenAt).toEqual([])
    expect(controller.idle).toBe(false)
    follower.reach('7')
    await clock.runFor(1)
    expect(seenAt).toEqual([500])
  })

  it('goes on after a while when the cache never shows our write', async () => {
    const follower = fakeFollower()
    const seenAt: number[] = []
    const { clock, controller, metrics } = started({
      reconcile: async () => {
        seenAt.push(clock.now() - 1_000_000)
        return settled
      },
    })
    controller.expect(key('a'), '7', follower.informer)
    controller.enqueue(key('a'))
    await clock.runFor(hour)
    expect(seenAt).toEqual([10_000])
    expect(metrics.render()).toContain('sojourn_unseen_writes_total{controller="test"} 1')
  })

  it('refuses to expect a version of what it does not watch', () => {
    const { controller } = started({ reconcile: async () => settled })
    expect(() => controller.expect(key('a'), '7')).toThrow('watches no informer of Pod')
  })

  it('gives up a reconcile that takes too long, and does not start a second beside it', async () => {
    let running = 0
    let most = 0
    const { clock, controller, lines } = started({
      timeoutMs: 1000,
      concurrency: 1,
      reconcile: async ({ name }) => {
        if (name === 'quick') return settled
        most = Math.max(most, ++running)
        await sleep(clock, 10_000)
        running--
        return settled
      },
    })
    controller.enqueue(key('slow'))
    await clock.runFor(1500)
    controller.enqueue(key('quick'))
    await clock.runFor(60_000)
    expect(lines[0]).toMatchObject({ message: 'reconcile failed', key: 'Pod/default/slow' })
    expect(most).toBe(1)
  })

  it('finishes what is under way when it stops, and begins nothing new', async () => {
    const ended: string[] = []
    const { clock, controller, stop, stopped } = started({
      concurrency: 1,
      reconcile: async ({ name }) => {
        await sleep(clock, 100)
        ended.push(name)
        return settled
      },
    })
    controller.enqueue(key('a'))
    controller.enqueue(key('b'))
    await clock.runFor(50)
    stop.abort()
    await clock.runFor(1000)
    await stopped
    expect(ended).toEqual(['a'])
  })

  it('aborts what is still under way when the grace is over', async () => {
    const { clock, controller, stop, stopped, lines } = started({
      reconcile: async (_, signal) => {
        await sleep(clock, day, signal)
        return settled
      },
    })
    controller.enqueue(key('a'))
    await clock.runFor(10)
    stop.abort()
    await clock.runFor(3001)
    await stopped
    expect(lines).toEqual([])
  })

  it('puts live changes before the backlog of a start', async () => {
    const order: string[] = []
    const { clock, controller } = started({
      concurrency: 1,
      reconcile: async ({ name }) => {
        order.push(name)
        return settled
      },
    })
    for (const name of ['old-1', 'old-2']) controller.enqueue(key(name), 'initial')
    controller.enqueue(key('live'))
    controller.enqueue(key('person'), 'user')
    await clock.runFor(1)
    expect(order).toEqual(['person', 'live', 'old-1', 'old-2'])
  })

  it('looks at the earliest of the times it was told', async () => {
    const seenAt: number[] = []
    const { clock, controller } = started({
      reconcile: async () => {
        seenAt.push(clock.now() - 1_000_000)
        return settled
      },
    })
    controller.enqueueAt(key('a'), 1_000_000 + 500)
    controller.enqueueAt(key('a'), 1_000_000 + 200)
    controller.enqueueAt(key('a'), 1_000_000 + 900)
    await clock.runFor(hour)
    expect(seenAt).toEqual([200])
  })

  it.each([
    ['settles', () => Promise.resolve(settled), [0, 500]],
    ['waits for later', () => Promise.resolve(wakeAt(1_000_000 + 900)), [0, 500]],
    ['waits for earlier', () => Promise.resolve(wakeAt(1_000_000 + 200)), [0, 200]],
    ['fails', () => Promise.reject(new Error('failed')), [0, 500]],
  ])('keeps an alarm that is set while a reconcile runs which %s', async (_, outcome, expected) => {
    const { clock, controller, seenAt } = alarmed(outcome)
    controller.enqueue(key('a'))
    await clock.runFor(hour)
    expect(seenAt).toEqual(expected)
  })

  it('replaces an alarm that was set before the reconcile', async () => {
    const { clock, controller, seenAt } = alarmed(() => Promise.resolve(settled), { setsAlarm: false })
    controller.enqueueAt(key('a'), 1_000_000 + 500)
    controller.enqueue(key('a'))
    await clock.runFor(hour)
    expect(seenAt).toEqual([0])
  })
})

/** A controller whose first reconcile asks for another one in 500 ms, and ends so. */
function alarmed(first: ControllerOptions['reconcile'], { setsAlarm = true } = {}) {
  const seenAt: number[] = []
  const all = started({
    backoff: { baseMs: 2000 },
    reconcile: async (of, signal) => {
      seenAt.push(all.clock.now() - 1_000_000)
      if (seenAt.length > 1) return settled
      if (setsAlarm) all.controller.enqueueAt(of, 1_000_000 + 500)
      return first(of, signal)
    },
  })
  return { ...all, seenAt }
}

/** A cache that reaches a version when told to. */
function fakeFollower() {
  const waiting = new Map<string, () => void>()
  const reached = new Set<string>()
  const follower: Follower = {
    hasReached: (version) => reached.has(version),
    onReached: (version, callback) => {
      waiting.set(version, callback)
      return () => waiting.delete(version)
    },
  }
  return {
    informer: follower,
    reach(version: string) {
      reached.add(version)
      waiting.get(version)?.()
    },
  }
}
