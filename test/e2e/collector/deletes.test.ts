import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../apiserver/test-server.ts'
import { Client } from '../../../src/client/client.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'
import { configMaps, pods, replicationControllers } from '../../../src/kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../../src/kube/object.ts'
import { ignoring, StatusError } from '../../../src/kube/status-error.ts'
import { VirtualClock } from '../../../src/runtime/time/virtual-clock.ts'

const startAt = Date.parse('2026-01-05T08:00:00Z')
const container = { name: 'c', image: 'i' }
const drafts: Readonly<Record<string, Partial<KubeObject>>> = {
  ConfigMap: {},
  Pod: { spec: { nodeName: 'n', containers: [container] } },
  ReplicationController: {
    spec: {
      selector: { app: 'a' },
      template: { metadata: { labels: { app: 'a' } }, spec: { containers: [container] } },
    },
  },
}

describe('what a DELETE does to what is stored', () => {
  const clock = new VirtualClock(startAt)
  let server: TestServer
  let network: ReturnType<typeof networkTransport>
  let client: Client
  let count = 0
  beforeAll(async () => {
    server = await startTestServer({ clock })
    const { url } = await server.listen({ port: 0 })
    const { authority, tokens } = server.credentials
    const credentials = () => Promise.resolve({ token: tokens.tokenOf('system:admin') ?? '' })
    network = networkTransport({ server: url, ca: authority, namespace: 'default', credentials })
    client = new Client(network.transport)
  })
  afterAll(async () => {
    network.close()
    await server.close()
  })

  const make = (type: ResourceType, metadata: KubeObject['metadata'] = {}) =>
    client.create<StoredObject>(type, {
      apiVersion: 'v1',
      kind: type.kind,
      ...drafts[type.kind],
      metadata: { name: `o-${count++}`, namespace: 'default', ...metadata },
    })
  const placeOf = ({ metadata: { name } }: StoredObject) => ({ namespace: 'default', name })
  const now = (type: ResourceType, object: StoredObject) =>
    client.get<StoredObject>(type, placeOf(object)).catch(ignoring('NotFound'))
  /** Any options at all, also those our client does not know. */
  const erase = async (type: ResourceType, object: StoredObject, body: Record<string, unknown>) => {
    const path = `/api/v1/namespaces/default/${type.plural}/${object.metadata.name}`
    const headers = { 'content-type': 'application/json' }
    return (await client.request({ method: 'DELETE', path, headers, body })).body as StoredObject
  }

  const [none, orphan, foreground] = [[], ['orphan'], ['foregroundDeletion']] as const
  /** Finalizers before, then after Foreground, Background, Orphan and no word; undefined is gone. */
  const rows = [
    [configMaps, none, foreground, undefined, orphan, undefined],
    [configMaps, orphan, foreground, undefined, orphan, orphan],
    [configMaps, foreground, foreground, undefined, orphan, foreground],
    [replicationControllers, none, foreground, undefined, orphan, orphan],
    [replicationControllers, orphan, foreground, undefined, orphan, orphan],
    [replicationControllers, foreground, foreground, undefined, orphan, foreground],
  ] as const
  const policies = ['Foreground', 'Background', 'Orphan', undefined] as const

  it.each(
    rows.flatMap(([type, before, ...after]) =>
      policies.map((policy, index) => [type.kind, before, policy, after[index], type] as const),
    ),
  )('53: a %s with %j, deleted with %s, is left with %j', async (_, finalizers, propagationPolicy, expected, type) => {
    const object = await make(type, { finalizers })
    await erase(type, object, propagationPolicy ? { propagationPolicy } : {})
    expect((await now(type, object))?.metadata.finalizers).toEqual(expected)
  })

  it.each(
    rows.flatMap(([type, before, , gone, orphaned, silent]) =>
      ([true, false, undefined] as const).map((word, index) => {
        return [type.kind, before, word, [orphaned, gone, silent][index], type] as const
      }),
    ),
  )(
    '53: a %s with %j and orphanDependents %s is left with %j',
    async (_, finalizers, orphanDependents, expected, type) => {
      const object = await make(type, { finalizers })
      await erase(type, object, orphanDependents === undefined ? {} : { orphanDependents })
      expect((await now(type, object))?.metadata.finalizers).toEqual(expected)
    },
  )

  it('54: the mark is set to now, or to the end of the time that was first asked for, and never moves once it is past', async () => {
    const held = await make(configMaps, { finalizers: ['x.dev/held'] })
    const marked = await erase(configMaps, held, {})
    expect(marked.metadata.deletionTimestamp).toBe(at(clock.now()))
    const pod = await make(pods, { finalizers: ['x.dev/held'] })
    const askedAt = clock.now()
    const later = await erase(pods, pod, {})
    expect(later.metadata.deletionTimestamp).toBe(at(askedAt + 30_000))
    await clock.run(clock.now() + 10_000)
    const hurried = await erase(pods, pod, { gracePeriodSeconds: 0 })
    expect(hurried.metadata.deletionTimestamp).toBe(at(askedAt))
    await clock.run(clock.now() + 60_000)
    for (const object of [marked, hurried]) {
      const type = object.kind === 'Pod' ? pods : configMaps
      expect((await erase(type, object, {})).metadata.deletionTimestamp).toBe(object.metadata.deletionTimestamp)
    }
  })

  /** Seconds that were stored by a first delete, that a second one asks for, and that are stored then; undefined is gone. */
  it.each([
    [2, 2, 2],
    [2, 1, 1],
    [2, 0, undefined],
    [2, -1, 1],
    [1, 2, 1],
    [1, 1, 1],
    [1, 0, undefined],
    [1, -1, 1],
    [0, 1, undefined],
    [-1, 2, 1],
  ])('55: of %d s, then %d s to end, %s are left', async (first, second, expected) => {
    const pod = await make(pods)
    await erase(pods, pod, { gracePeriodSeconds: first })
    if (first !== 0) await erase(pods, pod, { gracePeriodSeconds: second })
    expect((await now(pods, pod))?.metadata.deletionGracePeriodSeconds).toBe(expected)
  })

  it.each([
    ['a ConfigMap, which needs no time to end', configMaps, 0],
    ['a Pod whose time is over', pods, 0],
    ['a Pod that still has time', pods, 30],
  ])('56: an update that takes the last finalizer off %s', async (_, type, gracePeriodSeconds) => {
    const object = await make(type, { finalizers: ['x.dev/held'] })
    await erase(type, object, { gracePeriodSeconds })
    const found = (await now(type, object)) as StoredObject
    const { finalizers: _gone, ...metadata } = found.metadata
    const answer = await client.update<StoredObject>(type, { ...found, metadata })
    expect(answer.metadata.uid).toBe(object.metadata.uid)
    expect((await now(type, object)) !== undefined).toBe(gracePeriodSeconds > 0)
  })

  it('57: a version meant by a delete with time to end is the one before its own mark', async () => {
    const pod = await make(pods)
    const { resourceVersion } = pod.metadata
    const marked = await erase(pods, pod, { preconditions: { resourceVersion } })
    expect(Number(marked.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion))
    const old = erase(pods, pod, { preconditions: { resourceVersion }, gracePeriodSeconds: 0 })
    await expect(old).rejects.toMatchObject({ reason: 'Conflict' })
    await erase(pods, pod, {
      preconditions: { resourceVersion: marked.metadata.resourceVersion },
      gracePeriodSeconds: 0,
    })
    expect(await now(pods, pod)).toBeUndefined()
  })

  it('58: a collection goes item by item, each in the manner asked for, and every watch hears of each', async () => {
    const labels = { go: 'yes' }
    const some = [{}, { finalizers: ['x.dev/held'] }, { finalizers: ['orphan'] }]
    for (const metadata of some) await make(configMaps, { ...metadata, labels })
    const stays = await make(configMaps)
    const { metadata } = await client.list(configMaps, { namespace: 'default', limit: 1 })
    const heard: string[] = []
    const stop = new AbortController()
    const { resourceVersion } = metadata
    const watching = (async () => {
      const options = { namespace: 'default', labelSelector: 'go=yes', resourceVersion, signal: stop.signal }
      for await (const { type } of client.watch<StoredObject>(configMaps, options)) heard.push(type)
    })().catch(() => {})
    await client.request({
      method: 'DELETE',
      path: '/api/v1/namespaces/default/configmaps',
      query: { labelSelector: 'go=yes' },
      headers: { 'content-type': 'application/json' },
      body: { propagationPolicy: 'Foreground' },
    })
    await expect.poll(() => heard).toHaveLength(3)
    stop.abort()
    await watching
    const { items } = await client.list(configMaps, { namespace: 'default', labelSelector: 'go=yes' })
    expect(items.map((item) => item.metadata.finalizers?.join(' ') ?? '').toSorted()).toEqual([
      'foregroundDeletion',
      'foregroundDeletion',
      'x.dev/held foregroundDeletion',
    ])
    expect(await now(configMaps, stays)).toBeDefined()
  })

  it('58: a collection tolerates what goes meanwhile', async () => {
    const labels = { race: 'yes' }
    const all = await Promise.all(Array.from({ length: 50 }, () => make(configMaps, { labels })))
    const erased = client.request({
      method: 'DELETE',
      path: '/api/v1/namespaces/default/configmaps',
      query: { labelSelector: 'race=yes' },
    })
    const race = all
      .toReversed()
      .map((object) => client.deleteObject(configMaps, placeOf(object)).catch(ignoring('NotFound')))
    expect((await erased).status).toBe(200)
    await Promise.all(race)
    expect((await client.list(configMaps, { labelSelector: 'race=yes' })).items).toEqual([])
  })

  const kinds: readonly (readonly [string, string, Partial<KubeObject>])[] = [
    ['v1', 'ConfigMap', {}],
    ['v1', 'Secret', {}],
    ['v1', 'ServiceAccount', {}],
    ['v1', 'ReplicationController', drafts['ReplicationController'] ?? {}],
    [
      'apps/v1',
      'Deployment',
      { spec: { ...(drafts['ReplicationController']?.spec as object), selector: { matchLabels: { app: 'a' } } } },
    ],
    ['rbac.authorization.k8s.io/v1', 'Role', { rules: [] }],
    ['rbac.authorization.k8s.io/v1', 'ClusterRole', { rules: [] }],
  ]

  it.each(kinds)(
    '19: %s %s is marked once, changed only downwards, and goes with its last finalizer',
    async (apiVersion, kind, draft) => {
      const type = await client.discovery.typeOf({ apiVersion, kind })
      if (!type) throw new Error(`${kind} is not served`)
      const name = `o-${count++}`
      const metadata = { name, ...(type.namespaced ? { namespace: 'default' } : {}), finalizers: ['x.dev/held'] }
      const place = { name, ...(type.namespaced ? { namespace: 'default' } : {}) }
      await client.create(type, { ...draft, apiVersion, kind, metadata })
      const stranger = new Client(server.transportAs({ name: 'jo', groups: ['system:authenticated'] }))
      const refusals = [
        [stranger.deleteObject(type, place), 403],
        [client.deleteObject(type, { ...place, name: 'absent' }), 404],
      ] as const
      for (const [attempt, code] of refusals) await expect(attempt).rejects.toMatchObject({ code })
      const first = (await client.deleteObject(type, place, { propagationPolicy: 'Foreground' })) as StoredObject
      expect(first.metadata).toMatchObject({
        deletionTimestamp: at(clock.now()),
        finalizers: ['x.dev/held', 'foregroundDeletion'],
      })
      const second = (await client.deleteObject(type, place)) as StoredObject
      expect(second.metadata).toEqual(first.metadata)
      const found = await client.get<StoredObject>(type, place)
      const more = [...(found.metadata.finalizers ?? []), 'x.dev/more']
      const attempt = client.update(type, { ...found, metadata: { ...found.metadata, finalizers: more } })
      await expect(attempt).rejects.toMatchObject({
        code: 422,
        message: expect.stringContaining('no new finalizers can be added'),
      })
      const other = client.update(type, { ...found, metadata: { ...found.metadata, uid: 'other' } })
      await expect(other).rejects.toBeInstanceOf(StatusError)
      const { deletionTimestamp: _mark, ...unmarked } = found.metadata
      expect(
        (await client.update<StoredObject>(type, { ...found, metadata: unmarked })).metadata.deletionTimestamp,
      ).toBe(first.metadata.deletionTimestamp)
      await client.patch(type, place, { type: 'merge', body: { metadata: { finalizers: [] } } })
      await expect(client.get(type, place)).rejects.toMatchObject({ code: 404 })
    },
  )
})

function at(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
