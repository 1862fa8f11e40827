import { connect } from 'node:net'
import { startTestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { seededRandom } from '../../src/runtime/time/random.ts'
import { Activator } from '../../src/systems/activator/activator.ts'
import { singleReplica } from '../../src/systems/activator/replicas/peers.ts'
import { ThreadedDataPlane } from '../../src/systems/activator/proxy/planes/threaded-data-plane.ts'
import { startFakeCluster } from '../../test/activator/cluster.ts'
import { pause } from './processes.ts'

// Bursts of requests with silences between in which the workload falls asleep, while it is drained and released at random.
const wanted = Number(process.env['REQUESTS'] ?? 1_000_000)
const perBurst = Number(process.env['BURST'] ?? 20_000)
const warmMs = Number(process.env['WARM_SECONDS'] ?? 35) * 1000
const connections = 64
const random = seededRandom(Number(process.env['SEED'] ?? 1))
const host = 'web.test'

let writes = 0
const server = await startTestServer({ clock: systemClock as never })
const counting: typeof server.transport = (request) => {
  if (request.method !== 'GET') writes++
  return server.transport(request)
}
const cluster = await startFakeCluster(server.transport, {
  answer: (request, response) => void response.end(request.url),
})
const metrics = new Metrics()
const activator = new Activator({
  client: new Client(counting),
  informers: new Informers({ clock: systemClock, metrics }),
  clock: systemClock,
  log: silentLogger,
  metrics,
  events: { record: () => {} },
  peers: singleReplica(),
  openPlane: (onWake) => new ThreadedDataPlane({ threads: 2, onWake }),
})
const control = new AbortController()
const running = activator.start(control.signal)
const port = await activator.plane.listen({ host: '127.0.0.1', port: 0 })
await cluster.addApp('web', { 'proxless/ttl-seconds': '1' })
while (activator.rows().length === 0) await pause(5)

let [sent, right, wrong] = [0, 0, 0]
const complaints: string[] = []
let bursting = false
const chaos = disturb()
while (sent < wanted) {
  bursting = true
  await burst(Math.min(perBurst, wanted - sent))
  bursting = false
  console.error(`${sent} sent, ${right} right, ${wrong} wrong, ${cluster.starts} wakes`)
  if (sent < wanted) await pause(random() < 0.7 ? 1900 + random() * 700 : random() * 1200)
}
const warm = await stayWarm()
control.abort()
await Promise.all([running, chaos])
await activator.plane.close()
await cluster[Symbol.asyncDispose]()
await server.close()

const delays = cluster.delays.toSorted((a, b) => a - b)
const p95 = delays[Math.floor(delays.length * 0.95)] ?? 0
console.log({
  sent,
  right,
  wrong,
  wakes: cluster.starts,
  sleeps: cluster.history.get('web')!.filter((replicas) => replicas === 0).length,
  writes,
  p95DelayMs: Math.round(p95),
})
for (const complaint of complaints.slice(0, 5)) console.log(complaint)
console.log(`${wrong === 0 && right === sent ? 'holds' : 'FAILS'}: ${wrong} lost of ${sent} requests, at most 0`)
console.log(
  `${p95 <= 60 ? 'holds' : 'FAILS'}: ${p95.toFixed(0)} ms from listening to the first request (p95 of ${delays.length}), at most 60`,
)
// What it was last used is written down every 30 s at most; nothing is written for a request.
const mayWrite = Math.ceil(warm.seconds / 30)
console.log(
  `${warm.writes <= mayWrite ? 'holds' : 'FAILS'}: ${warm.writes} writes to the API while ${warm.requests} requests kept it awake for ${warm.seconds.toFixed(0)} s, at most ${mayWrite}`,
)
process.exit(wrong === 0 && p95 <= 60 && warm.writes <= mayWrite ? 0 : 1)

/** Sends requests without a pause, and counts them once the wake and its Events are over. */
async function stayWarm(): Promise<{ readonly requests: number; readonly seconds: number; readonly writes: number }> {
  const startedAt = systemClock.monotonic()
  let [seen, quietSince] = [writes, startedAt]
  while (systemClock.monotonic() < Math.min(quietSince + 2000, startedAt + 20_000)) {
    await burst(connections * 10)
    if (writes !== seen) [seen, quietSince] = [writes, systemClock.monotonic()]
  }
  const [from, sentBefore, writtenBefore] = [systemClock.monotonic(), sent, writes]
  while (systemClock.monotonic() < from + warmMs) await burst(connections * 10)
  const seconds = (systemClock.monotonic() - from) / 1000
  return { requests: sent - sentBefore, seconds, writes: writes - writtenBefore }
}

/** Sends this many requests, over all connections at once. */
async function burst(count: number): Promise<void> {
  await Promise.all(Array.from({ length: connections }, () => caller(Math.ceil(count / connections))))
}

/** Sends requests one after another on one connection, each with its own path, and checks every answer. */
function caller(count: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let [left, path, text] = [count, '', '']
    const next = () => {
      if (left-- === 0) {
        socket.destroy()
        return resolve()
      }
      path = `/${sent++}`
      text = ''
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    }
    const fail = (why: string) => {
      wrong++
      complaints.push(`${why}: ${JSON.stringify(text.slice(0, 300))}`)
      socket.destroy()
      void caller(Math.max(0, left)).then(resolve)
    }
    socket.on('connect', next)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      text += data.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/\r\nContent-Length: (\d+)/i.exec(text)?.[1] ?? Number.NaN)
      const body = /chunked/i.test(text.slice(0, end))
        ? unchunked(text.slice(end + 4))
        : text.length - end - 4 >= length
          ? text.slice(end + 4)
          : undefined
      if (body === undefined) return
      if (!text.startsWith('HTTP/1.1 200') || body !== path) return fail(`wrong answer to ${path}`)
      right++
      next()
    })
    socket.on('close', () => left >= 0 && !socket.destroyed && fail('closed'))
    socket.on('end', () => left >= 0 && fail(`closed under ${path}`))
  })
}

function unchunked(text: string): string | undefined {
  return text.endsWith('0\r\n\r\n') ? text.slice(text.indexOf('\r\n') + 2, text.lastIndexOf('\r\n0\r\n')) : undefined
}

/** Holds everything back for a moment, now and then, as another replica would that thinks of sleep. */
async function disturb(): Promise<void> {
  while (!control.signal.aborted) {
    await pause(20 + random() * 150)
    if (!bursting) continue
    await activator.drain('default/web').catch(() => {})
    await pause(random() * 20)
    activator.release('default/web')
  }
}
