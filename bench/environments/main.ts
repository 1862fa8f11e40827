import { environmentClass } from '../../src/apis/environment-class.ts'
import { environment, type Environment } from '../../src/apis/environment.ts'
import { Client } from '../../src/client/client.ts'
import { deployments, namespaces, services, statefulSets } from '../../src/kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { quietClock } from '../../src/runtime/time/quiet-clock.ts'
import {
  channel,
  classOf,
  day,
  deploymentOf,
  forges,
  hour,
  launch,
  Mails,
  minute,
} from '../../test/environments/environments-world.ts'
import { PullForge } from '../../test/pull-forge.ts'
import { startWorld, type World } from '../../test/world.ts'

/** What the activator says of a Service that its proxy serves. */
const served = {
  type: 'sojourn.dev/OnDemand',
  status: 'True',
  reason: 'Routed',
  message: 'Requests to this Service wake its workload.',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}
const count = Number(process.env['ENVIRONMENTS'] ?? 2000)
const due = count / 10

await using world = await startWorld()
const [mails, forge] = [new Mails(), new PullForge()]
await fill(world)
console.log(
  `${count} environments in one process with their API server, each with a Deployment, a Service and an open pull request`,
)

let [requests, writes] = [0, 0]
const transport: Transport = (request) => {
  requests++
  if (request.method !== 'GET') writes++
  return world.server.transport(request)
}
await firstRun()
forge.requests.length = 0

const before = await heapMb()
const withCaches = await cachesOnly(world, async () => (await heapMb()) - before)
const empty = await heapMb()
writes = 0
let from = performance.now()
const running = launch(world, { mails, forge, transport })
await world.pass(10 * minute)
const restartWrites = writes
console.log(`  restart: ${seconds(from)}, ${restartWrites} writes`)
const own = (await heapMb()) - empty - withCaches
console.log(`  memory: informers ${withCaches.toFixed(0)} MB, the system itself ${own.toFixed(0)} MB more`)

;[requests, writes, forge.requests.length] = [0, 0, 0]
from = performance.now()
await world.pass(hour)
console.log(
  `  at rest, per minute: ${(requests / 60).toFixed(1)} API requests, ${(writes / 60).toFixed(2)} writes, ${(forge.requests.length / 60).toFixed(1)} forge requests (${seconds(from)} by the clock for an hour)`,
)

// The class is shortened: these are due at once, and each owner is told first.
;[requests, writes] = [0, 0]
from = performance.now()
const changedAt = world.clock.now()
const body = { spec: { delete: { after: '1h', warnBefore: '1h', maxAge: '60d' } } }
await world.client.patch(environmentClass.type, { name: 'due' }, { type: 'merge', body })
await world.pass(minute)
const told = mails.sent.flatMap(({ notice }) => notice.items)
console.log(
  `  ${due} due at once: ${told.length} told in ${mails.sent.length} mails within a minute, ${seconds(from)}, ${writes} writes`,
)
from = performance.now()
const dates = new Map(told.map(({ name, deletionAt }) => [name, deletionAt]))
let [early, passed] = [0, 0]
const living = new Set(dates.keys())
while (living.size > 0 && passed < 2 * day) {
  await world.pass(minute)
  passed += minute
  const here = new Set<string>()
  await onClock(async () => {
    for await (const { items } of world.client.listAll<StoredObject>(namespaces, { labelSelector: 'env=due' }))
      for (const { metadata } of items) if (!metadata.deletionTimestamp) here.add(metadata.name)
  })
  for (const name of living)
    if (!here.has(name)) {
      if (world.clock.now() < (dates.get(name) ?? Infinity)) early++
      living.delete(name)
    }
}
const lastMinutes = Math.round((world.clock.now() - changedAt) / minute)
console.log(
  `  deleted: ${dates.size - living.size}, ${early} before the told date, the last ${lastMinutes} minutes after the change; ${seconds(from)}, ${writes} writes`,
)
const { items } = await onClock(() => world.client.list<Environment>(environment.type, {}))
console.log(`  ${items.length} environments are left`)
await running.stop()
if (early > 0 || living.size > 0 || restartWrites > 0) process.exitCode = 1

/** Until each pull request has its comment, within the budget of the forge, and the grace of new environments is over. */
async function firstRun(): Promise<void> {
  const began = performance.now()
  const first = launch(world, { mails, forge, transport })
  let hours = 0
  while (hours < 2 || (forge.comments.length < count && hours < 48)) {
    await world.pass(hour)
    hours++
  }
  console.log(
    `  first ${hours} hours: ${seconds(began)} by the clock, ${writes} writes, ${forge.requests.length} forge requests, ${forge.comments.length} comments`,
  )
  await first.stop()
}

/** A long list gives way to other work, and the virtual clock resumes it only while it runs or settles. */
async function onClock<T>(work: () => Promise<T>): Promise<T> {
  const done = world.clock.track(work)
  await world.clock.settle()
  return done
}

async function fill(given: World): Promise<void> {
  const create = (manifest: KubeObject) => given.create(manifest)
  await create(channel)
  const metadata = { name: 'forge', namespace: 'sojourn-system' }
  await create({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: 'x' } })
  const pullRequest = { forges: [...forges] }
  for (const [name, max] of [
    ['preview', 5000],
    ['due', undefined],
  ] as const)
    await create(
      classOf(
        {
          namespaceSelector: { matchLabels: { env: name } },
          sleep: { idleAfter: '30m' },
          pullRequest,
          ...(max === undefined ? {} : { limits: { max, maxPerOwner: 100 } }),
        },
        name,
      ),
    )
  for (let index = 0; index < count; index++) {
    const name = `shop-pr-${index}`
    const annotations = {
      'sojourn.dev/owner': `owner-${index % 50}@example.org`,
      'sojourn.dev/pull-request': `https://git.example.org/acme/shop/pulls/${index + 1}`,
    }
    forge.open(index + 1)
    const labels = { env: index < due ? 'due' : 'preview' }
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } })
    await create(deploymentOf('shop:1', name))
    const domains = { 'proxless/domains': `pr-${index}.shop.test`, 'proxless/deployment': 'shop' }
    const spec = { ports: [{ port: 80 }], selector: { app: 'shop' } }
    await create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: name, annotations: domains },
      spec,
    })
    const body = { status: { conditions: [served] } }
    const place = { namespace: name, name: 'shop' }
    await given.client.patch(services, place, { type: 'merge', body }, { subresource: 'status' })
  }
}

/** What is measured while only the informers of the system are there. */
async function cachesOnly(given: World, measure: () => Promise<number>): Promise<number> {
  const { server, clock } = given
  const client = new Client(server.transport)
  const informers = new Informers({ clock: quietClock(clock), log: silentLogger }, { freeze: true })
  const types = [environment.type, environmentClass.type, namespaces, deployments, statefulSets, services]
  const opened = types.map((type) => informers.open(client, type))
  while (!opened.every(({ synced }) => synced)) await given.pass(1000)
  const measured = await measure()
  informers.close()
  return measured
}

/** What was stopped is free for collection some turns of the event loop later. */
async function heapMb(): Promise<number> {
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed / 1e6
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}
