import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../src/app/config/config.ts'
import { pauseDeletions } from '../src/app/operations/deletion-switches.ts'
import type { ForecastEvent } from '../src/forecast/event.ts'
import { forecast } from '../src/app/forecast/forecast.ts'
import { cleaner } from '../src/apis/cleaner.ts'
import { cleanupPolicy } from '../src/apis/cleanup-policy.ts'
import { departure, type Departure } from '../src/apis/departure.ts'
import type { KubeObject, StoredObject } from '../src/kube/object.ts'
import { cleanerController } from '../src/systems/cleaner/controller.ts'
import { cleanerOf, configMap, releaseHolder, target } from './cleaners.ts'
import { classOf, deploymentOf, namespaceOf } from './environments/environments-world.ts'
import { startWorld, type World } from './world.ts'

let world: World
const day = 86_400_000
const config = readConfig({ flags: {}, env: {} })

beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

async function populate(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const name = `c${index}`
    await world.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace: 'team',
        annotations: { until: new Date(world.clock.now() + (index % 25) * day).toISOString() },
      },
    })
    const target = {
      name: 'a',
      reference: { version: 'v1', kind: 'configmap', name },
      delete: true,
      includeWhenEvaluating: true,
    }
    const manifest: KubeObject = {
      apiVersion: cleaner.apiVersion,
      kind: 'Cleaner',
      metadata: { name, namespace: 'team' },
      spec: {
        ttl: `${1 + index}h`,
        targets: [target],
        conditions: ['time > timestamp(a.metadata.annotations["until"])'],
      },
    }
    await world.create(manifest)
  }
}

describe('forecast', () => {
  it('ends soon for a policy that looks every ten seconds, and says how often it was assumed to look', async () => {
    await world.create({
      apiVersion: cleanupPolicy.apiVersion,
      kind: cleanupPolicy.kind,
      metadata: { name: 'eager' },
      spec: {
        interval: '10s',
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
        rules: [{ rules: [{ name: 'AgeRule', parameters: { olderThan: '9999d' } }] }],
      },
    })
    const { assumed, until } = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(until).toBe(world.clock.now() + 30 * day)
    expect(assumed).toContain('CleanupPolicy eager looks every 10m instead of every 10s')
  })

  it('ends soon for Cleaners that retry every second, and says how often they were assumed to', async () => {
    await world.create(configMap('a', {}, { go: 'no' }))
    for (const [name, conditions] of Object.entries({ waits: ['a.data.go == "yes"'], errs: ['a.data.missing == "x"'] }))
      await world.create(
        cleanerOf({ ttl: '0s', retry: { period: '1s' }, targets: [target('a')], conditions }, { name }),
      )
    const now = world.clock.now()
    const { assumed, until } = await forecast(world.client, { config, now, forMs: 2 * day })
    expect(until).toBe(now + 2 * day)
    expect(assumed).toContain('2 Cleaners, such as Cleaner/team/errs, retry every 4m, not more often')
  })

  it('gives each of many Cleaners that are due together its own reason', async () => {
    for (let index = 0; index < 25; index++) {
      const name = `p${index}`
      await world.create(configMap(name))
      const reference = { version: 'v1', kind: 'configmap', name }
      await world.create(cleanerOf({ ttl: '1h', targets: [target('it', { reference })] }, { name }))
    }
    const { events } = await forecast(world.client, { config, now: world.clock.now(), forMs: day })
    const said = events.map(({ object, by, why, takes }) => `${object.kind} ${object.name}: ${by}: ${why}: ${takes}`)
    expect(said.toSorted()).toEqual(
      Array.from({ length: 25 }, (_, index) => [
        `Cleaner p${index}: Cleaner/p${index}: its time is up and its conditions hold: undefined`,
        `ConfigMap p${index}: Cleaner/p${index}: its Cleaner’s time is up and its conditions hold: undefined`,
      ])
        .flat()
        .toSorted(),
    )
  })

  it('lists a Cleaner that deletes its own namespace once', async () => {
    const home = { name: 'home', delete: true, reference: { version: 'v1', kind: 'namespace', name: 'team' } }
    await world.create(cleanerOf({ ttl: '1h', targets: [home] }))
    const { events } = await forecast(world.client, { config, now: world.clock.now(), forMs: day })
    expect(events.map(({ object }) => `${object.kind}/${object.name}`).toSorted()).toEqual([
      'Cleaner/c',
      'Namespace/team',
    ])
  })

  it('lists what is deleted with a target, each by its name', async () => {
    const owner = await world.create<StoredObject>(configMap('owner'))
    const { apiVersion, kind } = owner
    const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: owner.metadata.uid }]
    for (const name of ['one', 'two']) await world.create(configMap(name, { ownerReferences }))
    const target = { name: 'o', delete: true, reference: { version: 'v1', kind: 'configmap', name: 'owner' } }
    await world.create(cleanerOf({ ttl: '1h', targets: [target] }))
    const { events } = await forecast(world.client, { config, now: world.clock.now(), forMs: day })
    const leaving = events.filter(({ what, object }) => what === 'leaves' && object.kind === 'ConfigMap')
    expect(leaving.map(({ object }) => object.name).toSorted()).toEqual(['one', 'owner', 'two'])
  })

  it('predicts the departures that then happen, and changes nothing', async () => {
    await populate(12)
    const before = world.server.store.revision
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(world.server.store.revision).toBe(before)

    world.run(cleanerController({ ...world, type: cleaner.type }))
    await world.pass(30 * day)
    const records = await world.client.list<Departure>(departure.type)
    const happened = records.items.map(
      ({ spec }) => `${spec.recordedAt} ${spec.object.kind}/${spec.object.name} ${spec.because}`,
    )
    const foretold = said.events.map(
      ({ at, object, because }: ForecastEvent) =>
        `${new Date(Math.floor(at / 1000) * 1000).toISOString().replace('.000', '')} ${object.kind}/${object.name} ${because}`,
    )
    expect(happened).toHaveLength(24)
    expect(foretold.toSorted()).toEqual(happened.toSorted())
  })

  it('predicts nothing for objects without a Cleaner or policy', async () => {
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'team' } })
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(said.events).toEqual([])
    expect(said.until).toBe(world.clock.now() + 30 * day)
  })

  it('says why nothing is deleted while deletions are paused', async () => {
    await populate(3)
    await pauseDeletions(world.client, true)
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(said.events).toEqual([])
    expect(said.halts).toEqual([expect.stringContaining('deletions are paused')])
    await pauseDeletions(world.client, false)
    const resumed = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(resumed.halts).toEqual([])
    expect(resumed.events).toHaveLength(6)
  })

  it('says how far it got when it runs out of time', async () => {
    await world.create({
      apiVersion: cleanupPolicy.apiVersion,
      kind: cleanupPolicy.kind,
      metadata: { name: 'restless' },
      spec: {
        interval: '1s',
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }] } }],
        rules: [{ rules: [{ name: 'Unused' }] }],
      },
    })
    const now = world.clock.now()
    const { until, wanted } = await forecast(world.client, { config, now, forMs: 30 * day, withinMs: 0 })
    expect(wanted).toBe(now + 30 * day)
    expect(until).toBeLessThan(wanted)
    const { wanted: all, until: end } = await forecast(world.client, { config, now, forMs: 5000 })
    expect(end).toBe(all)
  })
})

describe('forecast of Services and releases', () => {
  it('reaches its end while a Service asks to be taken over', async () => {
    await populate(2)
    await world.create({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'team' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    await world.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        namespace: 'team',
        annotations: { 'sojourn.dev/target': 'Deployment/web', 'sojourn.dev/takeover': 'true' },
      },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    })
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 30 * day })
    expect(said.events.map(({ what, object }) => `${what} ${object.kind}`)).toEqual(
      expect.arrayContaining(['leaves ConfigMap', 'sleeps Deployment']),
    )
    expect(said.until).toBe(world.clock.now() + 30 * day)
  })

  it('says why an environment sleeps and wakes, and that waking by its schedule is no use', async () => {
    await world.create(classOf({ sleep: { awake: 'Mon-Fri 08:00-18:00 UTC', idleAfter: '30m' }, channels: [] }))
    await world.create(namespaceOf())
    await world.create(deploymentOf())
    await world.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: 'shop-pr-42', annotations: { 'proxless/deployment': 'shop' } },
      spec: { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 8080 }] },
    })
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 10 * day })
    const about = (kind: string) => said.events.filter(({ object }) => object.kind === kind)
    expect(new Set(about('Deployment').map(({ what, why }) => `${what}: ${why}`))).toEqual(
      new Set([
        'sleeps: Scaled from 2 to 0: its awake hours have ended.',
        'wakes: Scaled to 2: its awake hours have begun.',
        expect.stringMatching(/^leaves: /),
      ]),
    )
    expect(about('Namespace')).toMatchObject([{ what: 'leaves', why: 'it was not used' }])
    const leavesAt = about('Namespace')[0]!.at - world.clock.now()
    expect(Math.abs(leavesAt - 7 * day)).toBeLessThan(0.1 * day)
  })

  it('uninstalls a Helm release after its pre-delete Job, which succeeds', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
    const annotations = { 'helm.sh/hook': 'pre-delete', 'helm.sh/hook-delete-policy': 'hook-failed' }
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'bye', annotations }, spec: { template } }
    await world.create(configMap('x'))
    const part = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }
    await world.create(releaseHolder({ objects: [part], hooks: [{ events: ['pre-delete'], object: job }] }))
    await world.create(cleanerOf({ ttl: '1h', helm: { release: 'app', delete: true } }))
    const said = await forecast(world.client, { config, now: world.clock.now(), forMs: 3 * day })
    const leaving = said.events.filter(({ what }) => what === 'leaves').map(({ object }) => object.kind)
    expect(leaving.toSorted()).toEqual(['Cleaner', 'ConfigMap', 'Secret'])
    expect(said.assumed).toContain('Jobs succeed within a minute')
  })
})
