import { deployments, endpointSlices, services } from '../../src/kube/core-types.ts'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '../../src/client/client.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import type { EventNote } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { createLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { Activator } from '../../src/systems/activator/activator.ts'
import type { ActivatorOptions } from '../../src/systems/activator/activator-parts.ts'
import { singleReplica, type Peers } from '../../src/systems/activator/replicas/peers.ts'
import { SilentDataPlane } from '../../src/systems/activator/proxy/planes/silent-data-plane.ts'
import { Proxy } from '../../src/systems/activator/proxy/planes/proxy.ts'

/** A clock on which everything happens this many times as fast, so that minutes pass in seconds. */
export function fastClock(times: number, startAt = systemClock.now()): Clock {
  const began = systemClock.monotonic()
  const elapsed = () => (systemClock.monotonic() - began) * times
  return {
    now: () => startAt + elapsed(),
    monotonic: elapsed,
    after: (delayMs, callback) => systemClock.after(delayMs / times, callback),
    breathe: () => systemClock.breathe(),
  }
}

export interface Replica extends AsyncDisposable {
  readonly activator: Activator
  readonly port: number
  readonly metrics: Metrics
  readonly events: readonly (EventNote & { readonly about: string })[]
  /** Its lines. */
  readonly log: readonly string[]
  stop(): Promise<void>
}

// On a fast clock a busy machine would seem slow to a proxy that is not patient.
const patient = { headTimeoutMs: 3_600_000, keepAliveMs: 3_600_000, bodyTimeoutMs: 3_600_000, dialTimeoutMs: 60_000 }

/** One replica of the activator on a cluster, its proxy in this thread. */
export async function startReplica(
  transport: Transport,
  { clock, peers = singleReplica(), ...options }: ActivatorOptions & { readonly clock: Clock; readonly peers?: Peers },
): Promise<Replica> {
  const client = new Client(transport)
  const metrics = new Metrics()
  const informers = new Informers({ clock, metrics })
  const events: (EventNote & { about: string })[] = []
  const log: string[] = []
  const record = (about: KubeObject | { readonly name: string }, note: EventNote) => {
    events.push({
      ...note,
      about: 'metadata' in about ? ((about as KubeObject).metadata.name ?? '') : (about as { name: string }).name,
    })
  }
  const activator = new Activator(
    {
      client,
      informers,
      clock,
      log: createLogger({ clock, write: (line) => void log.push(line) }),
      metrics,
      events: { record },
      peers,
      openPlane: (onWake, onAnswers) =>
        options.part === 'scaler'
          ? new SilentDataPlane()
          : new Proxy({ clock, wake: onWake, random: () => 0.5, report: onAnswers }, { limits: patient }),
    },
    { defaults: { ttlMs: 300_000, readinessTimeoutMs: 600_000 }, ...options },
  )
  const control = new AbortController()
  const running = activator.start(control.signal)
  const port = await activator.plane.listen({ host: '127.0.0.1', port: 0 })
  const stop = async () => {
    control.abort()
    await running
    await activator.plane.close()
    informers.close()
  }
  return { activator, port, metrics, events, log, stop, [Symbol.asyncDispose]: stop }
}

export interface FakeCluster extends AsyncDisposable {
  readonly client: Client
  /** Replicas each Deployment was set to, in order, as its watch told. */
  readonly history: Map<string, number[]>
  /** Pods started and stopped so far. */
  readonly starts: number
  /** For each pod, how long it listened before its first request came, in milliseconds. */
  readonly delays: readonly number[]
  addApp(name: string, annotations?: Record<string, string>, replicas?: number): Promise<void>
  addDeployment(name: string, replicas: number): Promise<void>
  deployment(name: string): Promise<StoredObject>
  service(name: string): Promise<StoredObject>
}

export interface FakeClusterOptions {
  /** Whether pods become ready. Defaults to true. */
  readonly ready?: () => boolean
  /** What a pod answers with. Defaults to 200 and its name. */
  readonly answer?: http.RequestListener
}

const namespace = 'default'

/** Plays Deployment controller and kubelet with real servers: replicas become listening ports and ready endpoints. */
export function startFakeCluster(transport: Transport, options: FakeClusterOptions = {}): Promise<FakeCluster> {
  return Promise.resolve(new FakeDeployments(transport, options))
}

class FakeDeployments implements FakeCluster {
  readonly client: Client
  readonly history = new Map<string, number[]>()
  readonly delays: number[] = []
  readonly #options: FakeClusterOptions
  readonly #pods = new Map<string, http.Server>()
  /** The Service a Deployment serves, where it is not of its name. */
  readonly #serviceOf = new Map<string, string>()
  readonly #control = new AbortController()
  readonly #following: Promise<void>
  #starts = 0

  constructor(transport: Transport, options: FakeClusterOptions) {
    this.client = new Client(transport, { fieldManager: 'fake-cluster' })
    this.#options = options
    this.#following = this.#follow()
  }

  get starts(): number {
    return this.#starts
  }

  async addApp(name: string, annotations: Record<string, string> = {}, replicas = 0): Promise<void> {
    const served = annotations['proxless/deployment'] ?? name
    this.#serviceOf.set(served, name)
    await this.client.create(endpointSlices, emptySlice(name))
    await this.client.create(services, serviceFor(name, annotations))
    if (served === name) await this.addDeployment(name, replicas)
  }

  async addDeployment(name: string, replicas: number): Promise<void> {
    await this.client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'app', image: 'app' }] } },
      },
    })
  }

  deployment(name: string): Promise<StoredObject> {
    return this.client.get(deployments, { namespace, name })
  }

  service(name: string): Promise<StoredObject> {
    return this.client.get(services, { namespace, name })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#control.abort()
    await this.#following.catch(() => {})
    for (const server of this.#pods.values()) {
      server.closeAllConnections()
      server.close()
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#control
    const { metadata, items } = await this.client.list(deployments, { namespace })
    for (const item of items) await this.#settle(item)
    try {
      const { resourceVersion } = metadata
      for await (const { object } of this.client.watch(deployments, { namespace, resourceVersion, signal }))
        await this.#settle(object)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #settle(deployment: StoredObject): Promise<void> {
    const { name } = deployment.metadata
    const { replicas = 1 } = deployment.spec as { replicas?: number }
    const past = this.history.get(name) ?? []
    if (past.at(-1) === replicas) return
    this.history.set(name, [...past, replicas])
    const isReady = this.#options.ready?.() ?? true
    if (replicas > 0 && !this.#pods.has(name) && isReady) await this.#startPod(name)
    if (replicas === 0) await this.#stopPod(name)
  }

  async #startPod(name: string): Promise<void> {
    this.#starts++
    const { answer = (_: unknown, response: http.ServerResponse) => void response.end('hello') } = this.#options
    const server = http.createServer({ keepAliveTimeout: 60_000 }, answer)
    this.#pods.set(name, server)
    server.on('upgrade', (_, socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const listeningAt = systemClock.monotonic()
    server.once('request', () => this.delays.push(systemClock.monotonic() - listeningAt))
    await this.#setEndpoints(name, (server.address() as AddressInfo).port)
  }

  async #stopPod(name: string): Promise<void> {
    const server = this.#pods.get(name)
    this.#pods.delete(name)
    await this.#setEndpoints(name, undefined)
    server?.closeIdleConnections()
    server?.close()
  }

  async #setEndpoints(name: string, port: number | undefined): Promise<void> {
    const endpoints = port === undefined ? [] : [{ addresses: ['127.0.0.1'], conditions: { ready: true } }]
    const body = { endpoints, ports: [{ name: 'http', port: port ?? 1, protocol: 'TCP' }] }
    const place = { namespace, name: `${this.#serviceOf.get(name) ?? name}-1` }
    await this.client.patch(endpointSlices, place, { type: 'merge', body }).catch(ignoring('NotFound'))
  }
}

function emptySlice(service: string): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-1`, namespace, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: [],
    ports: [],
  }
}

function serviceFor(name: string, annotations: Record<string, string>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      annotations: { 'proxless/deployment': name, 'proxless/domains': `${name}.test`, ...annotations },
    },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  }
}
