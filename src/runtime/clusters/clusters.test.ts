import { configMaps } from '../../kube/core-types.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { sleep } from '../time/clock.ts'
import { Clusters } from './clusters.ts'
import { Informers } from '../cache/informers.ts'
import { silentLogger } from '../observability/log.ts'
import { seededRandom } from '../time/random.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const minute = 60_000
const name = 'flux.leaf'

/** A home cluster and leaves by the text of their kubeconfigs. */
function registered() {
  const clock = new VirtualClock(1_000_000)
  const home = new FakeApi()
  const leaves: Record<string, FakeApi> = { one: new FakeApi(), two: new FakeApi() }
  const informers = new Informers({ clock, random: seededRandom(1) }, { freeze: true })
  const closed: Client[] = []
  const clusters = new Clusters({
    home: new Client(home.transport),
    informers,
    connect: (text, cluster) => {
      const leaf = leaves[text]
      if (!leaf) throw new Error('kubeconfig: no such cluster')
      return new Client(leaf.transport, { cluster })
    },
    disconnect: (client) => closed.push(client),
    clock,
    log: silentLogger,
    random: seededRandom(1),
  })
  const cluster = (spec: unknown, status?: unknown) =>
    home.put('gitopsclusters', {
      apiVersion: 'gitops.weave.works/v1alpha1',
      kind: 'GitopsCluster',
      metadata: { namespace: 'flux', name: 'leaf' },
      spec,
      status,
    })
  const secret = (text: string, { secretName = 'leaf-config', key = 'kubeconfig' } = {}) =>
    home.put('secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'flux', name: secretName },
      data: { [key]: Buffer.from(text).toString('base64') },
    })
  return { clock, home, leaves, clusters, cluster, secret, closed, informers }
}

const bySecret = { secretRef: { name: 'leaf-config' } }

function configMap(mapName: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'a', name: mapName } }
}

describe('Clusters', () => {
  it('is home under the empty name', async () => {
    const { clock, home, clusters } = registered()
    home.put('configmaps', configMap('x'))
    const handle = clusters.client('')
    const informer = handle.open(configMaps)
    await clock.settle()
    expect(handle.status).toEqual({ state: 'reachable' })
    expect(informer.size).toBe(1)
    handle.close()
    await clock.settle()
    expect(home.watches).toBe(0)
  })

  it.each([
    ['a secretRef', bySecret, {}],
    ['a secretRef to a Secret with another key', bySecret, { key: 'value.yaml' }],
    [
      'a capiClusterRef, which wins',
      { ...bySecret, capiClusterRef: { name: 'capi' } },
      { secretName: 'capi-kubeconfig', key: 'value' },
    ],
  ])('connects by %s', async (_, spec, where) => {
    const { clock, leaves, clusters, cluster, secret } = registered()
    cluster(spec)
    secret('one', where)
    leaves.one?.put('configmaps', configMap('x'))
    const handle = clusters.client(name)
    const informer = handle.open(configMaps)
    await clock.runFor(100)
    expect(handle.status).toEqual({ state: 'reachable' })
    expect(informer.synced).toBe(true)
    expect(informer.get('a', 'x')).toBeDefined()
    expect(informer.cluster).toBe(name)
    expect(handle.lastSeenAt).toBeGreaterThanOrEqual(1_000_000)
  })

  it('is asked every five seconds or so, so that one which has gone is soon known to be unreachable', async () => {
    const { clock, leaves, clusters, cluster, secret } = registered()
    cluster(bySecret)
    secret('one')
    const handle = clusters.client(name)
    await clock.runFor(100)
    expect(handle.status).toEqual({ state: 'reachable' })
    leaves.one!.faults.push(() => Promise.reject(new Error('gone')))
    await clock.runFor(6100)
    expect(handle.status).toMatchObject({ state: 'unreachable' })
  })

  it.each([
    ['there is no GitopsCluster', () => {}, { state: 'not-found' }],
    [
      'it names no Secret',
      ({ cluster }: ReturnType<typeof registered>) => cluster({}),
      { state: 'no-credentials', because: expect.stringContaining('neither') },
    ],
    [
      'its Secret is missing',
      ({ cluster }: ReturnType<typeof registered>) => cluster(bySecret),
      { state: 'no-credentials', because: expect.stringContaining('does not exist') },
    ],
    [
      'its Secret holds no kubeconfig',
      ({ cluster, secret }: ReturnType<typeof registered>) => {
        cluster(bySecret)
        secret('one', { key: 'other' })
      },
      { state: 'no-credentials', because: expect.stringContaining('holds no kubeconfig') },
    ],
    [
      'its kubeconfig cannot be read',
      ({ cluster, secret }: ReturnType<typeof registered>) => {
        cluster(bySecret)
        secret('rubbish')
      },
      { state: 'no-credentials', because: expect.stringContaining('no such cluster') },
    ],
    [
      'it says that it is not ready',
      ({ cluster, secret }: ReturnType<typeof registered>) => {
        secret('one')
        cluster(bySecret, { conditions: [{ type: 'Ready', status: 'False', reason: 'Waiting', message: 'for CAPI' }] })
      },
      { state: 'not-ready', because: 'for CAPI' },
    ],
  ])('says so when %s', async (_, arrange, expected) => {
    const world = registered()
    arrange(world)
    const handle = world.clusters.client(name)
    await world.clock.runFor(100)
    expect(handle.status).toEqual(expected)
  })

  it('moves to new credentials, informers included, and closes the old connection', async () => {
    const { clock, leaves, clusters, cluster, secret, closed } = registered()
    cluster(bySecret)
    secret('one')
    leaves.one?.put('configmaps', configMap('old'))
    leaves.two?.put('configmaps', configMap('new'))
    const handle = clusters.client(name)
    const informer = handle.open(configMaps)
    await clock.runFor(100)
    const former = handle.client
    secret('two')
    await clock.runFor(100)
    expect(handle.status).toEqual({ state: 'reachable' })
    expect(closed).toEqual([former])
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['new'])
    expect(leaves.one?.watches).toBe(0)
  })

  it('does not reconnect for a Secret that changed without its kubeconfig changing', async () => {
    const { clock, clusters, cluster, secret, closed } = registered()
    cluster(bySecret)
    secret('one')
    const handle = clusters.client(name)
    await clock.runFor(100)
    secret('one')
    await clock.runFor(100)
    expect(closed).toEqual([])
    expect(handle.status).toEqual({ state: 'reachable' })
  })

  it('calls a cluster that does not answer unreachable and keeps what was known of it', async () => {
    const { clock, leaves, clusters, cluster, secret } = registered()
    cluster(bySecret)
    secret('one')
    leaves.one?.put('configmaps', configMap('x'))
    const handle = clusters.client(name)
    const informer = handle.open(configMaps)
    const states: string[] = []
    handle.onChange(() => states.push(handle.status.state))
    await clock.runFor(100)
    leaves.one?.faults.push(() => Promise.reject(new TransportError('connect ECONNREFUSED')))
    leaves.one?.disturb('cut')
    await clock.runFor(2 * minute)
    expect(handle.status).toEqual({ state: 'unreachable', because: 'connect ECONNREFUSED' })
    expect(informer.size).toBe(1)
    expect(informer.lastError).toBeDefined()
    leaves.one?.faults.splice(0)
    await clock.runFor(2 * minute)
    expect(handle.status).toEqual({ state: 'reachable' })
    expect(informer.lastError).toBeUndefined()
    expect(states).toContain('unreachable')
  })

  it('gives a cluster that never answers ten seconds, not for ever', async () => {
    const { clock, leaves, clusters, cluster, secret } = registered()
    cluster(bySecret)
    secret('one')
    leaves.one?.faults.push(() => sleep(clock, 60 * minute).then(() => ({ status: 200, headers: {}, body: {} })))
    const handle = clusters.client(name)
    await clock.runFor(30_000)
    expect(handle.status.state).toBe('unreachable')
  })

  it('takes a refusal for an answer, but not worthless credentials', async () => {
    const { clock, leaves, clusters, cluster, secret } = registered()
    cluster(bySecret)
    secret('one')
    let status = 403
    leaves.one?.faults.push(() => ({ status, headers: {}, body: 'no' }))
    const handle = clusters.client(name)
    await clock.runFor(100)
    expect(handle.status.state).toBe('reachable')
    status = 401
    await clock.runFor(minute)
    expect(handle.status.state).toBe('no-credentials')
  })

  it('lets go of a cluster a while after its last use', async () => {
    const { clock, home, leaves, clusters, cluster, secret, closed } = registered()
    cluster(bySecret)
    secret('one')
    const one = clusters.client(name)
    const other = clusters.client(name)
    one.open(configMaps)
    await clock.runFor(100)
    expect(leaves.one?.watches).toBe(1)
    one.close()
    one.close()
    await clock.runFor(2 * minute)
    expect(other.status.state).toBe('reachable')
    expect(leaves.one?.watches).toBe(0)
    other.close()
    await clock.runFor(30_000)
    expect(closed).toEqual([])
    await clock.runFor(minute)
    expect(closed).toHaveLength(1)
    expect(home.watches).toBe(0)
    expect(clock.nextAt).toBeUndefined()
  })

  it('ends up in the state that GitopsCluster and Secret call for, whatever happened before', async () => {
    const step = fc.constantFrom('secret one', 'secret two', 'secret none', 'cluster', 'no cluster', 'pass', 'cut')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (script) => {
        const { clock, home, clusters, cluster, secret } = registered()
        const handle = clusters.client(name)
        for (const what of script) {
          if (what === 'cluster') cluster(bySecret)
          else if (what === 'no cluster') home.delete('gitopsclusters', 'flux', 'leaf')
          else if (what === 'secret none') home.delete('secrets', 'flux', 'leaf-config')
          else if (what === 'cut') home.disturb('cut')
          else if (what === 'pass') await clock.runFor(1000)
          else secret(what.slice(7))
        }
        await clock.runFor(10 * minute)
        const hasCluster = home.get('gitopsclusters', 'flux', 'leaf')
        const hasSecret = home.get('secrets', 'flux', 'leaf-config')
        expect(handle.status.state).toBe(!hasCluster ? 'not-found' : hasSecret ? 'reachable' : 'no-credentials')
        expect(handle.client === undefined).toBe(handle.status.state !== 'reachable')
        clusters.close()
      }),
      { numRuns: 30 },
    )
  })
})
