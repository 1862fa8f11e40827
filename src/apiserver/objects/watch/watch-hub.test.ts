import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import type { WatchEvent } from '../../../kube/transport.ts'
import { storeKinds } from '../../../../test/apiserver/test-stores.ts'
import { openTestObjects, someone, type TestObjects } from '../../../../test/apiserver/test-objects.ts'
import { EventStream } from '../../http/response/event-stream.ts'
import { plainPresentation } from '../../http/response/presentation.ts'

describe.each(storeKinds)('watch on %s', (_, openStore) => {
  let world: TestObjects
  beforeEach(async () => {
    const clock = {
      now: () => 0,
      after: () => () => {},
      breathe: () => new Promise<void>((resolve) => setImmediate(resolve)),
    }
    world = await openTestObjects({ store: openStore(clock) })
  })
  afterEach(() => world.close())
  const make = (name: string, labels = {}) => world.create('v1/configmaps', { metadata: { name, labels } })
  const now = () => String(world.store.revision)

  it('begins with the state there is when no version is given', async () => {
    await make('a')
    const heard = world.watch('v1/configmaps')
    await world.settle()
    await make('b')
    await world.merge('v1/configmaps', 'a', { data: { k: 'v' } })
    await world.delete('v1/configmaps', 'b')
    await world.settle()
    expect(heard.story).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b'])
    expect(heard.lines[0]).toMatch(/^\{"type":"ADDED","object":\{"apiVersion":"v1","kind":"ConfigMap",.*\}\}\n$/)
  })

  it('resumes after any version that is kept', async () => {
    await make('a')
    const version = now()
    await make('b')
    await make('c')
    const heard = world.watch('v1/configmaps', { resourceVersion: version })
    await world.settle()
    await make('d')
    await world.settle()
    expect(heard.story).toEqual(['ADDED b', 'ADDED c', 'ADDED d'])
  })

  it('reports one namespace and one kind only', async () => {
    await world.create('v1/namespaces', { metadata: { name: 'other' } })
    const heard = world.watch('v1/configmaps', { namespace: 'other', resourceVersion: now() })
    await make('a')
    await world.create('v1/secrets', { metadata: { name: 's' } }, { namespace: 'other' })
    await world.create('v1/configmaps', { metadata: { name: 'b' } }, { namespace: 'other' })
    await world.settle()
    expect(heard.story).toEqual(['ADDED b'])
  })

  it('reports objects that start or stop matching a selector, live and from the log', async () => {
    const version = now()
    const live = world.watch('v1/configmaps', { resourceVersion: version, labelSelector: 'x=y' })
    await world.settle()
    await make('a')
    await world.merge('v1/configmaps', 'a', { metadata: { labels: { x: 'y' } } })
    await world.merge('v1/configmaps', 'a', { data: { k: 'v' } })
    await world.merge('v1/configmaps', 'a', { metadata: { labels: { x: null } } })
    const left = now()
    await world.delete('v1/configmaps', 'a')
    await world.settle()
    const replayed = world.watch('v1/configmaps', { resourceVersion: version, labelSelector: 'x=y' })
    await world.settle()
    for (const heard of [live, replayed]) {
      expect(heard.story).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a'])
      expect(heard.events[2]?.object.metadata).toMatchObject({ labels: { x: 'y' }, resourceVersion: left })
    }
    expect(replayed.lines).toEqual(live.lines)
  })

  it('follows one object by its name', async () => {
    const heard = world.watch('v1/configmaps', { namespace: 'default', fieldSelector: 'metadata.name=b' })
    await make('a')
    await make('b')
    await world.delete('v1/configmaps', 'b')
    await world.settle()
    expect(heard.story).toEqual(['ADDED b', 'DELETED b'])
  })

  it('says when the initial state is complete, if asked to', async () => {
    await make('a')
    const heard = world.watch('v1/configmaps', {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    })
    const version = now()
    await world.settle()
    await make('b')
    await world.settle()
    expect(heard.story).toEqual(['ADDED a', 'BOOKMARK', 'ADDED b'])
    expect(heard.events[1]?.object).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {
        resourceVersion: version,
        annotations: { 'k8s.io/initial-events-end': 'true' },
      },
    })
  })

  it('begins now when initial events are not wanted', async () => {
    await make('a')
    const heard = world.watch('v1/configmaps', { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' })
    await world.settle()
    await make('b')
    await world.settle()
    expect(heard.story).toEqual(['ADDED b'])
  })

  it('marks how far it has come, every minute and before its end', async () => {
    const heard = world.watch('v1/configmaps', { allowWatchBookmarks: 'true', timeoutSeconds: '100' })
    await world.settle()
    await world.create('v1/secrets', { metadata: { name: 's' } })
    world.clock.advance(60_000)
    expect(heard.story).toEqual(['BOOKMARK'])
    expect(heard.events[0]?.object.metadata.resourceVersion).toBe(now())
    world.clock.advance(38_000)
    expect(heard.story).toEqual(['BOOKMARK', 'BOOKMARK'])
    expect(heard.hasEnded).toBe(false)
    world.clock.advance(2000)
    expect(heard.hasEnded).toBe(true)
    expect(world.objects.watches).toBe(0)
  })

  it('sends no bookmarks to who has not asked for them', async () => {
    const heard = world.watch('v1/configmaps')
    await world.settle()
    world.clock.advance(70 * 60_000)
    expect(heard.story).toEqual([])
    expect(heard.hasEnded).toBe(true)
  })

  it('ends with 410 when the version is too old', async () => {
    const version = now()
    await make('a')
    await world.delete('v1/configmaps', 'a')
    await make('b')
    await world.store.compact({ olderThanMs: 0, keep: 0 })
    const heard = world.watch('v1/configmaps', { resourceVersion: version })
    await world.settle()
    expect(heard.events).toMatchObject([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          code: 410,
          reason: 'Expired',
          message: `too old resource version: ${version} (${now()})`,
        },
      },
    ])
    expect(heard.hasEnded).toBe(true)
  })

  it('ends with 504 when the version does not come', async () => {
    const heard = world.watch('v1/configmaps', { resourceVersion: '99999999' })
    await world.settle()
    world.clock.advance(3000)
    await world.settle()
    expect(heard.events).toMatchObject([{ type: 'ERROR', object: { code: 504 } }])
  })

  it('holds nothing for a full sink, and misses and repeats nothing once it takes more', async () => {
    const heard = world.watch('v1/configmaps', { resourceVersion: now() })
    await world.settle()
    heard.isFull = true
    await make('a')
    await world.settle()
    for (const name of ['b', 'c', 'd']) await make(name)
    await world.settle()
    expect(heard.story).toEqual(['ADDED a'])
    heard.isFull = false
    heard.watch.resume()
    await make('e')
    await world.settle()
    expect(heard.story).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d', 'ADDED e'])
  })

  it('ends a slow reader with 410 once what it missed is compacted away', async () => {
    const heard = world.watch('v1/configmaps', { resourceVersion: now() })
    await world.settle()
    heard.isFull = true
    await make('a')
    await make('b')
    await world.settle()
    await world.delete('v1/configmaps', 'b')
    await world.store.compact({ olderThanMs: 0, keep: 0 })
    heard.watch.resume()
    await world.settle()
    expect(heard.story.slice(0, 1)).toEqual(['ADDED a'])
    expect(heard.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } })
    expect(heard.hasEnded).toBe(true)
  })

  it('writes each event once for all who watch', async () => {
    const watchers = Array.from({ length: 5 }, () => {
      const lines: Buffer[] = []
      const sink = {
        deliver: (events: readonly { line: Buffer }[]) => lines.push(...events.map(({ line }) => line)) > 0,
        end() {},
      }
      world.objects.watch({ type: world.type('v1/configmaps'), user: someone, resourceVersion: now() }, sink)
      return lines
    })
    await world.settle()
    await make('a')
    await world.settle()
    expect(new Set(watchers.map(([line]) => line)).size).toBe(1)
    expect(watchers[4]?.[0]).toBeDefined()
  })

  it('is closed when its sink fails, without effect on other watches', async () => {
    const broken = {
      deliver(): boolean {
        throw new Error('gone')
      },
      end() {},
    }
    world.objects.watch({ type: world.type('v1/configmaps'), user: someone, resourceVersion: now() }, broken)
    const heard = world.watch('v1/configmaps', { resourceVersion: now() })
    await world.settle()
    await make('a')
    await world.settle()
    expect(heard.story).toEqual(['ADDED a'])
    expect(world.objects.watches).toBe(1)
  })

  it('delivers nothing after it was closed', async () => {
    const heard = world.watch('v1/configmaps')
    heard.watch.close()
    await make('a')
    await world.settle()
    expect(heard.story).toEqual([])
    expect(world.objects.watches).toBe(0)
  })

  it.each([
    [{ sendInitialEvents: 'true' }, 422],
    [{ resourceVersionMatch: 'NotOlderThan', resourceVersion: '1' }, 422],
    [{ sendInitialEvents: 'true', resourceVersionMatch: 'Exact', resourceVersion: '1' }, 422],
    [{ resourceVersion: 'x' }, 400],
    [{ labelSelector: 'a in' }, 400],
    [{ timeoutSeconds: 'x' }, 400],
  ])('refuses %j before it begins', (options, code) => {
    expect(() => world.watch('v1/configmaps', options)).toThrow(expect.objectContaining({ code }))
    expect(world.objects.watches).toBe(0)
  })

  it('is an iterable of shared, frozen objects for readers in the same process', async () => {
    const abort = new AbortController()
    const told: string[] = []
    const request = { type: world.type('v1/configmaps'), user: someone, resourceVersion: now() }
    const watching = (async () => {
      const shown = plainPresentation({
        group: '',
        version: 'v1',
        kind: 'ConfigMap',
        listKind: 'ConfigMapList',
        custom: undefined,
      })
      const stream = new EventStream((sink) => world.objects.watch(request, sink), shown, abort.signal)
      for await (const { type, object } of stream as AsyncIterable<WatchEvent<StoredObject>>) {
        expect(Object.isFrozen(object.metadata)).toBe(true)
        told.push(`${type} ${object.metadata.name}`)
        if (told.length === 2) abort.abort()
      }
    })()
    await make('a')
    await make('b')
    await watching
    expect(told).toEqual(['ADDED a', 'ADDED b'])
    expect(world.objects.watches).toBe(0)
  })
})
