import { registerKinds } from '../../src/admission/register-kinds.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { cronJobs, deployments, namespaces } from '../../src/kube/core-types.ts'
import type { KubeObject, ResourceType } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { Activator } from '../../src/systems/activator/activator.ts'
import { SilentDataPlane } from '../../src/systems/activator/proxy/planes/silent-data-plane.ts'
import { singleReplica } from '../../src/systems/activator/replicas/peers.ts'
import { startOurs, startTheirs, type Target } from '../apiserver/target.ts'
import { pause } from './processes.ts'

// Many namespaces that close and open at the same instants: writes per workload, and how late each workload was written.
const count = Number(process.env['NAMESPACES'] ?? 1000)
const minute = 60_000
/** The activator lives in the future, so that nothing that was just created is too new to sleep. */
const aheadMs = 3_600_000
const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
const pods = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'x', image: 'x' }] } }

for (const start of [startOurs, startTheirs]) {
  await using target = await start()
  await measure(target)
}
// Alarms of the next opening stay in the process.
process.exit()

async function measure(target: Target): Promise<void> {
  const { url: server, ca, token } = target
  const network = networkTransport({ server, ca, namespace: 'default', credentials: () => Promise.resolve({ token }) })
  const base = network.transport
  const client = new Client(base)
  await registerKinds(client)
  const names = Array.from({ length: count }, (_, index) => `night-${index}`)
  await inParallel(names, (name) => populate(client, name))
  const written: { readonly at: number; readonly object: string }[] = []
  const counting: Transport = (request) => {
    const { method, path } = request
    if (method === 'PATCH') written.push({ at: clock.now(), object: path })
    return base(request)
  }
  const metrics = new Metrics()
  const activator = new Activator({
    client: new Client(counting),
    informers: new Informers({ clock, metrics }),
    clock,
    log: silentLogger,
    metrics,
    events: { record: () => {} },
    peers: singleReplica(),
    openPlane: () => new SilentDataPlane(),
  })
  const control = new AbortController()
  const running = activator.start(control.signal)
  await activator.synced()
  const closesAt = Math.ceil((clock.now() + count * 30) / minute) * minute
  const opensAt = closesAt + minute
  const hours = `${span(0, closesAt)}; ${span(opensAt, 0)} UTC`
  await inParallel(names, (name) =>
    client.patch(
      namespaces,
      { name },
      { type: 'merge', body: { metadata: { annotations: { 'sojourn.dev/awake': hours } } } },
    ),
  )
  if (clock.now() > closesAt) throw new Error('the namespaces closed before all were annotated')
  report(target.name, 'asleep', await wait(written, closesAt, opensAt))
  report(target.name, 'awake', await wait(written, opensAt, opensAt + 2 * minute))
  control.abort()
  await running
  network.close()
}

async function wait(written: readonly { at: number; object: string }[], from: number, to: number) {
  while (
    clock.now() < to &&
    new Set(written.filter(({ at }) => at >= from).map(({ object }) => object)).size < 3 * count
  )
    await pause(500)
  await pause(2000)
  return { from, writes: written.filter(({ at }) => at >= from && at < to) }
}

function report(name: string, what: string, { from, writes }: Awaited<ReturnType<typeof wait>>): void {
  const workloads = new Set(writes.map(({ object }) => object)).size
  const late = writes.map(({ at }) => at - from).toSorted((one, other) => one - other)
  const share = (part: number) => ((late[Math.floor(part * (late.length - 1))] ?? NaN) / 1000).toFixed(1)
  console.log(
    `${name}: ${workloads} of ${3 * count} workloads ${what}, ${(writes.length / workloads).toFixed(2)} writes each; late by p50 ${share(0.5)} s, p99 ${share(0.99)} s, last ${share(1)} s`,
  )
  if (workloads < 3 * count) process.exitCode = 1
}

async function populate(client: Client, namespace: string): Promise<void> {
  const create = (type: ResourceType, kind: string, name: string, spec: object) =>
    client.create(type, {
      apiVersion: type.group ? `${type.group}/v1` : 'v1',
      kind,
      metadata: { name, ...(type.namespaced ? { namespace } : {}) },
      spec,
    } as KubeObject)
  await create(namespaces, 'Namespace', namespace, {})
  for (const name of ['web', 'worker'])
    await create(deployments, 'Deployment', name, {
      replicas: 2,
      selector: { matchLabels: { app: 'x' } },
      template: pods,
    })
  const template = { ...pods, spec: { ...pods.spec, restartPolicy: 'Never' } }
  await create(cronJobs, 'CronJob', 'nightly', { schedule: '0 3 * * *', jobTemplate: { spec: { template } } })
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

/** Every day, from an instant's time of day to another's; 0 is midnight. */
function span(from: number, to: number): string {
  const time = (at: number) => new Date(at).toISOString().slice(11, 16)
  return `Mon-Sun ${from === 0 ? '00:00' : time(from)}-${to === 0 ? '24:00' : time(to)}`
}
