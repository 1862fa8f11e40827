import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanupPolicy, type CleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { Door } from '../../src/departures/door/door.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Clusters } from '../../src/runtime/clusters/clusters.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { createJanitor } from '../../src/systems/janitor/janitor.ts'
import { judgedPolicy } from './judged-policy.ts'
import { heapMebibytes, mebibytes, within } from './measure.ts'
import { localNetwork } from '../../test/local-network.ts'

/** One policy, followed by a whole janitor over the network, judges so many ConfigMaps of a real server out of live caches. */
const count = Number(process.argv[2] ?? 100_000)
const spec = { ...judgedPolicy('1s'), dryRun: true, interval: '1h' }
const directory = mkdtempSync(join(tmpdir(), 'judge-live-'))
const cluster = fork(join(import.meta.dirname, 'live-cluster.ts'), [String(count)])
try {
  const [kubeconfig] = (await once(cluster, 'message')) as [string]
  writeFileSync(join(directory, 'kubeconfig'), kubeconfig)
  await measureLooks(join(directory, 'kubeconfig'))
} finally {
  cluster.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}
process.exit()

async function measureLooks(kubeconfig: string): Promise<void> {
  const clock = systemClock
  const log = silentLogger
  const client = new Client(
    networkTransport(loadKubeconfig([kubeconfig], { now: () => clock.now(), env: {} })).transport,
  )
  const metrics = new Metrics()
  const informers = new Informers({ clock, log, metrics })
  const events = new EventRecorder('sojourn', { client, clock, log })
  const door = new Door({ client, informers, clock, events, log, metrics, provesRecords: () => Promise.resolve(true) })
  const clusters = new Clusters({ home: client, informers, clock, log, connect: () => client })
  const janitor = createJanitor({
    client,
    informers,
    door,
    events,
    ports: { clock, log, metrics },
    cluster: (name) => clusters.client(name),
    network: localNetwork(),
    identity: 'bench',
    publicUrl: () => 'https://sojourn.example',
  })
  await door.ready()
  for (const controller of janitor.controllers) void controller.start(new AbortController().signal)
  const before = heapMebibytes()
  await client.create(cleanupPolicy.type, {
    apiVersion: cleanupPolicy.apiVersion,
    kind: cleanupPolicy.kind,
    metadata: { name: 'tidy' },
    spec,
  })
  const first = await look(client, 1)
  console.log(
    `first look, caches filled over the network: ${first.cpu} s of CPU, ${first.seconds} s, heap ${before} -> ${heapMebibytes()} MiB`,
  )
  for (let generation = 2; generation <= 4; generation++) {
    const held = heapMebibytes()
    const changing = look(client, generation)
    await client.patch(
      cleanupPolicy.type,
      { name: 'tidy' },
      { type: 'merge', body: { spec: { interval: `${generation}h` } } },
    )
    const { cpu, seconds, visited, violating, peak } = await changing
    console.log(
      `judged ${visited} objects, ${violating} violating: ${cpu} s of CPU, ${seconds} s; heap ${held} MiB with caches, ${heapMebibytes()} after, at most ${peak}; process at most ${mebibytes(process.resourceUsage().maxRSS * 1024)} MiB`,
    )
    within('seconds of CPU', Number(cpu), 10)
    within('MB of heap beside the caches', (Number(peak) - Number(held)) * 1.048576, 300)
  }
}

/** Waits until the policy has been followed in this generation, and says what that took. */
async function look(client: Client, generation: number) {
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  let peak = 0
  for (;;) {
    await sleep(50)
    peak = Math.max(peak, process.memoryUsage().heapUsed)
    const { status } = await client.get<CleanupPolicy>(cleanupPolicy.type, { name: 'tidy' })
    const found = status?.locations?.kubernetes
    if (found?.generation !== generation) continue
    const { user, system } = process.cpuUsage(cpu)
    return {
      visited: found.visited,
      violating: found.violating,
      cpu: ((user + system) / 1e6).toFixed(2),
      seconds: ((performance.now() - startedAt) / 1000).toFixed(1),
      peak: mebibytes(peak),
    }
  }
}
