import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { openSqliteStore } from '../../src/apiserver/store/sqlite-store.ts'
import { transactOn } from '../../src/app/core/in-process-deleter.ts'
import { userDeletionRecords } from '../../src/app/embedded/user-deletion-records.ts'
import { settleController } from '../../src/departures/records/settle-controller.ts'
import { configMaps } from '../../src/kube/core-types.ts'
import { actAsOn, recordedCreators } from '../../test/world.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { sojournNamespace } from '../../src/apis/group.ts'
import { startTestServer, type TestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import { Door } from '../../src/departures/door/door.ts'
import type { KubeObject } from '../../src/kube/object.ts'
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
  readonly firstMs: number
  /** Objects that records hold, of twice as many as there are Cleaners. */
  readonly recorded: number
  /** How long another client waits for a write meanwhile. */
  readonly bystander: { readonly p50: number; readonly p99: number; readonly max: number }
  /** By how much the process grew at most while they were deleted. */
  readonly growthMb: number
  readonly lateness: { readonly p50: number; readonly p99: number }
  readonly longestPauseMs: number
  /** Processor time of the whole process meanwhile, the bystander and the server included. */
  readonly cpuMs: number
}

const ttlMs = 3_600_000
/** A machine that needs longer for all of them shows how many are left. */
const longestMs = 1_200_000

/** So many Cleaners on one embedded server, all created in one second and so all due in one. */
export async function measureCrowd(count: number): Promise<CrowdFigures> {
  const clock = new ShiftedClock()
  const folder = mkdtempSync(join(tmpdir(), 'sojourn-bench-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
  const store = openSqliteStore({ path: join(folder, 'state.db'), clock })
  const deletionRecords = userDeletionRecords(clock, { isNeeded: () => false })
  await using server = await startTestServer({ clock, store, deletionRecords, admission: [recordedCreators] })
  const client = new Client(server.transport)
  await fill(client, count)
  clock.resume()

  let from = performance.now()
  const first = await start(server, clock)
  await first.atRest()
  const firstLookMs = performance.now() - from
  await first.stop()

  from = performance.now()
  const second = await start(server, clock)
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
  const bystander = new Bystander(client)
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let peak = before
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  const cpu = process.cpuUsage()
  clock.jumpTo(dueAt - 2000)
  const deadline = performance.now() + longestMs
  const ended = bystander.run(ending.signal)
  while (late.length < count && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    peak = Math.max(peak, process.memoryUsage().rss)
  }
  loop.disable()
  const { user, system } = process.cpuUsage(cpu)
  const left = (await client.list(cleaner.type, { limit: 1 })).items.length
  ending.abort()
  await Promise.all([watching, ended])
  const recorded = await countRecorded(client)
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
    firstMs: late[0] ?? NaN,
    recorded,
    bystander: bystander.figures(),
    growthMb: (peak - before) / 1e6,
    lateness: { p50: at(0.5), p99: at(0.99) },
    longestPauseMs: loop.max / 1e6,
    cpuMs: (user + system) / 1000,
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

/** Another client at work: how long its writes take. */
class Bystander {
  readonly #client: Client
  readonly #waits: number[] = []

  constructor(client: Client) {
    this.#client = client
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let index = 0; !signal.aborted; index++) {
      const from = performance.now()
      const metadata = { name: `bystander-${index}`, namespace: 'default' }
      await this.#client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
      this.#waits.push(performance.now() - from)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  figures() {
    const sorted = this.#waits.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
    return { p50: at(0.5), p99: at(0.99), max: at(1) }
  }
}

async function countRecorded(client: Client): Promise<number> {
  let objects = 0
  for await (const { items } of client.listAll<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' }))
    for (const { spec } of items) objects += 1 + (spec.takes ?? 0)
  return objects
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
      Array.from({ length: Math.min(500, count - from) }, async (_, index) => {
        const metadata = { name: `preview-${from + index}`, namespace: 'team' }
        const { apiVersion, kind } = cleaner
        const reference = { version: 'v1', kind: 'configmap', name: metadata.name }
        const targets = [{ name: 'preview', reference, delete: true, includeWhenEvaluating: false }]
        const spec = { ttl: '1h', targets, conditions: ['time > timestamp("2020-01-01T00:00:00Z")'] }
        await client.create(configMaps, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata,
          data: { branch: metadata.name },
        })
        await client.create(cleaner.type, { apiVersion, kind, metadata, spec })
      }),
    )
}

async function start(server: TestServer, clock: Clock) {
  const counts = { requests: 0, writes: 0 }
  const client = new Client((request) => {
    counts.requests++
    if (request.method !== 'GET') counts.writes++
    return server.transport(request)
  })
  const log = silentLogger
  const metrics = new Metrics()
  const informers = new Informers({ clock, log })
  const events = new EventRecorder('sojourn', { client, clock, log })
  const provesRecords = () => Promise.resolve(true)
  const door = new Door({ client, informers, clock, events, log, metrics, provesRecords })
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
    transact: transactOn(server),
  })
  const settle = settleController({ client, informers, ports: { clock, log, metrics, alarms } })
  const stopping = new AbortController()
  const running = Promise.all([controller.start(stopping.signal), settle.start(stopping.signal)])
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
