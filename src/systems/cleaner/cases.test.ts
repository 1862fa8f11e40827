import { configMaps, events, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startRealWorld, startWorld, type World } from '../../../test/world.ts'
import { cleaner } from '../../apis/cleaner.ts'
import { Alarms } from '../../runtime/controller/alarms.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { cleanerController } from './controller.ts'
import {
  cleanerOf,
  configMap,
  isWrite,
  eventsOf,
  hour,
  left,
  minute,
  readyOf,
  seeing,
  selected,
  self,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'

const day = 24 * hour
let world: World
let running: CleanerProcess | undefined
beforeEach(async () => {
  world = await startWorld()
})
afterEach(async () => {
  await running?.kill()
  running = undefined
  await world[Symbol.asyncDispose]()
})

async function start(given: Parameters<typeof startCleaner>[1] = {}): Promise<void> {
  running = await startCleaner(world, given)
}

const patch = (name: string, body: object) =>
  world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body })
const named = (name: string) => ({ ...self, name })

describe('time', () => {
  it('C2-1, C2-2: reports a stored TTL that cannot be read, and affects no other Cleaner', async () => {
    await start()
    const ttl = (name: string, spec: object): KubeObject => ({
      apiVersion: 'cleaner.vtex.io/v1alpha1',
      kind: 'ConditionalTTL',
      metadata: { name, namespace: 'team' },
      spec,
    })
    await world.create(ttl('days', { ttl: '15d' }))
    await world.create(cleanerOf({ ttl: '2562048h' }, { name: 'far' }))
    await world.create(cleanerOf({ ttl: '-1h' }, { name: 'negative' }))
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    expect(await left(world)).toEqual([])
    const days = { apiVersion: 'cleaner.vtex.io/v1alpha1', kind: 'ConditionalTTL', namespace: 'team', name: 'days' }
    for (const ref of [days, named('far'), named('negative')])
      expect(await readyOf(world, ref)).toMatchObject({
        status: 'False',
        reason: 'InvalidSpec',
        message: expect.stringContaining('spec.ttl'),
      })
  })

  it('C2-3: a TTL of zero expires at once', async () => {
    await start()
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '0s', targets: [target('a')] }))
    await world.pass(1000)
    expect(await left(world)).toEqual([])
  })

  it('C2-4: waits a month without an early evaluation or a request', async () => {
    let requests = 0
    await start(
      seeing(({ path }) => void (path.includes('/configmaps') || path.includes('/cleaners') ? requests++ : 0)),
    )
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '30d', targets: [target('a')] }))
    await world.pass(minute)
    const afterStart = requests
    await world.pass(30 * day - 2 * minute)
    expect(requests).toBe(afterStart)
    expect(await left(world)).toEqual(['a'])
    await world.pass(2 * minute)
    expect(await left(world)).toEqual([])
  })

  it('C2-5: no spec and no ttl are refused by the schema', async () => {
    for (const spec of [undefined, {}, { ttl: null }])
      await expect(world.create(cleanerOf(spec as object))).rejects.toThrow(/spec|ttl/)
  })

  it('C2-6: deletes nothing early when the wall clock is set back, and notices one set forward within half a minute', async () => {
    const alarms = new Alarms(world.clock, { maxSleepMs: 30_000 })
    world.run(cleanerController({ ...world, ports: { ...world.ports, alarms }, type: cleaner.type }))
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '3h', targets: [target('a')] }))
    await world.pass(hour)
    world.clock.stepWall(-hour)
    await world.pass(2 * hour + 30 * minute)
    expect(await left(world)).toEqual(['a'])
    world.clock.stepWall(2 * hour)
    await world.pass(31_000)
    expect(await left(world)).toEqual([])
    alarms.close()
  })

  it('C2-7: waits with a warning when created in the future', async () => {
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    world.clock.stepWall(-10 * minute)
    await start()
    await world.pass(5 * minute)
    expect(await left(world)).toEqual(['a'])
    expect(await eventsOf(world)).toEqual(['ClockSkew'])
    await world.pass(10 * minute)
    expect(await left(world)).toEqual([])
  })

  it('C2-43: after days without a cleaner, deletes the longest expired first, each evaluated afresh', async () => {
    for (const [name, ttl] of Object.entries({ 'a-late': '3h', 'b-early': '1h', 'c-middle': '2h' }))
      await world.create(cleanerOf({ ttl, targets: [target('x', { includeWhenEvaluating: false })] }, { name }))
    await world.create(configMap('x', { finalizers: ['example.com/held'] }))
    await world.pass(3 * day)
    const reads: string[] = []
    const writes: string[] = []
    await start(
      seeing(({ method, path }) => {
        if (method === 'PUT' && path.endsWith('/status')) writes.push(path.split('/').at(-2) ?? '')
        if (method === 'GET' && path.endsWith('/configmaps/x')) reads.push(path)
      }),
    )
    await world.pass(minute)
    expect(writes.slice(0, 3)).toEqual(['b-early', 'c-middle', 'a-late'])
    expect(reads.length).toBeGreaterThanOrEqual(3)
  })
})

describe('the sink', () => {
  const spec = (given: object = {}) => ({ ttl: '1m', cloudEventSink: 'http://sink.example/', ...given })

  const outbox = async () => {
    const { items } = await world.client.list(configMaps, {
      namespace: 'sojourn-system',
      labelSelector: 'sojourn.dev/outbox',
    })
    return items
  }
  const eventsOfOutbox = async () => {
    await world.events.flush()
    const { items } = await world.client.list<StoredObject & { reason: string }>(events, {
      namespace: 'sojourn-system',
    })
    return items.map(({ reason }) => reason)
  }

  it('C2-30: a failing sink is retried from the outbox until the limit, then given up with an Event, and the Cleaner is deleted', async () => {
    let tries = 0
    await start({
      send: () => {
        tries++
        return Promise.reject(new Error('the sink answered 500'))
      },
    })
    await world.create(cleanerOf(spec({ cloudEventTimeout: '2h' })))
    await world.pass(5 * minute)
    expect(await world.get(self)).toBeUndefined()
    expect(await eventsOf(world)).toContain('EventDeliveryFailed')
    const { items } = await world.client.list<StoredObject & { message: string }>(events, { namespace: 'team' })
    // Where it is, and until when it is sent.
    expect(items.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/is kept in ConfigMap sojourn-system\/sojourn-outbox-\S+ and sent again until 20\S+Z: /),
    )
    expect(await outbox()).toHaveLength(1)
    await world.pass(hour)
    expect(await outbox()).toHaveLength(1)
    await world.pass(2 * hour)
    expect(await outbox()).toEqual([])
    expect(await eventsOfOutbox()).toContain('EventGivenUp')
    expect(tries).toBeGreaterThan(8)
  })

  it('C2-30: a required sink gets its event however late, by the same id, though Cleaner and namespace are gone', async () => {
    const ids = new Set<string | undefined>()
    await start({
      send: (_, { headers }) => {
        ids.add(headers['ce-id'])
        return Promise.reject(new Error('refused'))
      },
    })
    await world.create(cleanerOf(spec({ cloudEventRequired: true })))
    await world.pass(2 * minute)
    await world.client.deleteObject(namespaces, { name: 'team' })
    await world.pass(9 * day)
    expect(await outbox()).toHaveLength(1)
    await running?.kill()
    await start({
      send: (_, { headers }) => {
        ids.add(headers['ce-id'])
        return Promise.resolve()
      },
    })
    await world.pass(2 * hour)
    expect(await outbox()).toEqual([])
    expect(ids.size).toBe(1)
    expect(await eventsOfOutbox()).toContain('EventDelivered')
  })

  it('C2-30: leaves a trace of a dead sink, however many targets used up the Events of the Cleaner', async () => {
    await start({ send: () => Promise.reject(new Error('refused')) })
    for (let index = 0; index < 30; index++) await world.create(configMap(`a${index}`, { labels: { app: 'x' } }))
    await world.create(cleanerOf(spec({ targets: [selected('all', { app: 'x' })] })))
    await world.pass(hour)
    expect(await eventsOfOutbox()).toContain('EventDeliveryFailed')
    expect((await outbox())[0]?.data).toMatchObject({ about: 'Cleaner/team/c', error: 'refused' })
  })

  it('C2-30: many unresponsive sinks delay no other Cleaner', async () => {
    await using real = await startRealWorld()
    real.run(cleanerController({ ...real, type: cleaner.type, send: () => new Promise(() => {}) }))
    for (let index = 0; index < 20; index++)
      await real.create(cleanerOf(spec({ ttl: '0s' }), { name: `slow-${index}` }))
    await real.create(configMap('a'))
    await real.create(cleanerOf({ ttl: '0s', targets: [target('a')] }))
    const isThere = async (ref: typeof self) => (await real.get(ref)) !== undefined
    await vi.waitFor(async () => expect(await isThere(self)).toBe(false), 20_000)
    expect(await isThere(named('slow-0'))).toBe(true)
  })
})

describe('at rest', () => {
  it('sends no request while it waits for its TTL or its conditions', async () => {
    const requests: string[] = []
    await start(seeing(({ method, path }) => void requests.push(`${method} ${path}`)))
    await world.create(configMap('a'))
    for (let index = 0; index < 50; index++) {
      await world.create(cleanerOf({ ttl: '90d', targets: [target('a')] }, { name: `young-${index}` }))
      await world.create(
        cleanerOf(
          {
            ttl: '1m',
            retry: { period: '1h' },
            targets: [target('a')],
            conditions: ['a.data.go == "yes" || time > timestamp("2027-01-01T00:00:00Z")'],
          },
          { name: `waits-${index}` },
        ),
      )
    }
    await patch('a', { data: { go: 'no' } })
    await world.pass(hour)
    requests.length = 0
    await world.pass(10 * day)
    // Watches end and begin anew by themselves; nothing is asked because of a Cleaner.
    expect(
      requests.filter(
        (line) =>
          !/(watch|\/(subjectaccessreviews|cleaners|conditionalttls|configmaps|departures|bonds|cleanupoptouts|workschedules|customresourcedefinitions))$/.test(
            line,
          ),
      ),
    ).toEqual([])
    // Once a day the conditions are evaluated anyway: one review then answers for all Cleaners of a user.
    const others = requests.filter((line) => !line.startsWith('GET '))
    expect(new Set(others)).toEqual(new Set(['POST /apis/authorization.k8s.io/v1/subjectaccessreviews']))
    expect(others.length).toBeLessThanOrEqual(11)
  })

  it('writes nothing unchanged after a restart', async () => {
    await world.create(configMap('a', {}, { go: 'no' }))
    for (let index = 0; index < 100; index++)
      await world.create(
        cleanerOf(
          index % 2 === 0 ? { ttl: '90d' } : { ttl: '1m', targets: [target('a')], conditions: ['a.data.go == "yes"'] },
          { name: `c-${index}` },
        ),
      )
    await start()
    await world.pass(hour)
    await running?.kill()
    const writes: string[] = []
    await start(seeing((request) => void (isWrite(request) ? writes.push(`${request.method} ${request.path}`) : 0)))
    await world.pass(hour)
    expect(writes).toEqual([])
    const stored = await world.get<StoredObject>(named('c-1'))
    expect(stored?.metadata.creationTimestamp).toBe(formatTime(Date.parse('2026-01-05T08:00:00Z')))
  })
})
