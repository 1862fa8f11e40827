import type { CandidatePhase, CleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupPolicy, type CleanupPolicy, type CleanupPolicySpec } from '../../src/apis/cleanup-policy.ts'
import { notificationChannel, type ChannelSpec } from '../../src/apis/notification-channel.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import type { Route, RouteResponse } from '../../src/runtime/http/route.ts'
import { Client } from '../../src/client/client.ts'
import { Door } from '../../src/departures/door/door.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { quietClock } from '../../src/runtime/time/quiet-clock.ts'
import { Clusters } from '../../src/runtime/clusters/clusters.ts'
import { createJanitor, type Janitor, type JanitorOptions } from '../../src/systems/janitor/janitor.ts'
import { startWorld, type World, type WorldOptions } from '../world.ts'
import { localNetwork } from '../local-network.ts'

/** A world with a janitor in it. Policies look at the ConfigMaps of namespace team, every half hour. */
export interface JanitorWorld extends World {
  readonly janitor: Janitor
  readonly configMap: (name: string, given?: Partial<KubeObject['metadata']>) => Promise<StoredObject>
  /** Everything older than an hour, unless told otherwise: told by Events, kept for six hours. */
  readonly policy: (spec: Partial<CleanupPolicySpec>, name?: string) => Promise<CleanupPolicy>
  readonly readPolicy: (name?: string) => Promise<CleanupPolicy>
  readonly channel: (name: string, spec: ChannelSpec) => Promise<void>
  readonly candidates: () => Promise<readonly CleanupCandidate[]>
  /** The phase of each mark by the name of its resource. */
  readonly phases: () => Promise<Record<string, CandidatePhase | undefined>>
  readonly exists: (name: string) => Promise<boolean>
  readonly call: (method: string, path: string, given?: CallOptions) => Promise<RouteResponse>
}

export interface CallOptions {
  readonly body?: string
  readonly user?: { readonly name: string; readonly groups: readonly string[] }
}

export interface JanitorWorldOptions extends WorldOptions {
  readonly janitor?: Partial<JanitorOptions>
  /** How other clusters are reached. Defaults to none. */
  readonly connect?: (kubeconfig: string, cluster: string) => Client
  /** Stands between the janitor with its door and the server. */
  readonly through?: (transport: Transport) => Transport
  /** Caches end their watches and list again now and then, as over a network. Takes its time. Defaults to false. */
  readonly relists?: boolean
}

export async function startJanitorWorld(options: JanitorWorldOptions = {}): Promise<JanitorWorld> {
  const world = await startWorld(options)
  const { clock, ports } = world
  const client = options.through ? new Client(options.through(world.server.transport)) : world.client
  const informers = options.through
    ? new Informers({ clock: options.relists ? clock : quietClock(clock), log: ports.log })
    : world.informers
  const door = options.through
    ? new Door(
        {
          client,
          informers,
          clock,
          events: world.events,
          log: ports.log,
          metrics: ports.metrics,
          provesRecords: () => Promise.resolve(true),
        },
        options.door,
      )
    : world.door
  await door.ready()
  const clusters = new Clusters({
    home: client,
    informers,
    clock,
    log: ports.log,
    connect:
      options.connect ??
      (() => {
        throw new Error('this world has one cluster')
      }),
  })
  const janitor = createJanitor({
    client,
    informers,
    door,
    events: world.events,
    ports,
    cluster: (name) => clusters.client(name),
    network: localNetwork(),
    identity: 'one',
    publicUrl: () => 'https://sojourn.example',
    ...options.janitor,
  })
  for (const controller of janitor.controllers) world.run(controller)
  await world.create({
    apiVersion: notificationChannel.apiVersion,
    kind: notificationChannel.kind,
    metadata: { name: 'events' },
    spec: { type: 'event' },
  })
  await clock.settle()

  return {
    ...world,
    janitor,
    configMap: (name, given = {}) =>
      world.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'team', ...given },
        data: { key: 'value' },
      }),
    policy: (spec, name = 'tidy') =>
      world.create({
        apiVersion: cleanupPolicy.apiVersion,
        kind: cleanupPolicy.kind,
        metadata: { name },
        spec: {
          interval: '30m',
          targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
          rules: [{ rules: [{ name: 'AttributeRule', parameters: { namespace: 'team' } }] }],
          exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['kube-root-ca.crt'] }] }],
          minAge: '1h',
          retention: { duration: '6h' },
          limits: { maxDeletes: 100, maxDeletePercent: 100 },
          notification: { channels: ['events'] },
          ...spec,
        },
      }),
    readPolicy: (name = 'tidy') => world.client.get<CleanupPolicy>(cleanupPolicy.type, { name }),
    async channel(name, spec) {
      await world.create({
        apiVersion: notificationChannel.apiVersion,
        kind: notificationChannel.kind,
        metadata: { name },
        spec,
      })
    },
    candidates,
    async phases() {
      const marks = await candidates()
      return Object.fromEntries(marks.map(({ spec, status }) => [spec.resource.name, status?.phase]))
    },
    async exists(name) {
      return (await world.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name })) !== undefined
    },
    call: (method, path, given) => call(janitor.routes, method, path, given),
    async [Symbol.asyncDispose]() {
      janitor.close()
      if (door !== world.door) door.close()
      if (informers !== world.informers) informers.close()
      await world[Symbol.asyncDispose]()
    },
  }

  async function candidates(): Promise<readonly CleanupCandidate[]> {
    const { items } = await world.client.list<CleanupCandidate>(cleanupCandidate.type)
    return items.toSorted((left, right) => (left.spec.resource.name < right.spec.resource.name ? -1 : 1))
  }
}

/** Calls a route as the composition root would. */
async function call(
  routes: readonly Route[],
  method: string,
  path: string,
  { body = '', user }: CallOptions = {},
): Promise<RouteResponse> {
  const url = new URL(path, 'http://test')
  const given = url.pathname.split('/')
  for (const route of routes) {
    if (typeof route.path !== 'string') continue
    const wanted = route.path.split('/')
    if (route.method !== method || wanted.length !== given.length) continue
    if (!wanted.every((part, index) => part.startsWith(':') || part === given[index])) continue
    const params = Object.fromEntries(
      wanted.flatMap((part, index) =>
        part.startsWith(':') ? [[part.slice(1), decodeURIComponent(given[index] ?? '')]] : [],
      ),
    )
    return route.handle({
      method,
      url: path,
      remoteAddress: '127.0.0.1',
      params,
      query: Object.fromEntries(url.searchParams),
      headers: {},
      body,
      ...(user ? { user } : {}),
    })
  }
  throw new Error(`no route ${method} ${path}`)
}
