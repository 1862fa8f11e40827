import { actAsOn } from '../../test/world.ts'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { sojournNamespace } from '../../src/apis/group.ts'
import { startTestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import { Door } from '../../src/departures/door/door.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { Alarms } from '../../src/runtime/controller/alarms.ts'
import { systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { cleanerController } from '../../src/systems/cleaner/controller.ts'
import { localNetwork } from '../../test/local-network.ts'

export interface CrowdFigures {
  readonly firstLookMs: number
  readonly restartMs: number
  readonly restartWrites: number
  readonly idleRequests: number
  readonly totalMs: number
  /** The cost of one deletion, its Event included. */
  readonly requestsEach: number
  readonly left: number
  readonly lateness: { readonly p50: number; readonly p99: number }
  readonly longestPauseMs: number
}

const ttlMs = 3_600_000
/** A machine that needs longer for all of them shows how many are left. */
const longestMs = 1_200_000

/** So many Cleaners on one embedded server, all created in one second and so all due in one. */
export async function measureCrowd(count: number): Promise<CrowdFigures> {
  const clock = new ShiftedClock()
  await using server = await startTestServer({ clock })
  const client = new Client(server.transport)
  await fill(client, count)
  clock.resume()

  let from = performance.now()
  const first = await start(server.transport, clock)
  await first.atRest()
  const firstLookMs = performance.now() - from
  await first.stop()

  from = performance.now()
  const second = await start(server.transport, clock)
  await second.atRest()
  const restartMs = performance.now() - from
  const restartWrites = second.writes
  const requestsBefore = second.requests
  await new Promise((resolve) => setTimeout(resolve, 10_000))
  const idleRequests = second.requests - requestsBefore

  const requestsAtRest = second.requests
  const dueAt = clock.frozenAt + ttlMs
  const late: number[] = []
  const ending = new AbortController()
  const watching = follow(client, ending.signal, () => late.push(clock.now() - dueAt))
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  clock.jumpTo(dueAt - 2000)
  const deadline = performance.now() + longestMs
  while (late.length < count && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50))
  loop.disable()
  const left = (await client.list(cleaner.type, { limit: 1 })).items.length
  ending.abort()
  await watching
  await second.stop()
  late.sort((a, b) => a - b)
  const at = (share: number) => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? NaN
  return {
    firstLookMs,
    restartMs,
    restartWrites,
    idleRequests,
    totalMs: late.at(-1) ?? NaN,
    requestsEach: (second.requests - requestsAtRest) / count,
    left,
    lateness: { p50: at(0.5), p99: at(0.99) },
    longestPauseMs: loop.max / 1e6,
  }
}

/** Real time that is first stopped and later moved forward, so that a hundred thousand objects have the same age. */
class ShiftedClock implements Clock {
  readonly frozenAt = Math.floor(systemClock.now() / 1000) * 1000
  #shiftMs: number | undefined

  now(): number {
    return this.#shiftMs === undefined ? this.frozenAt : systemClock.now() + this.#shiftMs
  }
  monotonic(): number {
    return systemClock.monotonic()
  }
  after(delayMs: number, callback: () => void): () => void {
    return systemClock.after(delayMs, callback)
  }
  breathe(): Promise<void> {
    return systemClock.breathe()
  }
  resume(): void {
    this.jumpTo(this.frozenAt)
  }
  jumpTo(at: number): void {
    this.#shiftMs = at - systemClock.now()
  }
}

async function fill(client: Client, count: number): Promise<void> {
  const create = async (manifest: KubeObject) => {
    const type = await client.discovery.typeOf(manifest)
    if (type) await client.create(type, manifest)
  }
  for (const { crd } of allKinds) await create(crd)
  for (const name of [sojournNamespace, 'team'])
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  for (let from = 0; from < count; from += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, count - from) }, (_, index) =>
        client.create(cleaner.type, {
          apiVersion: cleaner.apiVersion,
          kind: cleaner.kind,
          metadata: { name: `preview-${from + index}`, namespace: 'team' },
          spec: { ttl: '1h', conditions: ['time > timestamp("2020-01-01T00:00:00Z")'] },
        }),
      ),
    )
}

async function start(transport: Transport, clock: Clock) {
  const counts = { requests: 0, writes: 0 }
  const client = new Client((request) => {
    counts.requests++
    if (request.method !== 'GET') counts.writes++
    return transport(request)
  })
  const log = silentLogger
  const metrics = new Metrics()
  const informers = new Informers({ clock, log })
  const events = new EventRecorder('sojourn', { client, clock, log })
  const limits = { maxPerMinute: 1e9, maxPerHourOfKind: 1e9, maxPercentOfKind: 100 }
  const door = new Door(
    { client, informers, clock, events, log, metrics, provesRecords: () => Promise.resolve(true) },
    { limits },
  )
  await door.ready()
  // The clock is set forward, which has to be noticed soon.
  const alarms = new Alarms(clock, { maxSleepMs: 500 })
  const controller = cleanerController({
    client,
    informers,
    door,
    events,
    actAs: actAsOn(client, clock),
    ports: { clock, log, metrics, alarms },
    http: localNetwork().http,
    type: cleaner.type,
  })
  const stopping = new AbortController()
  const running = controller.start(stopping.signal)
  const cleaners = informers.open(client, cleaner.type)
  return {
    get requests() {
      return counts.requests
    },
    get writes() {
      return counts.writes
    },
    async atRest() {
      await cleaners.whenSynced()
      await systemClock.breathe()
      await controller.whenIdle()
    },
    async stop() {
      stopping.abort()
      await running
      alarms.close()
      cleaners.close()
      door.close()
      informers.close()
    },
  }
}

async function follow(client: Client, signal: AbortSignal, onGone: () => void): Promise<void> {
  const { metadata } = await client.list(cleaner.type, { limit: 1 })
  try {
    for await (const { type } of client.watch(cleaner.type, {
      resourceVersion: metadata.resourceVersion ?? '',
      signal,
    }))
      if (type === 'DELETED') onGone()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
