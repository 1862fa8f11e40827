import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { backendCommand, contestants, ours, type Contestant } from './contestants.ts'
import { endure } from './endurance.ts'
import { holdRequests } from './held.ts'
import { cpuSeconds, residentBytes, start } from './processes.ts'
import { wrk } from './wrk.ts'

// Proxies alone on one core, load and backend on the other; rounds alternate, so that a busy machine hurts all alike.
const rounds = Number(process.env['ROUNDS'] ?? 5)
const seconds = Number(process.env['SECONDS'] ?? 3)
const loads = (process.env['CONNECTIONS'] ?? '64,256,1').split(',').map(Number)
const only = process.env['ONLY']?.split(',')
const backendPort = 19_000
const backend = `127.0.0.1:${backendPort}`

interface Figures {
  readonly microseconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
}

if (spawnSync('wrk').error) {
  console.error('the benchmark needs wrk: install the package wrk')
  process.exit(1)
}
const taking = (await contestants()).filter(({ name }) => !only || only.includes(name))
const pods = await start(backendCommand(backendPort), { cores: '0', port: backendPort })
const figures = new Map<string, Figures[]>()
const memory = new Map<string, number>()
const field = await Promise.all(
  taking.map(async (contestant, index) => ({
    contestant,
    port: 19_100 + index,
    running: await begin(contestant, 19_100 + index),
  })),
)
try {
  for (const { port } of field) await wrk(port, { connections: 64, seconds: 2, core: '0' })
  for (let round = 1; round <= rounds; round++) {
    for (const connections of loads) {
      for (const { contestant, port, running } of field) {
        const before = cpuSeconds(running.pid)
        const load = await wrk(port, { connections, seconds, core: '0' })
        const microseconds = ((cpuSeconds(running.pid) - before) / load.requests) * 1e6
        const key = `${contestant.name} ${connections}`
        figures.set(key, [...(figures.get(key) ?? []), { ...load, microseconds }])
        memory.set(contestant.name, residentBytes(running.pid))
      }
    }
    console.error(`round ${round} of ${rounds}`)
  }
} finally {
  for (const { running } of field) await running.stop()
  await pods.stop()
}

for (const connections of loads) print(connections)
const held = only ? undefined : await holdRequests(10_000)
if (held) console.log(`held requests: ${held.bytesEach.toFixed(0)} bytes each, of ${held.count}`)
const endured = only ? undefined : await endure(Number(process.env['REQUESTS'] ?? 1_000_000))
if (endured)
  console.log(`after ${endured.requests} requests: ${endured.megabytes.toFixed(0)} MB, ${endured.errors} errors`)
judge()
// Sleeps and wakes while requests come: none may be lost. Then 1,000 namespaces close and open at one instant.
if (!only) {
  for (const file of ['no-loss.ts', 'schedule.ts']) {
    const { status } = spawnSync(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
}

function begin(contestant: Contestant, port: number) {
  return start(contestant.command(port, backend), { cores: '1', port })
}

function print(connections: number): void {
  const rows = taking.map(({ name }) => {
    const all = figures.get(`${name} ${connections}`) ?? []
    return {
      [`${connections} connections`]: name,
      'µs CPU per request': median(all.map(({ microseconds }) => microseconds)).toFixed(1),
      'against ours': ratio(name, connections).toFixed(2),
      'requests/s': Math.round(median(all.map(({ perSecond }) => perSecond))),
      'p50 ms': median(all.map(({ p50Ms }) => p50Ms)).toFixed(2),
      'p99 ms': median(all.map(({ p99Ms }) => p99Ms)).toFixed(2),
      errors: all.reduce((sum, { errors }) => sum + errors, 0),
      'RSS MB': Math.round((memory.get(name) ?? 0) / 1e6),
    }
  })
  console.table(rows)
}

/** Another's CPU per request in ours: the median of the ratios of each round. */
function ratio(name: string, connections: number): number {
  const mine = figures.get(`${ours.name} ${connections}`) ?? []
  const theirs = figures.get(`${name} ${connections}`) ?? []
  return median(theirs.map(({ microseconds }, round) => microseconds / (mine[round]?.microseconds ?? Number.NaN)))
}

/** What must hold: our CPU per request is at most so many times theirs. */
function judge(): void {
  const demands: readonly [string, number][] = [
    ['nginx', 1.1],
    ['fasthttp-proxy', 1.1],
    ['go-reverseproxy', 0.5],
    ['node:http', 0.25],
  ]
  for (const connections of loads) {
    for (const [name, most] of demands)
      if (taking.some((each) => each.name === name))
        say(`CPU at ${connections} connections / ${name}`, 1 / ratio(name, connections), most)
  }
  const p99 = (name: string) => median((figures.get(`${name} 64`) ?? []).map(({ p99Ms }) => p99Ms))
  if (taking.some(({ name }) => name === 'nginx'))
    say('p99 at 64 connections / nginx', p99(ours.name) / p99('nginx'), 1.3)
  if (held) say('KB of a held request', held.bytesEach / 1024, 6)
  if (endured) {
    say(`memory after ${endured.requests} requests / after a tenth of them`, endured.growth, 1.1)
    say('processor time of the busier of two threads / of the other', endured.imbalance, 1.5)
    say('errors among them', endured.errors, 0)
  }
}

function say(what: string, value: number, most: number): void {
  const holds = value <= most
  if (!holds) process.exitCode = 1
  console.log(`${holds ? 'holds' : 'FAILS'}: ${what} ${value.toFixed(2)}, at most ${most}`)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
