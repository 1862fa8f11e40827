import { configMaps } from '../../kube/core-types.ts'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startWorld, type World } from '../../../test/world.ts'
import { Reader } from '../../queries/reader.ts'
import { readManagedItems } from '../../queries/managed-items.ts'
import { bond } from '../../apis/bond.ts'
import { cleaner, type Cleaner } from '../../apis/cleaner.ts'
import { conditionalTtl, type ConditionalTtl } from '../../apis/conditional-ttl.ts'
import { departure } from '../../apis/departure.ts'
import { workSchedule } from '../../apis/work-schedule.ts'
import { writeDoorState } from '../../departures/door/door-state.ts'
import type { KubeObject, ObjectMeta, StoredObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/time.ts'
import { cleanerController } from './controller.ts'

let world: World
const minute = 60_000
const hour = 60 * minute

beforeEach(async () => {
  world = await startWorld()
  for (const { type } of [cleaner, conditionalTtl]) {
    world.run(cleanerController({ ...world, type }))
  }
})
afterEach(() => world[Symbol.asyncDispose]())

function configMap(name: string, metadata: ObjectMeta = {}, data: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ...metadata }, data }
}

function target(name: string, given: object = {}) {
  return {
    name,
    reference: { version: 'v1', kind: 'configmap', name },
    delete: true,
    includeWhenEvaluating: true,
    ...given,
  }
}

function cleanerOf(spec: object, name = 'c'): KubeObject {
  return { apiVersion: 'cleaner.vtex.dev/v1alpha', kind: 'Cleaner', metadata: { name, namespace: 'team' }, spec }
}

const self = { apiVersion: 'cleaner.vtex.dev/v1alpha', kind: 'Cleaner', namespace: 'team', name: 'c' }

async function left(): Promise<readonly string[]> {
  const names = await world.names(configMaps)
  return names.filter((name) => name !== 'kube-root-ca.crt' && name !== 'sojourn-door')
}

async function reasonOf(ref = self): Promise<string | undefined> {
  const found = await world.get<Cleaner>(ref)
  return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
}

describe('a Cleaner', () => {
  it('waits for its TTL, then deletes its targets and itself', async () => {
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '2h', targets: [target('a')] }))
    await world.pass(2 * hour - minute)
    expect(await reasonOf()).toBe('NotExpired')
    expect(await left()).toEqual(['a'])
    await world.pass(2 * minute)
    expect(await left()).toEqual([])
    expect(await world.get(self)).toBeUndefined()
  })

  it('follows a TTL that is shortened or extended while it waits', async () => {
    const type = {
      group: 'cleaner.vtex.dev',
      version: 'v1alpha',
      kind: 'Cleaner',
      plural: 'cleaners',
      namespaced: true,
    }
    const change = (ttl: string) =>
      world.client.patch(type, { namespace: 'team', name: 'c' }, { type: 'merge', body: { spec: { ttl } } })
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '2h', targets: [target('a')] }))
    await world.pass(hour)
    await change('10h')
    await world.pass(8 * hour)
    expect(await left()).toEqual(['a'])
    await change('9h')
    await world.pass(minute)
    expect(await left()).toEqual([])
  })

  it('evaluates every period when the next change cannot be computed', async () => {
    await world.create(configMap('a'))
    const spec = {
      ttl: '1m',
      retry: { period: '5h' },
      targets: [target('a')],
      conditions: ['string(time) > "2026-01-05T20"'],
    }
    await world.create(cleanerOf(spec))
    await world.pass(minute + 1000)
    for (const at of ['13:01', '18:01', '23:01']) {
      expect((await world.get<Cleaner>(self))?.status?.nextScheduledEvaluation).toContain(`2026-01-05T${at}`)
      expect(await left()).toEqual(['a'])
      await world.pass(5 * hour)
    }
    expect(await left()).toEqual([])
  })

  it('writes a Departure before each deletion', async () => {
    await world.create(configMap('a', {}, { greeting: 'hello' }))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    const records = await world.client.list<{ spec: { object: { kind: string }; because: string; manifest: object } }>(
      departure.type,
      { namespace: 'team' },
    )
    expect(records.items.map(({ spec }) => [spec.object.kind, spec.because])).toEqual([
      ['Cleaner', 'conditions-met'],
      ['ConfigMap', 'target'],
    ])
    expect(records.items[1]?.spec.manifest).toMatchObject({ data: { greeting: 'hello' } })
  })

  it('keeps everything while a condition is false, and acts on the change of a target alone', async () => {
    await world.create(configMap('a'))
    await world.create(
      cleanerOf({
        ttl: '1m',
        retry: { period: '100h' },
        targets: [target('a')],
        conditions: ['has(a.data) && a.data.done == "yes"'],
      }),
    )
    await world.pass(10 * minute)
    expect(await reasonOf()).toBe('WaitingForConditions')
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'a' },
      { type: 'merge', body: { data: { done: 'yes' } } },
    )
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('evaluates objects that begin to match its selector', async () => {
    const revisions = {
      name: 'all',
      reference: { version: 'v1', kind: 'configmap', matchLabels: { app: 'x' } },
      delete: true,
      includeWhenEvaluating: true,
    }
    await world.create(configMap('a'))
    await world.create(
      cleanerOf({ ttl: '1m', retry: { period: '100h' }, targets: [revisions], conditions: ['size(all.items) == 1'] }),
    )
    await world.pass(10 * minute)
    expect(await reasonOf()).toBe('WaitingForConditions')
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'a' },
      { type: 'merge', body: { metadata: { labels: { app: 'x' } } } },
    )
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('sleeps until the instant its condition can become true', async () => {
    await world.create(configMap('a', { annotations: { until: '2026-01-07T09:30:00Z' } }))
    await world.create(
      cleanerOf({
        ttl: '1m',
        retry: { period: '1h' },
        targets: [target('a')],
        conditions: ['time >= timestamp(a.metadata.annotations["until"])'],
      }),
    )
    await world.pass(10 * minute)
    const found = await world.get<Cleaner>(self)
    expect(found?.status?.nextScheduledEvaluation).toBe('2026-01-07T09:30:00Z')
    expect(found?.status?.resolvedTargets).toEqual(['a.configmaps/v1'])
    await world.clock.run((parseTime('2026-01-07T09:30:00Z') ?? 0) - 1000)
    expect(await left()).toEqual(['a'])
    await world.pass(2000)
    expect(await left()).toEqual([])
  })

  it('keeps an object that replaced one it evaluated', async () => {
    await world.create(configMap('a', { finalizers: ['example.com/slow'] }))
    await world.create(configMap('b'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a'), target('b')] }))
    await writeDoorState(world.client, { paused: 'true' })
    await world.pass(5 * minute)
    expect(await left()).toEqual(['a', 'b'])
    expect(await reasonOf()).toBe('Held')
    await writeDoorState(world.client, { paused: 'false' })
    // At once, not at the next look.
    await world.pass(2000)
    // The one with a foreign finalizer is on its way, not gone; nothing of ours forces it.
    expect(await left()).toEqual(['a'])
  })

  it('polls slowly while a switch holds it, because the switch notifies it', async () => {
    await world.create(cleanerOf({ ttl: '1m', targets: [] }))
    await writeDoorState(world.client, { paused: 'true' })
    await world.pass(10 * minute)
    const looks = () =>
      Number(/^sojourn_reconcile_total\{controller="cleaner-cleaner",.*\} (\d+)$/m.exec(world.metrics.render())?.[1])
    const before = looks()
    await world.pass(24 * 60 * minute)
    // Each look announces the next in the status, and that write is seen, too.
    expect(looks() - before).toBe(48)
    await writeDoorState(world.client, { paused: 'false' })
    await world.pass(2000)
    expect(await world.names(cleaner.type)).toEqual([])
  })

  it('reports what holds a target, and is one line of status', async () => {
    const { metadata } = await world.create(configMap('a'))
    const { apiVersion, kind } = bond
    const needy = { apiVersion: 'v1', kind: 'ConfigMap', name: 'needy' }
    const spec = { onDelete: 'Hold', dependent: needy, dependency: { ...needy, name: 'a' } }
    const created = await world.create({ apiVersion, kind, metadata: { name: 'needs', namespace: 'team' }, spec })
    const status = { phase: 'Active', dependents: 1, dependencyUid: metadata.uid }
    await world.client.update(bond.type, { ...created, status }, { subresource: 'status' })
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    expect(await left()).toEqual(['a'])
    const stays = await readManagedItems(new Reader(world.client), { namespace: 'team', now: world.clock.now() })
    const [stay, ...more] = stays.filter(({ object }) => object.kind === 'Cleaner')
    expect(more).toEqual([])
    expect(stay).toMatchObject({ state: 'Leaving', next: { what: 'gone' } })
    expect(stay?.why).toMatch(/^its TTL has expired, but ConfigMap.team.a is not deleted yet: .*Bond team.needs/)
    const held = await world.client.get<StoredObject>(bond.type, { namespace: 'team', name: 'needs' })
    await world.client.update(bond.type, { ...held, status: { phase: 'Released' } }, { subresource: 'status' })
    // At once, not at the next look.
    await world.pass(2000)
    expect(await left()).toEqual([])
  })

  it.each([
    ['the keep label', { labels: { 'sojourn.dev/keep': 'true' } }],
    ['expiration_time: never', { annotations: { expiration_time: 'never' } }],
  ])('keeps a target with %s and deletes the others', async (_, metadata) => {
    await world.create(configMap('a', metadata))
    await world.create(configMap('b'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a'), target('b')] }))
    await world.pass(5 * minute)
    expect(await left()).toEqual(['a'])
    expect(await world.get(self)).toBeUndefined()
  })

  it('keeps to its schedule, reports until when, and deletes as soon as a window opens', async () => {
    const office = (start: string, end: string) => ({ windows: [{ days: ['Tuesday'], start, end }] })
    const made = await world.create<StoredObject>({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'WorkSchedule',
      metadata: { name: 'office' },
      spec: office('02:00', '02:30'),
    })
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', schedule: 'office', targets: [target('a')] }))
    await world.pass(5 * minute)
    const { status } = (await world.get<Cleaner>(self)) ?? {}
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      'its TTL has expired, but it is outside the hours in which deletions are allowed, until 2026-01-06T02:00:00Z (WorkSchedule office)',
    )
    expect(status?.nextScheduledEvaluation).toBe('2026-01-06T02:00:00Z')
    const today = { windows: [{ days: ['Monday'] }] }
    await world.client.update(workSchedule.type, { ...made, spec: today })
    await world.pass(2000)
    expect(await left()).toEqual([])
  })

  it('deletes nothing in a dry run, and reports what it would delete', async () => {
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', dryRun: true, targets: [target('a')] }))
    await world.pass(5 * hour)
    expect(await left()).toEqual(['a'])
    expect(await reasonOf()).toBe('Held')
    expect((await world.client.list(departure.type)).items).toEqual([])
  })

  it.each([
    ['an absent key', 'a.metadata.annotations["nope"] == "x"', 'ConditionEvaluationError'],
    ['a value that is no boolean', '1 + 1', 'ConditionResultNotBoolean'],
    ['an undeclared variable', 'b.metadata.name == "x"', 'ConditionCompileError'],
  ])('keeps everything on %s', async (_, condition, reason) => {
    await world.create(configMap('a'))
    await world.create(
      cleanerOf({ ttl: '1m', retry: { period: '5m' }, targets: [target('a')], conditions: [condition] }),
    )
    await world.pass(hour)
    expect(await reasonOf()).toBe(reason)
    expect(await left()).toEqual(['a'])
  })

  it('waits for a target that does not exist, and for a kind that is not served', async () => {
    await world.create(cleanerOf({ ttl: '1m', targets: [target('absent')] }))
    await world.create(
      cleanerOf(
        {
          ttl: '1m',
          targets: [
            {
              name: 'x',
              reference: { apiGroup: 'example.com', version: 'v1', kind: 'thing', name: 'x' },
              includeWhenEvaluating: true,
              delete: true,
            },
          ],
        },
        'd',
      ),
    )
    await world.pass(5 * minute)
    expect(await reasonOf()).toBe('TargetResolveError')
    expect(await reasonOf({ ...self, name: 'd' })).toBe('KindNotFound')
  })

  it('treats a missing target that is only deleted as done', async () => {
    await world.create(cleanerOf({ ttl: '1m', targets: [target('gone', { includeWhenEvaluating: false })] }))
    await world.pass(5 * minute)
    expect(await world.get(self)).toBeUndefined()
  })

  it('deletes no target when a user deletes it, early or with finalizers set by others', async () => {
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '10h', targets: [target('a')] }))
    await world.client.patch(
      cleaner.type,
      { namespace: 'team', name: 'c' },
      { type: 'merge', body: { metadata: { finalizers: ['cleaner.vtex.dev/target-finalizer'] } } },
    )
    await world.client.deleteObject(cleaner.type, { namespace: 'team', name: 'c' })
    await world.pass(20 * hour)
    expect(await world.get(self)).toBeUndefined()
    expect(await left()).toEqual(['a'])
  })

  it('refuses to reach beyond its namespace', async () => {
    await world.create(
      cleanerOf({
        ttl: '1m',
        targets: [
          {
            name: 'ns',
            reference: { version: 'v1', kind: 'namespace', name: 'default' },
            delete: true,
            includeWhenEvaluating: true,
          },
        ],
      }),
    )
    await world.pass(5 * minute)
    expect(await reasonOf()).toBe('TargetForbidden')
    expect(await world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'default' })).toBeDefined()
  })

  it('writes nothing but the time of the next evaluation while nothing changes', async () => {
    await world.create(configMap('a'))
    await world.create(
      cleanerOf({ ttl: '1m', retry: { period: '5m' }, targets: [target('a')], conditions: ['a.metadata.name == "b"'] }),
    )
    await world.pass(hour)
    const { nextScheduledEvaluation: _, ...before } = (await world.get<Cleaner>(self))?.status ?? {}
    await world.pass(10 * hour)
    const { nextScheduledEvaluation, ...after } = (await world.get<Cleaner>(self))?.status ?? {}
    expect(after).toEqual(before)
    expect(parseTime(nextScheduledEvaluation)).toBeGreaterThan(world.clock.now())
  })

  it('accepts the founding manifest', async () => {
    const seed = readFileSync(new URL('testdata/seed-cleaner.yaml', import.meta.url), 'utf8')
    const manifest = parse(seed) as KubeObject
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'faststore-proxy' } })
    await world.create(manifest)
    await world.pass(hour)
    const found = await world.get<Cleaner>({ ...self, namespace: 'faststore-proxy', name: 'sfj-commit--account' })
    expect(found?.status?.conditions?.[0]?.reason).toBe('NotExpired')
    expect(found?.status?.nextScheduledEvaluation).toBe('2026-01-20T08:00:00Z')
  })
})

describe('a ConditionalTTL', () => {
  let sink: Server
  let received: {
    headers: Record<string, unknown>
    body: { name: string; namespace: string; targets: { name: string; state: KubeObject }[] }
  }[]
  beforeEach(async () => {
    received = []
    sink = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        received.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
        response.writeHead(202).end()
      })
    })
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => void sink.close())

  it('sends its sink the targets as they were evaluated', async () => {
    await world.create(configMap('a', { annotations: { go: 'yes' } }))
    await world.create(configMap('b', { labels: { app: 'x' } }))
    const manifest: KubeObject = {
      apiVersion: 'cleaner.vtex.io/v1alpha1',
      kind: 'ConditionalTTL',
      metadata: { name: 't', namespace: 'team' },
      spec: {
        ttl: '0s',
        retry: { period: '1s' },
        targets: [
          {
            name: 'one',
            delete: true,
            includeWhenEvaluating: true,
            reference: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' },
          },
          {
            name: 'many',
            delete: true,
            includeWhenEvaluating: true,
            reference: { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'x' } } },
          },
        ],
        conditions: ['one.metadata.annotations.exists(k, k == "go") && size(many.items) == 1'],
        cloudEventSink: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`,
      },
    }
    await world.create(manifest)
    await world.pass(10_000)
    expect(await left()).toEqual([])
    expect(
      await world.get<ConditionalTtl>({
        apiVersion: manifest.apiVersion,
        kind: manifest.kind,
        namespace: 'team',
        name: 't',
      }),
    ).toBeUndefined()
    expect(received).toHaveLength(1)
    expect(received[0]?.headers).toMatchObject({
      'ce-type': 'conditionalTTL.deleted',
      'ce-source': 'cleaner.vtex.io/finalizer',
      'content-type': 'application/json',
    })
    expect(received[0]?.body).toMatchObject({ name: 't', namespace: 'team' })
    expect(received[0]?.body.targets.map(({ name, state }) => [name, state.kind])).toEqual([
      ['one', 'ConfigMap'],
      ['many', 'ConfigMapList'],
    ])
  })
})
