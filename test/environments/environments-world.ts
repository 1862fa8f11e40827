import { environmentClass, type EnvironmentClassSpec } from '../../src/apis/environment-class.ts'
import { environment, type Environment } from '../../src/apis/environment.ts'
import { Client } from '../../src/client/client.ts'
import { Door } from '../../src/departures/door/door.ts'
import { namespaces } from '../../src/kube/core-types.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import type { Transport } from '../../src/kube/transport.ts'
import type { Notice } from '../../src/notices/notice.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { quietClock } from '../../src/runtime/time/quiet-clock.ts'
import { createEnvironments } from '../../src/systems/environments/environments.ts'
import { PullForge } from '../pull-forge.ts'
import { actAsOn, startWorld, type World } from '../world.ts'

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour
export const place = { namespace: 'shop-pr-42', name: 'shop-pr-42' }

export function classOf(spec: Partial<EnvironmentClassSpec> = {}, name = 'preview') {
  const namespaceSelector = { matchLabels: { env: 'preview' } }
  const { apiVersion, kind } = environmentClass
  const base = {
    delete: { after: '7d', maxAge: '60d' },
    channels: ['mail'],
    owner: { default: 'platform@example.org' },
  }
  return { apiVersion, kind, metadata: { name }, spec: { namespaceSelector, ...base, ...spec } }
}

export function namespaceOf(
  name = 'shop-pr-42',
  annotations: Record<string, string> = { 'sojourn.dev/owner': 'ada@example.org' },
) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { env: 'preview' }, annotations } }
}

export function deploymentOf(image = 'shop:1', namespace = 'shop-pr-42') {
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'shop', image }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  }
}

export const channel = {
  apiVersion: 'sojourn.dev/v1alpha1',
  kind: 'NotificationChannel',
  metadata: { name: 'mail' },
  spec: { type: 'smtp', smtp: { host: 'mail', from: 'a@example.org' } },
}
export const pullUrl = 'https://git.example.org/acme/shop/pulls/42'
export const forges = [
  { host: 'git.example.org', type: 'gitea' as const, secretRef: { name: 'forge' }, repositories: ['acme/*'] },
]

export class Mails {
  readonly sent: { at: number; notice: Notice }[] = []
  isDown = false
  /** What happens while a mail is under way. */
  onSend: () => Promise<void> = () => Promise.resolve()
  open(now: () => number) {
    return () => ({
      name: 'mail',
      audience: 'owner' as const,
      send: async (notice: Notice) => {
        if (this.isDown) throw new Error('mail server is down')
        this.sent.push({ at: now(), notice })
        await this.onSend()
        return { accepted: [...notice.to], rejected: [] }
      },
    })
  }
}

export interface Started {
  readonly world: World
  readonly mails: Mails
  readonly forge: PullForge
  readonly routes: ReturnType<typeof createEnvironments>['routes']
}

export interface Running {
  readonly routes: Started['routes']
  stop(): Promise<void>
}

/** Starts the system with caches of its own, as a new process would. */
export function launch(
  world: World,
  { mails, forge, transport = world.server.transport }: { mails: Mails; forge: PullForge; transport?: Transport },
): Running {
  const client = new Client(transport)
  const { clock } = world
  const informers = new Informers({ clock: quietClock(clock), log: silentLogger }, { freeze: true })
  const metrics = new Metrics()
  const ports = { clock, log: silentLogger, metrics }
  const events = new EventRecorder('sojourn', { client, clock, log: silentLogger })
  const door = new Door({
    client,
    informers,
    clock,
    events,
    log: silentLogger,
    metrics,
    provesRecords: () => Promise.resolve(true),
  })
  const { controllers, routes } = createEnvironments({
    client,
    informers,
    door,
    events,
    actAs: actAsOn(client, clock),
    ports,
    network: {
      http: world.http,
      connect: () => {
        throw new Error('no network')
      },
    },
    http: { class: forge.http, environment: forge.http },
    publicUrl: () => 'https://sojourn.test',
    dryRun: false,
    openChannel: mails.open(() => clock.now()),
  })
  const stopping = new AbortController()
  const running = controllers.map((controller) => controller.start(stopping.signal))
  return {
    routes,
    async stop() {
      stopping.abort()
      await Promise.allSettled(running)
      informers.close()
    },
  }
}

export async function start(
  spec?: Partial<EnvironmentClassSpec>,
  through: (world: World) => Transport = ({ server }) => server.transport,
): Promise<Started & AsyncDisposable> {
  const world = await startWorld()
  const [mails, forge] = [new Mails(), new PullForge()]
  await world.create(channel)
  await world.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'forge', namespace: 'sojourn-system' },
    stringData: { token: 'secret-token' },
  })
  await world.create(classOf(spec))
  const running = launch(world, { mails, forge, transport: through(world) })
  return {
    world,
    mails,
    forge,
    routes: running.routes,
    async [Symbol.asyncDispose]() {
      await running.stop()
      await world[Symbol.asyncDispose]()
    },
  }
}

export const read = (world: World, at = place) => world.client.get<Environment>(environment.type, at)
export const exists = async (world: World, name = 'shop-pr-42') => {
  const found = await world.client.get<StoredObject>(namespaces, { name }).catch(() => undefined)
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}
