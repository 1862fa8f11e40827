import { deployments } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { Client } from '../../../client/client.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { systemClock } from '../../../runtime/time/clock.ts'
import { Actions } from './act.ts'

const namespace = 'default'
const target = { type: deployments, ref: { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'web' } }
let server: TestServer
let client: Client
let actions: Actions

beforeEach(async () => {
  server = await startTestServer({ clock: systemClock as never })
  client = new Client(server.transport)
  actions = new Actions(client)
})

afterEach(() => server.close())

const scaled = (replicas: number) => ({ type: 'merge', body: { spec: { replicas } } }) as const
const replicasNow = async () =>
  ((await client.get(deployments, { namespace, name: 'web' })).spec as { replicas: number }).replicas

async function deploy(replicas: number, name = 'web'): Promise<string> {
  const { metadata } = await client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
    },
  })
  return metadata.resourceVersion
}

describe('waking', () => {
  it('writes once: the second to come sees that it has been done (C61)', async () => {
    const seen = await deploy(0)
    const results = await Promise.all([
      actions.wake(target, 3, seen),
      actions.wake(target, 2, seen),
      actions.wake(target, 1, seen),
    ])
    expect(results.filter((version) => version !== undefined)).toHaveLength(1)
    expect(await replicasNow()).toBe(3)
  })

  it('leaves a count that someone else has set meanwhile', async () => {
    const seen = await deploy(0)
    await client.patch(deployments, target.ref, scaled(7))
    expect(await actions.wake(target, 1, seen)).toBeUndefined()
    expect(await replicasNow()).toBe(7)
  })

  it('fails for what is not there (C18)', async () => {
    await expect(actions.wake(target, 1, '1')).rejects.toMatchObject({ reason: 'NotFound' })
  })

  it('goes through although something else about it changed (C18)', async () => {
    const seen = await deploy(0)
    await client.patch(deployments, target.ref, { type: 'merge', body: { metadata: { labels: { other: 'thing' } } } })
    expect(await actions.wake(target, 2, seen)).toBeDefined()
    expect(await replicasNow()).toBe(2)
  })
})

describe('putting to sleep', () => {
  const sleep = (resourceVersion: string) =>
    actions.sleep(target, { replicas: 0, former: 2, lastUsedAt: 0, resourceVersion, now: 0 })

  it('notes how many there were in the same write', async () => {
    await sleep(await deploy(2))
    const { metadata } = await client.get(deployments, { namespace, name: 'web' })
    expect(await replicasNow()).toBe(0)
    expect(metadata.annotations).toMatchObject({
      'sojourn.dev/former-replicas': '2',
      'proxless/last-used': '1970-01-01T00:00:00Z',
    })
  })

  it('touches no other workload (C19)', async () => {
    await deploy(4, 'other')
    await sleep(await deploy(2))
    const other = await client.get(deployments, { namespace, name: 'other' })
    expect(other).toMatchObject({ spec: { replicas: 4 }, metadata: { generation: 1 } })
    expect(other.metadata.annotations).toBeUndefined()
  })

  it('touches nothing that has changed since it was judged', async () => {
    const seen = await deploy(2)
    await client.patch(deployments, target.ref, scaled(5))
    await expect(sleep(seen)).rejects.toMatchObject({ reason: 'Conflict' })
    expect(await replicasNow()).toBe(5)
  })
})

describe('writing down the last use', () => {
  const read = () => client.get<StoredObject>(deployments, { namespace, name: 'web' })
  const lastUsed = async () => (await read()).metadata.annotations?.['proxless/last-used']
  const used = (seconds: number, seen: StoredObject) => actions.mark(target, { lastUsed: { at: seconds * 1000, seen } })

  it('lets the newest of two writers win, whichever of them comes last', async () => {
    await deploy(1)
    const seen = await read()
    expect(await used(90, seen)).toBeDefined()
    // It read before the other wrote.
    expect(await used(30, seen)).toBeUndefined()
    expect(await lastUsed()).toBe('1970-01-01T00:01:30Z')
    await used(120, seen)
    expect(await lastUsed()).toBe('1970-01-01T00:02:00Z')
  })

  it('lets the newest of many at once win, and none keeps the mark off', async () => {
    await deploy(1)
    const seen = await read()
    const write = (seconds: number) => actions.mark(target, { onDemand: true, lastUsed: { at: seconds * 1000, seen } })
    await Promise.all([3, 4, 1, 2].map(write))
    expect(await lastUsed()).toBe('1970-01-01T00:00:04Z')
    expect((await read()).metadata.labels).toEqual({ proxless: 'true' })
  })

  it('says nothing of what was made anew under the same name', async () => {
    await deploy(1)
    const seen = await read()
    await client.deleteObject(deployments, { namespace, name: 'web' })
    expect(await used(30, seen)).toBeUndefined()
    await deploy(1)
    expect(await used(30, seen)).toBeUndefined()
    expect(await lastUsed()).toBeUndefined()
  })
})
