import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleaner } from '../src/apis/cleaner.ts'
import { cleanupCandidate, type CleanupCandidate } from '../src/apis/cleanup-candidate.ts'
import { bond } from '../src/apis/bond.ts'
import { cleanupPolicy } from '../src/apis/cleanup-policy.ts'
import { notificationChannel } from '../src/apis/notification-channel.ts'
import { pipeline } from '../src/apis/pipeline.ts'
import { workSchedule } from '../src/apis/work-schedule.ts'
import { readConfig, type Role } from '../src/app/config/config.ts'
import { configMaps } from '../src/kube/core-types.ts'
import { embeddedAccess } from '../src/app/core/in-process-deleter.ts'
import { createInstance } from '../src/app/core/instance.ts'
import { eventsIn } from '../src/forecast/changes.ts'
import type { ForecastEvent } from '../src/forecast/event.ts'
import { forecast } from '../src/app/forecast/forecast.ts'
import { startSystems } from '../src/app/core/systems.ts'
import { describeRef, type KubeObject } from '../src/kube/object.ts'
import { formatTime } from '../src/kube/time.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { quietClock } from '../src/runtime/time/quiet-clock.ts'
import { SilentDataPlane } from '../src/systems/activator/proxy/planes/silent-data-plane.ts'
import { startMailSink, startWebSink, type MailSink, type WebSink } from './janitor/sinks.ts'
import { startWorld, type World } from './world.ts'

const day = 86_400_000
const minute = 60_000
// The sinks of this test are on this machine.
const config = readConfig({ flags: { 'allow-outgoing': '127.0.0.1' }, env: {} })
let world: World
let mail: MailSink
let web: WebSink

beforeEach(async () => {
  world = await startWorld()
  mail = await startMailSink()
  web = await startWebSink()
})
afterEach(async () => {
  await world[Symbol.asyncDispose]()
  await mail[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
})

/** The forecast's events, then the real ones, as comparable lines. */
async function both(roles: readonly Role[], forMs: number): Promise<{ said: string[]; happened: string[] }> {
  const only = { ...config, only: roles }
  const revision = world.server.store.revision
  const said = await forecast(world.client, { config: only, now: world.clock.now(), forMs })
  expect(world.server.store.revision, 'the source is only read').toBe(revision)
  expect(said.unread).toEqual([])
  expect([...mail.mails, ...web.posts], 'a forecast sends nothing').toEqual([])
  const happened = await live(only, forMs)
  return { said: lines(said.events), happened: lines(happened) }
}

/** Runs the same systems on the test cluster itself, with real mails and HTTP posts, but without requests to Services. */
async function live(only: typeof config, forMs: number): Promise<readonly ForecastEvent[]> {
  const { clock, client, server } = world
  const events: ForecastEvent[] = []
  const stopWatching = server.store.subscribe((changes) => {
    for (const change of changes) events.push(...eventsIn(change, clock.now()))
  })
  const instance = createInstance({
    config: only,
    client,
    clock,
    log: silentLogger,
    cacheClock: quietClock(clock),
    embedded: embeddedAccess(server),
    external: { activator: { plane: new SilentDataPlane(), scanMs: 0 } },
  })
  const starting = startSystems(instance, only.only)
  await clock.settle()
  await starting
  await clock.run(clock.now() + forMs)
  const notices = await noticesGiven()
  stopWatching()
  const stopped = instance.lifecycle.stop()
  await clock.settle()
  await stopped
  return [...events, ...notices]
}

/** What the marks say of who was told, by mail that has arrived. */
async function noticesGiven(): Promise<readonly ForecastEvent[]> {
  const { items } = await world.client.list<CleanupCandidate>(cleanupCandidate.type)
  return items.flatMap(({ spec, status }) =>
    (status?.notices ?? []).map(({ at, kind = 'notice', recipient = '' }): ForecastEvent => {
      expect(
        mail.mails.some(({ to, text }) => to.includes(recipient) && text.includes(spec.resource.name)),
        `${recipient} has got a mail about ${spec.resource.name}`,
      ).toBe(true)
      const { apiVersion, kind: resource, namespace = '', name } = spec.resource
      return {
        at: Date.parse(at),
        what: 'told',
        system: 'janitor',
        object: { apiVersion, kind: resource, namespace, name },
        because: kind,
        why: '',
        to: [recipient],
      }
    }),
  )
}

function lines(events: readonly ForecastEvent[]): string[] {
  return events
    .map(({ at, what, object, because, to, environment = '', revision = '', takes = 0 }) => {
      const whom = what === 'told' ? (to ?? []).join(',') : ''
      return [formatTime(at), what, describeRef(object), because, environment, revision, takes, whom].join(' ')
    })
    .toSorted()
}

function configMap(name: string, given: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ...given }, data: { a: 'b' } }
}

/** A database that expires with what it owns, and a shop that needs it. */
async function expiring(): Promise<void> {
  const database = await world.create(configMap('database'))
  const { name, uid } = database.metadata
  for (const child of ['schema', 'backup'])
    await world.create(configMap(child, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }] }))
  await world.create(configMap('shop'))
  await world.create({
    apiVersion: bond.apiVersion,
    kind: bond.kind,
    metadata: { name: 'needs', namespace: 'team' },
    spec: {
      dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'shop' },
      dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'database' },
      onDelete: 'Cascade',
    },
  })
  await world.create({
    apiVersion: cleaner.apiVersion,
    kind: cleaner.kind,
    metadata: { name: 'preview', namespace: 'team' },
    spec: {
      ttl: '50h',
      targets: [{ name: 'it', delete: true, reference: { version: 'v1', kind: 'ConfigMap', name: 'database' } }],
      cloudEventSink: web.url,
    },
  })
}

/** Unused ConfigMaps, and a policy that looks for them in office hours. */
async function unusedInOfficeHours(): Promise<void> {
  await world.create({
    apiVersion: notificationChannel.apiVersion,
    kind: notificationChannel.kind,
    metadata: { name: 'mail' },
    spec: { type: 'smtp', smtp: { host: '127.0.0.1', port: mail.port, tls: 'None', from: 'janitor@example.org' } },
  })
  await world.create({
    apiVersion: workSchedule.apiVersion,
    kind: workSchedule.kind,
    metadata: { name: 'office' },
    spec: {
      timeZone: 'Europe/Berlin',
      windows: [{ days: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'], start: '09:00', end: '17:00' }],
    },
  })
  for (const name of ['one', 'two', 'three']) await world.create(configMap(name))
  await world.create(configMap('kept', { annotations: { 'sojourn.dev/keep': 'true' } }))
  await world.create({
    apiVersion: cleanupPolicy.apiVersion,
    kind: cleanupPolicy.kind,
    metadata: { name: 'unused' },
    spec: {
      interval: '30m',
      targets: [
        {
          kubernetes: {
            resources: [{ kind: 'ConfigMap' }],
            namespaces: { include: ['team'] },
            customReferences: 'Ignore',
          },
        },
      ],
      rules: [{ rules: [{ name: 'Unused' }] }],
      exclusions: [{ type: 'Literal', attributes: [{ key: 'name', value: ['kube-root-ca.crt'] }] }],
      minAge: '26h',
      retention: { duration: '4d' },
      owner: { default: 'team@example.org' },
      notification: { channels: ['mail'], remindBefore: ['24h'] },
      scheduleRef: 'office',
      limits: { maxDeletes: 1, maxDeletePercent: 100 },
    },
  })
}

/** A revision on its way through three environments. */
async function promoted(): Promise<void> {
  for (const [name, revision] of [
    ['dev', '1.1.0'],
    ['staging', '1.0.0'],
    ['production', '1.0.0'],
  ] as const)
    await world.create(configMap(name, { annotations: { revision } }))
  const strategy = { notification: {} }
  const environment = (name: string, given: object = {}) => ({
    name,
    appRef: { apiVersion: 'v1', kind: 'ConfigMap', name },
    targets: [{ namespace: 'team' }],
    ...given,
  })
  await world.create({
    apiVersion: pipeline.apiVersion,
    kind: pipeline.kind,
    metadata: { name: 'shop', namespace: 'team' },
    spec: {
      appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'dev' },
      adapter: { healthy: 'true', revision: 'self.metadata.annotations["revision"]' },
      environments: [
        environment('dev'),
        environment('staging', { soak: '3h', promotion: { strategy } }),
        environment('production', { soak: '24h', promotion: { strategy, manual: true } }),
      ],
    },
  })
  // The notified deployment tool rolls out a minute later, as forecasts assume by default.
  world.server.store.subscribe((changes) => {
    for (const { type, resource, document } of changes) {
      const { environment: name = '', version } = document.value.metadata.annotations ?? {}
      if (type !== 'create' || resource !== 'events' || !version) continue
      const body = { metadata: { annotations: { revision: version } } }
      const patch = () => world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body })
      world.clock.after(minute, () => void world.clock.track(patch))
    }
  })
}

/** Deployments behind on-demand Services. */
async function onDemand(): Promise<void> {
  for (const [name, annotations] of [
    ['idle', { 'proxless/ttl-seconds': '900' }],
    ['office', { 'proxless/ttl-seconds': '600', 'sojourn.dev/awake-hours': 'Mon-Fri 09:00-17:00' }],
    ['always', { 'sojourn.dev/min-replicas': '1' }],
  ] as const) {
    const labels = { app: name }
    await world.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'team' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name, image: name }] } },
      },
    })
    const own = { 'proxless/deployment': name, 'proxless/domains': `${name}.example.org`, ...annotations }
    await world.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'team', annotations: own },
      spec: { selector: labels, ports: [{ port: 80 }] },
    })
  }
}

describe('a forecast equals what then happens', () => {
  it('to expiring objects and their dependents', async () => {
    await expiring()
    const { said, happened } = await both(['cleaner', 'collector'], 5 * day)
    const told = said.filter((line) => line.includes(' told '))
    expect(told).toEqual([expect.stringContaining(`Cleaner/team/preview`)])
    expect(web.posts.map(({ headers }) => headers['ce-type'])).toEqual(['conditionalTTL.deleted'])
    expect(happened.length).toBeGreaterThan(2)
    expect(said.filter((line) => !told.includes(line))).toEqual(happened)
  }, 60_000)

  it('to unused objects: marked, announced, reminded, unmarked or deleted in working hours', async () => {
    await unusedInOfficeHours()
    const { said, happened } = await both(['janitor'], 10 * day)
    const count = (what: string) => said.filter((line) => line.includes(` ${what} `)).length
    expect({ marked: count('marked'), told: count('told'), leaves: count('leaves') }).toEqual({
      marked: 3,
      told: 6,
      leaves: 3,
    })
    expect(said).toEqual(happened)
  }, 120_000)

  it('to a revision: soaking, promoted, waiting for approval', async () => {
    await promoted()
    const { said, happened } = await both(['promoter'], 4 * day)
    expect(said.join('\n')).toContain('arrives Pipeline/team/shop Arrived staging 1.1.0')
    expect(said.join('\n')).toContain('waits Pipeline/team/shop AwaitingApproval production 1.1.0')
    expect(said).toEqual(happened)
  }, 60_000)

  it('to workloads that fall asleep and wake by schedule', async () => {
    await onDemand()
    const { said, happened } = await both(['activator'], 3 * day)
    expect(said.filter((line) => line.includes('Deployment/team/idle'))).toHaveLength(1)
    expect(said.filter((line) => line.includes('Deployment/team/office')).length).toBeGreaterThan(2)
    expect(said).toEqual(happened)
  }, 60_000)

  it('to all of them at once, where each system sees what the others do', async () => {
    await expiring()
    await unusedInOfficeHours()
    await promoted()
    await onDemand()
    // Used only by a Cleaner, which expires.
    await world.create(configMap('named'))
    await world.create({
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name: 'names-it', namespace: 'team' },
      spec: {
        ttl: '40h',
        targets: [{ name: 'it', delete: false, reference: { version: 'v1', kind: 'ConfigMap', name: 'named' } }],
      },
    })
    const roles = ['cleaner', 'collector', 'janitor', 'promoter', 'activator'] as const
    const { said, happened } = await both(roles, 12 * day)
    const systems = [
      'leaves ConfigMap/team/database',
      'leaves ConfigMap/team/one',
      'arrives Pipeline',
      'sleeps Deployment',
    ]
    for (const what of systems) expect(said.join('\n')).toContain(what)
    expect(said.filter((line) => line.includes('marked ConfigMap/team/named'))).toHaveLength(1)
    expect(said.filter((line) => !line.includes(' told Cleaner'))).toEqual(happened)
  }, 180_000)
})
