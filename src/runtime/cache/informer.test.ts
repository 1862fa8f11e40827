import { configMaps } from '../../kube/core-types.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Change, InformerOptions } from './informer.ts'
import { Informers } from './informers.ts'
import { createLogger } from '../observability/log.ts'
import { Metrics } from '../observability/metrics.ts'
import { seededRandom } from '../time/random.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const minute = 60_000

function configMap(name: string, value = '', namespace = 'default') {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name, labels: { value }, managedFields: [{ manager: 'x' }] },
    data: { value },
  }
}

/** An informer on a fake API, and every change it has told. */
function informed({ streams = true, options = {} }: { streams?: boolean; options?: InformerOptions } = {}) {
  const clock = new VirtualClock()
  const api = new FakeApi()
  const metrics = new Metrics()
  const lines: Record<string, unknown>[] = []
  const log = createLogger({ clock, level: 'debug', write: (line) => lines.push(JSON.parse(line)) })
  const informers = new Informers({ clock, random: seededRandom(1), metrics, log }, { freeze: true, streams })
  const client = new Client(api.transport)
  const open = () => {
    const informer = informers.open(client, configMaps, options)
    const changes: string[] = []
    const told: Change[] = []
    informer.subscribe((change) => {
      told.push(change)
      changes.push(`${change.type} ${change.object.metadata.name}${change.initial ? ' initially' : ''}`)
    })
    return { informer, changes, told }
  }
  return { clock, api, metrics, lines, informers, client, open }
}

/** What must be true of any history of changes: it is a history. Returns what is there at its end. */
function replayed(told: readonly Change[]): Map<string, StoredObject> {
  const there = new Map<string, StoredObject>()
  for (const { type, object, previous } of told) {
    const { name } = object.metadata
    const known = there.get(name)
    if (type === 'added') expect(known).toBeUndefined()
    else expect(known).toBe(previous)
    if (type === 'modified') {
      expect(object.metadata.uid).toBe(known?.metadata.uid)
      expect(object.metadata.resourceVersion).not.toBe(known?.metadata.resourceVersion)
    }
    if (type === 'deleted') there.delete(name)
    else there.set(name, object)
  }
  return there
}

describe.each([
  ['listing as a stream', { streams: true }],
  ['listing in pages', { streams: false }],
])('Informer, %s', (_, { streams }) => {
  it.each([
    [1, []],
    [
      3,
      [
        ['error', 'cache cannot follow its cluster'],
        ['info', 'cache follows its cluster again'],
      ],
    ],
  ])('logs a server that is busy for a moment only when that lasts: %d refusals', async (refusals, expected) => {
    const { clock, api, lines, open } = informed({ streams })
    let left = refusals
    api.faults.push(({ path }) => {
      if (!path.endsWith('/configmaps') || left-- <= 0) return undefined
      const error = new StatusError('TooManyRequests', 'storage is (re)initializing', {
        details: { retryAfterSeconds: 1 },
      })
      return { status: 429, headers: {}, body: error.toStatus() }
    })
    const { informer } = open()
    await clock.runFor(minute)
    expect(informer.synced).toBe(true)
    const said = lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => [level, message])
    expect(said).toEqual(expected)
  })

  it('shows what is there, then what happens, each once', async () => {
    const { clock, api, open } = informed({ streams })
    api.put('configmaps', configMap('a'))
    const { informer, changes } = open()
    expect(informer.synced).toBe(false)
    await clock.settle()
    expect(informer.synced).toBe(true)
    await informer.whenSynced()
    api.put('configmaps', configMap('b'))
    api.put('configmaps', configMap('a', 'new'))
    api.delete('configmaps', 'default', 'b')
    await clock.settle()
    expect(changes).toEqual(['added a initially', 'added b', 'modified a', 'deleted b'])
    expect(informer.list()).toHaveLength(1)
    expect(informer.hasReached(api.version)).toBe(true)
  })

  it('ends up with exactly what the server has, through any sequence of changes and failures', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), name, value: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), name, value: fc.nat(9) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constantFrom(
            'end' as const,
            'cut' as const,
            'garble' as const,
            'html' as const,
            'hang' as const,
            'expire' as const,
            'compact' as const,
            'bookmark' as const,
            'refuse' as const,
            'pass' as const,
          ),
          name,
          value: fc.nat(9),
        }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
        const { clock, api, open } = informed({ streams })
        const { informer, told } = open()
        for (const { do: what, name: key, value } of script) {
          if (what === 'put') api.put('configmaps', configMap(key, String(value)))
          else if (what === 'delete') api.delete('configmaps', 'default', key)
          else if (what === 'compact') api.compact()
          else if (what === 'bookmark') api.bookmark()
          else if (what === 'pass') await clock.runFor(value * 100)
          else if (what === 'refuse') refuse(api, value)
          else api.disturb(what)
          if (value % 2 === 0) await clock.settle()
        }
        await clock.runFor(120 * minute)
        const there = replayed(told)
        const expected = api.all('configmaps').map(({ metadata }) => [metadata.name, metadata.resourceVersion])
        const shown = informer.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion])
        expect(new Map(shown as [string, string][])).toEqual(new Map(expected as [string, string][]))
        expect(new Set(there.keys())).toEqual(new Set(shown.map(([key]) => key)))
        expect(informer.lastError).toBeUndefined()
        informer.close()
        await clock.settle()
        expect(api.watches).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  it('reports objects deleted or replaced while the watch was down', async () => {
    const { clock, api, open } = informed({ streams })
    for (const name of ['gone', 'reborn', 'same']) api.put('configmaps', configMap(name))
    const { changes } = open()
    await clock.settle()
    changes.length = 0
    api.disturb('hang')
    api.delete('configmaps', 'default', 'gone')
    api.delete('configmaps', 'default', 'reborn')
    api.put('configmaps', configMap('reborn'))
    api.compact()
    await clock.runFor(10 * minute)
    expect(changes).toEqual(['deleted reborn', 'added reborn', 'deleted gone'])
  })

  it('keeps what it has, and says so, while the server cannot be reached', async () => {
    const { clock, api, open, lines, metrics } = informed({ streams })
    api.put('configmaps', configMap('a'))
    const { informer, changes } = open()
    const errors: (string | undefined)[] = []
    informer.onError((error) => errors.push(error?.name))
    await clock.settle()
    const heal = refuse(api, Number.POSITIVE_INFINITY)
    api.disturb('cut')
    await clock.runFor(10 * minute)
    expect(informer.lastError).toBeInstanceOf(StatusError)
    expect(informer.get('default', 'a')).toBeDefined()
    expect(changes).toEqual(['added a initially'])
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    expect(metrics.render()).toContain('sojourn_cache_trouble{cluster="",kind="ConfigMap"} 1')
    heal()
    await clock.runFor(minute)
    expect(informer.lastError).toBeUndefined()
    expect(errors.at(-1)).toBeUndefined()
    expect(metrics.render()).toContain('sojourn_cache_trouble{cluster="",kind="ConfigMap"} 0')
  })

  it('resumes a cut watch from where it was, without listing', async () => {
    const { clock, api, open } = informed({ streams })
    api.put('configmaps', configMap('a'))
    const { changes } = open()
    await clock.settle()
    const before = api.requests.length
    api.disturb('cut')
    api.put('configmaps', configMap('b'))
    await clock.runFor(5000)
    expect(changes).toEqual(['added a initially', 'added b'])
    const again = api.requests.slice(before)
    expect(again.every(({ query }) => query?.watch === 'true' && query.resourceVersion !== undefined)).toBe(true)
  })

  it.each(['garble', 'html'] as const)('lists everything anew after a %s line, and skips nothing', async (how) => {
    const { clock, api, open, metrics } = informed({ streams })
    api.put('configmaps', configMap('a'))
    const { changes } = open()
    await clock.settle()
    api.disturb(how)
    api.put('configmaps', configMap('b'))
    await clock.runFor(minute)
    expect(changes).toEqual(['added a initially', 'added b'])
    expect(metrics.render()).toContain('because="garbled"} 1')
  })

  it('notices a watch that has gone silent, even one that ignores being ended', async () => {
    const { clock, api, open } = informed({ streams })
    const { informer } = open()
    await clock.settle()
    api.disturb('hang')
    api.put('configmaps', configMap('a'))
    await clock.runFor(5 * minute)
    expect(informer.get('default', 'a')).toBeDefined()
  })

  it('does not ask in a loop when watches end as fast as they begin', async () => {
    const { clock, api, open } = informed({ streams })
    open()
    await clock.settle()
    api.faults.push(({ query }) => {
      if (query?.watch !== 'true') return undefined
      return { status: 200, headers: {}, body: undefined, stream: (async function* () {})() }
    })
    api.disturb('end')
    await clock.settle()
    const before = api.requests.length
    await clock.runFor(10 * minute)
    expect(api.requests.length - before).toBeLessThan(200)
  })

  it('waits as long as the server asks for', async () => {
    const { clock, api, open } = informed({ streams })
    let refused = 0
    api.faults.push(() => {
      if (++refused > 1) return undefined
      const details = { retryAfterSeconds: 40 }
      const error = new StatusError('TooManyRequests', 'slow down', { details })
      return { status: 429, headers: {}, body: error.toStatus() }
    })
    const { informer } = open()
    await clock.runFor(39_000)
    expect(api.requests).toHaveLength(1)
    await clock.runFor(2000)
    expect(informer.synced).toBe(true)
  })

  it.each([
    ['HTML', '<html>login</html>'],
    ['a list without a version', { items: [] }],
    ['items that are not objects', { metadata: { resourceVersion: '1' }, items: [{ metadata: {} }] }],
  ])('reports %s as an error, not as an empty cluster', async (_case, body) => {
    const { clock, api, open } = informed({ streams })
    api.put('configmaps', configMap('a'))
    const { informer, changes } = open()
    await clock.settle()
    api.compact()
    api.faults.push(({ query }) => (query?.watch ? refusal() : { status: 200, headers: {}, body }))
    api.streams = false
    api.disturb('garble')
    await clock.runFor(10 * minute)
    expect(informer.lastError).toBeDefined()
    expect(changes).toEqual(['added a initially'])
    api.faults.length = 0
    await clock.runFor(minute)
    expect(informer.lastError).toBeUndefined()
  })
})

describe('Informer', () => {
  it('lists in pages of one revision, and starts over when that revision is gone', async () => {
    const { clock, api, open } = informed({ streams: false })
    for (let index = 0; index < 1200; index++) api.put('configmaps', configMap(`n${index}`))
    let pages = 0
    api.faults.push(({ query }) => {
      if (query?.continue && ++pages === 2) api.compact()
      if (query?.continue && pages === 2) {
        api.delete('configmaps', 'default', 'n0')
        const error = new StatusError('Expired', 'the continue token is too old')
        return { status: 410, headers: {}, body: error.toStatus() }
      }
      return undefined
    })
    const { informer, told } = open()
    await clock.runFor(minute)
    expect(informer.size).toBe(1199)
    expect(replayed(told).size).toBe(1199)
    expect(informer.lastError).toBeUndefined()
  })

  it.each([
    ['refuses it', false as const],
    ['takes it for an ordinary watch', 'ignore' as const],
  ])('lists in pages on a server that does not stream lists and %s', async (_, streams) => {
    const { clock, api, open } = informed()
    api.streams = streams
    api.put('configmaps', configMap('a'))
    const { informer, told } = open()
    await clock.runFor(2 * minute)
    expect(informer.synced).toBe(true)
    expect(informer.lastError).toBeUndefined()
    expect(replayed(told).size).toBe(1)
    const asked = api.requests.filter(({ query }) => query?.sendInitialEvents)
    expect(asked).toHaveLength(1)
  })

  it('sets the kind of each object and drops its managed fields', async () => {
    const { clock, api, open } = informed({ streams: false })
    api.put('configmaps', configMap('a'))
    const { informer } = open()
    await clock.settle()
    const object = informer.get('default', 'a')
    expect(object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { value: '' } })
    expect(object?.metadata).not.toHaveProperty('managedFields')
    expect(Object.isFrozen(object?.metadata.labels)).toBe(true)
  })

  it('keeps indexes in step with objects', async () => {
    const change = fc.record({ name: fc.constantFrom('a', 'b', 'c'), values: fc.array(fc.constantFrom('x', 'y', 'z')) })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (script) => {
        const words = (object: StoredObject) => ((object.data as { value: string }).value || '-').split(' ')
        const { clock, api, open } = informed({ options: { indexes: { words } } })
        const { informer } = open()
        for (const { name, values } of script) {
          if (values.length === 3) api.delete('configmaps', 'default', name)
          else api.put('configmaps', configMap(name, values.join(' ')))
        }
        await clock.settle()
        for (const value of ['x', 'y', 'z', '-']) {
          const expected = informer.list().filter((object) => words(object).includes(value))
          expect(new Set(informer.byIndex('words', value))).toEqual(new Set(expected))
        }
      }),
      { numRuns: 30 },
    )
  })

  it('refuses an index that was not declared, and survives one that throws', async () => {
    const indexes = {
      broken: () => {
        throw new Error('boom')
      },
    }
    const { clock, api, open } = informed({ options: { indexes } })
    api.put('configmaps', configMap('a'))
    const { informer } = open()
    await clock.settle()
    expect(informer.byIndex('broken', 'x')).toEqual([])
    expect(informer.size).toBe(1)
    expect(() => informer.byIndex('other', 'x')).toThrow('no index other')
  })

  it('watches once for many users, and ends with the last of them', async () => {
    const { clock, api, open } = informed()
    const one = open()
    const other = open()
    await clock.settle()
    expect(api.watches).toBe(1)
    one.informer.close()
    one.informer.close()
    api.put('configmaps', configMap('a'))
    await clock.settle()
    expect(one.changes).toEqual([])
    expect(other.changes).toEqual(['added a'])
    other.informer.close()
    await clock.settle()
    expect(api.watches).toBe(0)
    expect(clock.nextAt).toBeUndefined()
  })

  it('keeps different selections apart', async () => {
    const { clock, api, informers, client } = informed()
    api.put('configmaps', configMap('a', 'x'))
    api.put('configmaps', configMap('b', 'y', 'other'))
    const labelled = informers.open(client, configMaps, { labelSelector: 'value=x' })
    const placed = informers.open(client, configMaps, { namespace: 'other' })
    await clock.settle()
    expect(labelled.list().map(({ metadata }) => metadata.name)).toEqual(['a'])
    expect(placed.list().map(({ metadata }) => metadata.name)).toEqual(['b'])
    expect(placed.list('default')).toEqual([])
  })

  it('tells a late subscriber what is there, and no one twice', async () => {
    const { clock, api, open } = informed()
    api.put('configmaps', configMap('a'))
    open()
    await clock.settle()
    const late = open()
    expect(late.changes).toEqual(['added a initially'])
    api.put('configmaps', configMap('a', 'new'))
    await clock.settle()
    expect(late.changes).toEqual(['added a initially', 'modified a'])
  })

  it('does not let one handler harm another', async () => {
    const { clock, api, open, lines } = informed()
    const { informer } = open()
    informer.subscribe(() => {
      throw new Error('boom')
    })
    const { changes } = open()
    await clock.settle()
    api.put('configmaps', configMap('a'))
    await clock.settle()
    expect(changes).toEqual(['added a'])
    expect(lines.some(({ message }) => message === 'handler of a change failed')).toBe(true)
  })

  it('says when it has reached a version, be it by a bookmark', async () => {
    const { clock, api, open } = informed()
    const { informer } = open()
    await clock.settle()
    const reached: string[] = []
    api.put('secrets', configMap('elsewhere'))
    const version = api.version
    informer.onReached(version, () => reached.push(version))
    informer.onReached('999999', () => reached.push('never'))
    await clock.settle()
    expect(informer.hasReached(version)).toBe(false)
    api.bookmark()
    await clock.settle()
    expect(reached).toEqual([version])
    expect(informer.hasReached(version)).toBe(true)
  })

  it('lets go of those who wait for it to sync', async () => {
    const { clock, api, open } = informed()
    refuse(api, Number.POSITIVE_INFINITY)
    const { informer } = open()
    const control = new AbortController()
    const aborted = expect(informer.whenSynced(control.signal)).rejects.toThrow('enough')
    control.abort(new Error('enough'))
    await aborted
    const closed = expect(informer.whenSynced()).rejects.toThrow('closed')
    informer.close()
    await closed
    await clock.settle()
  })

  it('lists anew when asked to', async () => {
    const { clock, api, open, informers, metrics } = informed()
    open()
    await clock.settle()
    informers.relist('')
    await clock.runFor(1)
    expect(metrics.render()).toContain('because="asked"} 1')
    expect(api.watches).toBe(1)
  })
})

/** Answers this many requests with a refusal; the result ends it. */
function refuse(api: FakeApi, times: number): () => void {
  let left = times
  const fault = () => (left-- > 0 ? refusal() : undefined)
  api.faults.push(fault)
  return () => void api.faults.splice(api.faults.indexOf(fault), 1)
}

function refusal() {
  const error = new StatusError('ServiceUnavailable', 'not now')
  return { status: 503, headers: {}, body: error.toStatus() }
}
