import { configMaps, customResourceDefinitions } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { cleaner, type Cleaner } from '../../apis/cleaner.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import {
  cleanerOf,
  configMap,
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

const isDecision = ({ method, body }: ApiRequest) =>
  method === 'PUT' && (body as Cleaner | undefined)?.status?.decision !== undefined
const patch = (name: string, body: object) =>
  world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body })
const remove = (name: string) => world.client.deleteObject(configMaps, { namespace: 'team', name })
const refuse = (message: string) => ({
  status: 403,
  headers: {},
  body: { kind: 'Status', status: 'Failure', reason: 'Forbidden', message, code: 403 },
})
const named = (name: string) => ({ ...self, name })

describe('targets', () => {
  it('C2-9: a target deleted by others after the decision is a success', async () => {
    await start(seeing(async (request) => void (isDecision(request) && (await remove('a')))))
    await world.create(configMap('a'))
    await world.create(configMap('b'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a'), target('b')] }))
    await world.pass(5 * minute)
    expect(await left(world)).toEqual([])
    expect(await world.get(self)).toBeUndefined()
    const events = await eventsOf(world)
    expect(events).not.toContain('DeleteTargetFailed')
    expect(events.filter((reason) => reason === 'TargetDeleted')).toHaveLength(1)
  })

  it('C2-10: keeps an object created under the same name after the decision', async () => {
    let replaced = false
    await start(
      seeing(async (request) => {
        if (!isDecision(request) || replaced) return
        replaced = true
        await remove('a')
        await world.create(configMap('a', {}, { is: 'new' }))
      }),
    )
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    expect(await left(world)).toEqual(['a'])
    expect(await eventsOf(world)).toContain('TargetReplaced')
    expect(await world.get(self)).toBeUndefined()
  })

  it('deletes a target that was only changed after the decision', async () => {
    let changes = 0
    await start(
      seeing(async ({ method, path }) => {
        if (method === 'DELETE' && path.endsWith('/configmaps/a') && changes++ < 3)
          await patch('a', { data: { n: `${changes}` } })
      }),
    )
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    expect(changes).toBe(4)
    expect(await left(world)).toEqual([])
  })

  it.each([
    ['Wait', 'TargetResolveError', true],
    ['Null', undefined, false],
    ['Complete', undefined, false],
  ])('C2-12: a missing evaluated target follows onMissing: %s', async (onMissing, reason, isThere) => {
    await start()
    await world.create(
      cleanerOf({
        ttl: '1m',
        targets: [target('a', { onMissing })],
        conditions: onMissing === 'Null' ? ['a == null'] : [],
      }),
    )
    await world.pass(5 * minute)
    expect((await readyOf(world))?.reason).toBe(reason)
    expect((await world.get(self)) !== undefined).toBe(isThere)
  })

  it('C2-15: a non-boolean result is evaluated again when a target changes', async () => {
    await start()
    await world.create(configMap('a', {}, { go: 'no' }))
    await world.create(
      cleanerOf({ ttl: '1m', targets: [target('a')], conditions: ['a.data.go == "yes" ? dyn(true) : dyn("no")'] }),
    )
    await world.pass(5 * minute)
    expect((await readyOf(world))?.reason).toBe('ConditionResultNotBoolean')
    await patch('a', { data: { go: 'yes' } })
    await world.pass(1000)
    expect(await left(world)).toEqual([])
  })

  it('C2-18: selects all objects of a kind only with matchAll', async () => {
    await start()
    const all = (reference: object) => ({ name: 'all', delete: true, includeWhenEvaluating: true, reference })
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '0s', targets: [all({ kind: 'configmap', matchLabels: {} })] }))
    await world.pass(minute)
    expect(await readyOf(world)).toMatchObject({ reason: 'InvalidSpec', message: expect.stringContaining('matchAll') })
    expect(await left(world)).toEqual(['a'])
    await world.create(cleanerOf({ ttl: '0s', targets: [all({ kind: 'configmap', matchAll: true })] }, { name: 'all' }))
    await world.pass(minute)
    expect(await left(world)).toEqual([])
  })

  it('C2-19: expressions and labels select together', async () => {
    await start()
    await world.create(configMap('a', { labels: { app: 'x', tier: 'web' } }))
    await world.create(configMap('b', { labels: { app: 'x' } }))
    await world.create(configMap('keeps', { labels: { app: 'x', tier: 'db' } }))
    await world.create(configMap('other', { labels: { app: 'y' } }))
    const labelSelector = {
      matchExpressions: [
        { key: 'tier', operator: 'NotIn', values: ['db'] },
        { key: 'app', operator: 'Exists' },
        { key: 'protected', operator: 'DoesNotExist' },
        { key: 'app', operator: 'In', values: ['x', 'z'] },
      ],
    }
    const reference = { version: 'v1', kind: 'configmap', matchLabels: { app: 'x' }, labelSelector }
    await world.create(
      cleanerOf({ ttl: '1m', targets: [target('all', { reference })], conditions: ['size(all.items) == 2'] }),
    )
    await world.pass(5 * minute)
    expect(await left(world)).toEqual(['keeps', 'other'])
  })

  it('C2-20: deletes its own namespace last, after the CloudEvent is delivered', async () => {
    const order: string[] = []
    await start({
      send: () => {
        order.push('told')
        return Promise.resolve()
      },
      through: (transport) => (request) => {
        if (request.method === 'DELETE' && request.path.endsWith('/namespaces/gone')) order.push('namespace')
        return transport(request)
      },
    })
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } })
    const reference = { version: 'v1', kind: 'namespace', name: 'gone' }
    await world.create(
      cleanerOf(
        { ttl: '1m', targets: [target('ns', { reference })], cloudEventSink: 'http://sink.example/' },
        { namespace: 'gone' },
      ),
    )
    await world.pass(10 * minute)
    expect(order).toEqual(['told', 'namespace'])
    expect(await world.get({ ...self, namespace: 'gone' })).toBeUndefined()
  })

  it('C2-21: refuses another namespace', async () => {
    const reference = { version: 'v1', kind: 'configmap', name: 'a', namespace: 'default' }
    const manifest = cleanerOf({ ttl: '0s', targets: [target('a', { reference })] })
    await expect(world.client.create(cleaner.type, manifest, { fieldValidation: 'Strict' })).rejects.toThrow(
      'unknown field',
    )
    await start()
    await world.create(configMap('a', { namespace: 'default' }))
    await world.create(manifest)
    await world.pass(minute)
    expect((await readyOf(world))?.reason).toBe('TargetResolveError')
    expect(await left(world, 'default')).toEqual(['a'])
  })

  it('C2-22, C2-23: finds a kind as soon as it is served, in upper or lower case, even one that ends in List', async () => {
    await start()
    const reference = { apiGroup: 'example.com', version: 'v1', kind: 'pricelist', name: 'x' }
    await world.create(cleanerOf({ ttl: '1m', retry: { period: '100h' }, targets: [target('x', { reference })] }))
    await world.pass(5 * minute)
    expect((await readyOf(world))?.reason).toBe('KindNotFound')
    await world.create(definition('PriceList', 'pricelists'))
    await world.pass(1000)
    const list = { apiVersion: 'example.com/v1', kind: 'PriceList', metadata: { name: 'x', namespace: 'team' } }
    await world.create(list)
    await world.pass(1000)
    expect(await world.get(self)).toBeUndefined()
    expect(
      await world.get({ apiVersion: 'example.com/v1', kind: 'PriceList', namespace: 'team', name: 'x' }),
    ).toBeUndefined()
  })

  it('C2-22: a kind no longer served at deletion has nothing to delete', async () => {
    await world.create(definition('Thing', 'things'))
    await world.create({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x', namespace: 'team' } })
    await start(
      seeing(async (request) => {
        if (isDecision(request))
          await world.client.deleteObject(customResourceDefinitions, { name: 'things.example.com' })
      }),
    )
    const reference = { apiGroup: 'example.com', version: 'v1', kind: 'thing', name: 'x' }
    await world.create(cleanerOf({ ttl: '1m', targets: [target('x', { reference })] }))
    await world.pass(10 * minute)
    expect(await world.get(self)).toBeUndefined()
  })

  it('C2-24: thousands of matches are read in pages, and the status stays small', async () => {
    const pages: string[] = []
    await start(
      seeing(({ method, path, query }) => {
        if (method === 'GET' && path.endsWith('/team/configmaps')) pages.push(String(query?.['limit']))
      }),
    )
    for (let index = 0; index < 1200; index++)
      await world.create(configMap(`item-${index}`, { labels: { app: 'x' } }, { filler: 'x'.repeat(200) }))
    await world.create(
      cleanerOf({
        ttl: '1m',
        retry: { period: '1h' },
        targets: [selected('all', { app: 'x' }, { delete: false })],
        conditions: ['size(all.items) == 1200 && time > timestamp("2026-01-05T12:00:00Z")'],
        schedule: 'never-there',
      }),
    )
    await world.pass(2 * hour)
    const waiting = await world.get<Cleaner>(self)
    expect(waiting?.status).toMatchObject({ resolvedCount: 1200 })
    expect(waiting?.status?.resolvedTargets).toHaveLength(100)
    await world.pass(4 * hour)
    const held = await world.get<Cleaner>(self)
    expect((await readyOf(world))?.reason).toBe('Held')
    expect(JSON.stringify(held?.status).length).toBeLessThan(65_536)
    expect(pages.length).toBeGreaterThanOrEqual(3)
    expect(new Set(pages)).toEqual(new Set(['500']))
  })

  it('C2-26: reports a target it may not read, retries every period, and affects no other Cleaner', async () => {
    let isForbidden = true
    let asked = 0
    const through =
      (transport: Transport): Transport =>
      (request) => {
        const isSecret = request.path.includes('/secrets') && request.method === 'GET'
        if (isSecret) asked++
        return isSecret && isForbidden ? Promise.resolve(refuse('secrets is forbidden')) : transport(request)
      }
    await start({ through })
    await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'team' } })
    await world.create(configMap('a'))
    const secret = target('s', {
      reference: { version: 'v1', kind: 'secret', name: 's' },
      includeWhenEvaluating: false,
    })
    await world.create(cleanerOf({ ttl: '1m', retry: { period: '10m' }, targets: [secret] }, { name: 'may-not' }))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(hour)
    expect(await readyOf(world, named('may-not'))).toMatchObject({ status: 'False', reason: 'TargetForbidden' })
    expect(await left(world)).toEqual([])
    expect(asked).toBeLessThan(15)
    isForbidden = false
    await world.pass(11 * minute)
    expect(await world.get(named('may-not'))).toBeUndefined()
  })

  it('C2-26: a target it may not delete does not keep the others, and is retried with backoff', async () => {
    let tries = 0
    const through =
      (transport: Transport): Transport =>
      (request) => {
        const isIt = request.method === 'DELETE' && request.path.endsWith('/configmaps/a')
        if (isIt) tries++
        return isIt ? Promise.resolve(refuse('may not delete')) : transport(request)
      }
    await start({ through })
    for (const name of ['a', 'b']) await world.create(configMap(name))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a'), target('b')] }))
    await world.pass(hour)
    expect(await left(world)).toEqual(['a'])
    expect(await eventsOf(world)).toContain('DeleteTargetFailed')
    expect(tries).toBeLessThan(60)
  })

  it.each([
    ['Background', {}],
    ['Foreground', { propagationPolicy: 'Foreground' }],
    ['Orphan', { propagationPolicy: 'Orphan' }],
  ])('C2-33: deletes a Job with propagation %s', async (propagation, given) => {
    const seen: unknown[] = []
    await start(
      seeing(({ method, path, body, query }) => {
        if (method === 'DELETE' && path.endsWith('/jobs/j')) seen.push(JSON.stringify([body, query]))
      }),
    )
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
    await world.create({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'team' },
      spec: { template },
    })
    const reference = { apiGroup: 'batch', version: 'v1', kind: 'job', name: 'j' }
    await world.create(cleanerOf({ ttl: '1m', targets: [target('j', { reference, ...given })] }))
    await world.pass(5 * minute)
    expect(seen).toEqual([expect.stringContaining(propagation)])
  })

  it('C2-34: reports a target with a foreign finalizer as pending', async () => {
    await start()
    await world.create(configMap('a', { finalizers: ['example.com/slow'] }))
    await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
    await world.pass(5 * minute)
    expect(await world.get(self)).toBeUndefined()
    expect(await left(world)).toEqual(['a'])
    expect(await eventsOf(world)).toContain('TargetDeleted')
  })

  it.each([
    ['until it is gone', true],
    ['until the time is up', false],
  ])('C2-34: with wait, releases and sink are held %s', async (_, lets) => {
    const told: number[] = []
    await start({
      send: () => {
        told.push(world.clock.now())
        return Promise.resolve()
      },
    })
    await world.create(configMap('a', { finalizers: ['example.com/slow'] }))
    await world.create(
      cleanerOf({ ttl: '0s', wait: '30m', targets: [target('a')], cloudEventSink: 'http://sink.example/' }),
    )
    const began = world.clock.now()
    await world.pass(10 * minute)
    expect(told).toEqual([])
    if (lets) await patch('a', { metadata: { finalizers: null } })
    await world.pass(hour)
    expect(told).toHaveLength(1)
    const waited = ((told[0] ?? 0) - began) / minute
    expect(lets ? waited < 11 : waited >= 30 && waited < 31).toBe(true)
    expect((await eventsOf(world)).includes('TargetPending')).toBe(!lets)
    expect(await world.get(self)).toBeUndefined()
  })

  it('C2-35: evaluates terminating targets unless excludeTerminating is set, and deletes none twice', async () => {
    await world.create(configMap('a', { finalizers: ['example.com/slow'], labels: { app: 'x' } }))
    await remove('a')
    let deletes = 0
    await start(
      seeing(({ method, path }) => void (method === 'DELETE' && path.includes('/configmaps/') ? deletes++ : 0)),
    )
    const spec = (excludeTerminating: boolean, size: number) => ({
      ttl: '1m',
      targets: [selected('all', { app: 'x' }, { excludeTerminating })],
      conditions: [`size(all.items) == ${size}`],
    })
    await world.create(cleanerOf(spec(false, 1), { name: 'sees' }))
    await world.create(cleanerOf(spec(true, 0), { name: 'ignores' }))
    await world.pass(5 * minute)
    expect(await world.get(named('sees'))).toBeUndefined()
    expect(await world.get(named('ignores'))).toBeUndefined()
    expect(deletes).toBe(0)
  })

  it('C2-36: deletes no target when a user deletes it early or while it waits', async () => {
    const told: string[] = []
    await start({ send: (sink) => Promise.resolve(void told.push(sink)) })
    await world.create(configMap('a'))
    const spec = { targets: [target('a')], cloudEventSink: 'http://sink.example/' }
    await world.create(cleanerOf({ ...spec, ttl: '10h' }, { name: 'early' }))
    await world.create(cleanerOf({ ...spec, ttl: '0s', conditions: ['false'] }, { name: 'waiting' }))
    await world.pass(minute)
    for (const name of ['early', 'waiting']) await world.client.deleteObject(cleaner.type, { namespace: 'team', name })
    await world.pass(20 * hour)
    expect(await left(world)).toEqual(['a'])
    expect(told).toEqual([])
  })

  it('C2-38: an edit during deletion changes nothing: the recorded decision is carried out', async () => {
    await start()
    await world.create(configMap('a', { finalizers: ['example.com/slow'] }))
    await world.create(configMap('other'))
    await world.create(cleanerOf({ ttl: '0s', wait: '1h', targets: [target('a')] }))
    await world.pass(minute)
    const body = { spec: { targets: [target('other')], helm: { release: 'app', delete: true }, cloudEventSink: 'x' } }
    await world.client.patch(cleaner.type, { namespace: 'team', name: 'c' }, { type: 'merge', body })
    await world.pass(minute)
    await patch('a', { metadata: { finalizers: null } })
    await world.pass(minute)
    expect(await world.get(self)).toBeUndefined()
    expect(await left(world)).toEqual(['other'])
  })

  it('C2-40: two Cleaners may share a target', async () => {
    await start()
    await world.create(configMap('a'))
    for (const name of ['one', 'two'])
      await world.create(cleanerOf({ ttl: '1m', targets: [target('a', { onMissing: 'Null' })] }, { name }))
    await world.pass(5 * minute)
    expect(await left(world)).toEqual([])
    for (const name of ['one', 'two']) expect(await world.get(named(name))).toBeUndefined()
  })
})

function definition(kind: string, plural: string): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}Items` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}
