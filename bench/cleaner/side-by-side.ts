import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { sojournNamespace } from '../../src/apis/group.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { Door } from '../../src/departures/door/door.ts'
import { namespaces } from '../../src/kube/core-types.ts'
import type { KubeObject, ResourceType } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { Alarms } from '../../src/runtime/controller/alarms.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { silentLogger as log } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { systemClock as clock } from '../../src/runtime/time/clock.ts'
import { cleanerController } from '../../src/systems/cleaner/controller.ts'
import { localNetwork } from '../../test/local-network.ts'
import { trusting } from '../../test/trusting.ts'

const jobs: ResourceType = { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true }
const team = 'team'

export interface ExpiryFigures {
  readonly name: string
  /** Jobs, and Cleaners with ours. */
  readonly deleted: number
  readonly left: number
  /** Requests that change or read single objects while they were deleted, as the API server counts them. */
  readonly requests: number
  readonly seconds: number
  /** Objects that records hold. */
  readonly recorded: number
}

/**
 * The same number of finished Jobs, all due in one second, on a real kube-apiserver: deleted by kube-controller-manager's TTL-after-finished controller, with
 * the garbage collector that its foreground deletions need, and by Cleaners, at the same requests per second.
 */
export async function measureExpiry(count: number, qps: number): Promise<readonly [ExpiryFigures, ExpiryFigures]> {
  return [await theirs(count, qps), await ours(count, qps)]
}

async function theirs(count: number, qps: number): Promise<ExpiryFigures> {
  const flags = [`--kube-api-qps=${qps}`, `--kube-api-burst=${2 * qps}`, '--concurrent-ttl-after-finished-syncs=50']
  const controllers = ['ttl-after-finished-controller', 'garbage-collector-controller']
  await using cluster = await startReferenceCluster({ controllerManager: { controllers, flags } })
  using access = connect(cluster)
  const { client } = access
  await client.create(namespaces, namespaceOf(team))
  const dueAt = await createJobs(client, count, qps)
  await inParallel(count, async (index) => {
    const place = { namespace: team, name: `job-${index}` }
    const body = { spec: { ttlSecondsAfterFinished: Math.round((dueAt - finishedAt) / 1000) } }
    await client.patch(jobs, place, { type: 'merge', body })
    await finish(client, place.name)
  })
  const watched = await untilGone(client, { type: jobs, count, dueAt })
  return { name: 'kube-controller-manager', deleted: count - watched.left, recorded: 0, ...watched }
}

async function ours(count: number, qps: number): Promise<ExpiryFigures> {
  await using cluster = await startReferenceCluster({})
  using access = connect(cluster)
  const { client } = access
  await prepare(client)
  const dueAt = await createJobs(client, count, qps)
  await inParallel(count, async (index) => {
    const name = `job-${index}`
    await finish(client, name)
    const reference = { apiGroup: 'batch', version: 'v1', kind: 'job', name }
    const targets = [{ name: 'it', reference, delete: true, includeWhenEvaluating: false }]
    // It counts from its creation, which the server notes in whole seconds.
    const ttl = `${Math.max(1, Math.ceil((dueAt - Date.now()) / 1000))}s`
    const { apiVersion, kind } = cleaner
    await client.create(cleaner.type, {
      apiVersion,
      kind,
      metadata: { name, namespace: team },
      spec: { ttl, targets },
    })
  })
  await using _running = await start(new Client(limited(access.transport, qps)))
  const watched = await untilGone(client, { type: cleaner.type, count, dueAt })
  const jobsLeft = (await client.list(jobs, { namespace: team })).items.length
  const left = watched.left + jobsLeft
  return { name: 'sojourn', ...watched, deleted: 2 * count - left, left, recorded: await countRecorded(client) }
}

async function start(client: Client): Promise<AsyncDisposable> {
  const metrics = new Metrics()
  const informers = new Informers({ clock, log })
  const events = new EventRecorder('sojourn', { client, clock, log })
  const door = new Door({ client, informers, clock, events, log, metrics, provesRecords: () => Promise.resolve(true) })
  await door.ready()
  const stop = new AbortController()
  const ports = { clock, log, metrics, alarms: new Alarms(clock, { maxSleepMs: 500 }) }
  const actAs = trusting(client)
  const http = localNetwork().http
  const options = { client, informers, door, events, actAs, ports, type: cleaner.type, http }
  const running = cleanerController(options).start(stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
      ports.alarms.close()
      door.close()
      informers.close()
    },
  }
}

/** Requests at no more than this rate, with a burst of twice as many, as client-go limits them. Watches do not count. */
function limited(inner: Transport, qps: number): Transport {
  let tokens = 2 * qps
  let at = performance.now()
  let queue = Promise.resolve()
  const take = async () => {
    for (;;) {
      const now = performance.now()
      tokens = Math.min(2 * qps, tokens + ((now - at) / 1000) * qps)
      at = now
      if (tokens >= 1) return void tokens--
      await new Promise((resolve) => setTimeout(resolve, ((1 - tokens) / qps) * 1000))
    }
  }
  return async (request) => {
    if (request.query?.watch !== 'true') {
      queue = queue.then(take)
      await queue
    }
    return inner(request)
  }
}

/** Waits until all objects of a type are gone, or five minutes have passed; what the API server was asked meanwhile. */
async function untilGone(
  client: Client,
  { type, count, dueAt }: { readonly type: ResourceType; readonly count: number; readonly dueAt: number },
) {
  await new Promise((resolve) => setTimeout(resolve, dueAt - Date.now() - 2000))
  const { items } = await client.list(type, { namespace: team, limit: 1 })
  if (items.length === 0) throw new Error('they were deleted before they were due')
  const before = await requestsOf(client)
  for (let left = count; ;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const found = await client.list(type, { namespace: team, limit: 1, metadataOnly: true })
    left = found.items.length + (found.metadata.remainingItemCount ?? 0)
    const seconds = (Date.now() - dueAt) / 1000
    if (left > 0 && seconds < 300) continue
    return { left, seconds, requests: (await requestsOf(client)) - before }
  }
}

/** Requests for single objects of the kinds that take part: the bench itself only lists and watches. */
async function requestsOf(client: Client): Promise<number> {
  const { body } = await client.request({ method: 'GET', path: '/metrics' })
  let sum = 0
  for (const line of String(body).split('\n')) {
    const [, labels = '', value = '0'] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? []
    const verb = /verb="([^"]*)"/.exec(labels)?.[1] ?? ''
    const resource = /resource="([^"]*)"/.exec(labels)?.[1] ?? ''
    if (kinds.has(resource) && !['LIST', 'WATCH'].includes(verb)) sum += Number(value)
  }
  return sum
}

const kinds = new Set(['jobs', 'cleaners', 'departures', 'departurepages', 'events', 'subjectaccessreviews', 'pods'])

async function countRecorded(client: Client): Promise<number> {
  let objects = 0
  for await (const { items } of client.listAll<Departure>(departure.type))
    for (const { spec, status } of items) if (status?.phase !== 'Abandoned') objects += 1 + (spec.takes ?? 0)
  return objects
}

/** Creates Jobs. When they are to be due: late enough for this machine to finish them, and for a controller to see each once. */
async function createJobs(client: Client, count: number, qps: number): Promise<number> {
  const from = Date.now()
  await inParallel(count, async (index) => void (await client.create(jobs, jobOf(`job-${index}`))))
  const now = Date.now()
  return Math.ceil((now + 15_000 + 4 * (now - from) + (count / qps) * 1000) / 1000) * 1000
}

const finishedAt = Math.floor(Date.now() / 1000) * 1000 - 60_000

async function finish(client: Client, name: string): Promise<void> {
  const time = new Date(finishedAt).toISOString().replace('.000', '')
  const condition = (type: string) => ({ type, status: 'True', lastProbeTime: time, lastTransitionTime: time })
  const status = {
    startTime: time,
    completionTime: time,
    succeeded: 1,
    conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
  }
  const body = { status }
  await client.patch(jobs, { namespace: team, name }, { type: 'merge', body }, { subresource: 'status' })
}

function jobOf(name: string): KubeObject {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: team },
    spec: { template },
  }
}

async function prepare(client: Client): Promise<void> {
  for (const { crd } of allKinds) {
    const type = await client.discovery.typeOf(crd)
    if (type) await client.create(type, crd)
  }
  for (const name of [sojournNamespace, team]) await client.create(namespaces, namespaceOf(name))
  for (const kind of allKinds)
    for (;;) {
      client.discovery.forget()
      if (await client.discovery.typeOf(kind)) break
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
}

function namespaceOf(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

function connect({ url: server, ca, token }: ReferenceCluster) {
  const config = { server, ca, namespace: 'default', credentials: () => Promise.resolve({ token }) }
  const network = networkTransport(config, { userAgent: 'bench' })
  const { transport } = network
  return { transport, client: new Client(transport), [Symbol.dispose]: () => network.close() }
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < count) await work(next++)
    }),
  )
}
