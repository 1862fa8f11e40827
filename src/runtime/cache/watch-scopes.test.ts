import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { createLogger } from '../observability/log.ts'
import { Metrics } from '../observability/metrics.ts'
import { VirtualClock } from '../time/virtual-clock.ts'
import { Informers } from './informers.ts'
import { WatchScopes } from './watch-scopes.ts'

const things: ResourceType = { group: 'x.dev', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true }
const others: ResourceType = { ...things, kind: 'Other', plural: 'others' }

/** A cluster that grants rights by namespace; '*' is all of them. */
function startCluster(granted: Record<string, readonly string[]>, named?: readonly string[]) {
  const clock = new VirtualClock(1_000_000)
  const api = new FakeApi()
  const metrics = new Metrics()
  const lines: string[] = []
  const log = createLogger({ clock, write: (line) => lines.push(line) })
  const refused: string[] = []
  const rules = (namespace: string) =>
    [...(granted['*'] ?? []), ...(granted[namespace] ?? [])].map((resource) => ({
      verbs: ['get', 'list', 'watch'],
      apiGroups: ['x.dev', ''],
      resources: [resource],
    }))
  const outage = { isOn: false }
  const client = new Client((request) => {
    const { path, body } = request
    if (outage.isOn) return Promise.reject(new Error('connection refused'))
    const { spec = {} } = (body ?? {}) as { spec?: Record<string, unknown> }
    const answer = (status: object) => Promise.resolve({ status: 201, headers: {}, body: { status } })
    if (path.endsWith('/selfsubjectrulesreviews'))
      return answer({ resourceRules: rules(String(spec['namespace'])), incomplete: true })
    if (path.endsWith('/selfsubjectaccessreviews')) {
      const { resource } = spec['resourceAttributes'] as { resource: string }
      return answer({ allowed: granted['*']?.includes(resource) ?? false })
    }
    const [, namespace = '*', resource = ''] = /(?:namespaces\/([^/]+)\/)?([a-z]+)$/.exec(path) ?? []
    const isGranted = granted['*']?.includes(resource) || granted[namespace]?.includes(resource)
    if (isGranted) return api.transport(request)
    refused.push(path)
    const status = new StatusError('Forbidden', `${path} is forbidden`).toStatus()
    return Promise.resolve({ status: 403, headers: {}, body: status })
  })
  const informers = new Informers({ clock, log, metrics }, { scopes: new WatchScopes({ clock, log, metrics }, named) })
  return { clock, api, client, informers, refused, lines, metrics, granted, outage }
}

const thing = (namespace: string, name: string) =>
  ({ apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { namespace, name } }) as StoredObject

describe('WatchScopes', () => {
  it('asks once, watches only where that is granted, and says so in one line', async () => {
    const { clock, api, client, informers, refused, lines, metrics } = startCluster({ a: ['things'] }, ['a', 'b'])
    for (const namespace of ['a', 'b']) api.put('things', thing(namespace, 'one'))
    const informer = informers.open(client, things)
    const nowhere = informers.open(client, others)
    await clock.runFor(3_600_000)
    expect(informer.list().map(({ metadata }) => metadata.namespace)).toEqual(['a'])
    expect(refused).toEqual([])
    expect([informer.synced, nowhere.synced]).toEqual([true, false])
    expect(lines.filter((line) => line.includes('not watched'))).toHaveLength(1)
    expect(lines.join('\n')).not.toContain('"level":"error"')
    expect(metrics.render()).toContain('sojourn_kinds_not_watched 2')
    expect(metrics.render()).toContain('sojourn_cache_trouble{cluster="",kind="Other.x.dev"} 0')
    informers.close()
  })

  it('is current in granted namespaces only: absence elsewhere proves nothing', async () => {
    const { clock, client, informers } = startCluster({ a: ['things'] }, ['a'])
    const informer = informers.open(client, things)
    await clock.runFor(10_000)
    expect(informer.errorIn('a')).toBeUndefined()
    expect(informer.errorIn('b')).toMatchObject({ reason: 'Forbidden' })
    expect(informer.lastError).toMatchObject({ reason: 'Forbidden' })
    informers.close()
  })

  it('finds the namespaces by reviews where it may list them, and follows changes in each', async () => {
    const { clock, api, client, informers } = startCluster({ '*': ['namespaces'], a: ['things'], c: ['things'] })
    for (const name of ['a', 'b', 'c'])
      api.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const informer = informers.open(client, things)
    await clock.runFor(10_000)
    api.put('things', thing('a', 'one'))
    api.put('things', thing('b', 'hidden'))
    api.put('things', thing('c', 'two'))
    await clock.runFor(1000)
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['one', 'two'])
    informers.relist('')
    await clock.runFor(10_000)
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['one', 'two'])
    informers.close()
  })

  it.each([0, 30_000])('asks for nothing that is refused after an outage %i ms after the start', async (after) => {
    const { clock, client, informers, refused, outage } = startCluster({ a: ['things'] }, ['a'])
    outage.isOn = after === 0
    const informer = informers.open(client, things)
    await clock.runFor(after)
    outage.isOn = true
    await clock.runFor(150_000)
    outage.isOn = false
    await clock.runFor(150_000)
    expect(informer.errorIn('a')).toBeUndefined()
    refused.length = 0
    await clock.runFor(600_000)
    expect(refused).toEqual([])
    informers.close()
  })

  it.each([1000, 30_000, 150_000])('watches more within a minute of a grant %i ms after the start', async (after) => {
    const { clock, api, client, informers, granted, refused } = startCluster({ a: ['things'] }, ['a', 'b'])
    api.put('things', thing('b', 'later'))
    const informer = informers.open(client, things)
    await clock.runFor(after)
    expect(informer.list()).toEqual([])
    granted['b'] = ['things']
    // Kinds that are followed later and refused do not put it off.
    for (let index = 0; index < 3; index++) {
      informers.open(client, { ...others, plural: `others${index}` })
      await clock.runFor(21_000)
    }
    expect(informer.list()).toHaveLength(1)
    granted['*'] = ['things']
    await clock.runFor(130_000)
    expect([informer.lastError, informer.synced, refused]).toEqual([undefined, true, []])
    informers.close()
  })
})
