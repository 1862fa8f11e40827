import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fastClock, startReplica, type Replica } from '../../../test/activator/cluster.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import { findCondition, type Condition } from '../../kube/conditions.ts'
import { configMaps, namespaces, services } from '../../kube/core-types.ts'

let server: TestServer
let client: Client
let replica: Replica
let clock: ReturnType<typeof fastClock>

async function start(times: number): Promise<void> {
  clock = fastClock(times)
  server = await startTestServer({ clock: clock as never })
  client = new Client(server.transport)
  for (const name of [sojournNamespace, 'a', 'b'])
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  replica = await startReplica(server.transport, { clock })
}
async function stop(): Promise<void> {
  await replica.stop()
  await server.close()
}
beforeEach(() => start(20))
afterEach(stop)

const until = async <T>(read: () => Promise<T | undefined | false>): Promise<T> => {
  for (;;) {
    const found = await read()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
const service = (namespace: string, domains?: string) =>
  client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace, annotations: domains ? annotationsFor(domains) : {} },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
const annotationsFor = (domains: string) => ({ 'proxless/deployment': 'web', 'proxless/domains': domains })
const annotate = (namespace: string, domains: string) =>
  client.patch(
    services,
    { namespace, name: 'web' },
    { type: 'merge', body: { metadata: { annotations: annotationsFor(domains) } } },
  )
const condition = async (namespace: string, type: string) => {
  const { status } = await client.get(services, { namespace, name: 'web' })
  return findCondition((status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [], type)
}
const stored = async (host: string) => {
  const { items } = await client.list(configMaps, { namespace: sojournNamespace })
  return items
    .flatMap(
      ({ data }) => JSON.parse((data as Record<string, string>)['claims'] ?? '[]') as [string, { namespace: string }][],
    )
    .find(([each]) => each === host)?.[1].namespace
}
const isLost = (namespace: string) =>
  until(async () => {
    const said = await condition(namespace, 'sojourn.dev/OnDemand')
    return said?.message.includes('belongs to another namespace') && said
  })

describe('a domain belongs to the first claim', () => {
  it('76: not to an older Service that is annotated later, also after a restart; both are told', async () => {
    await service('a')
    await new Promise((resolve) => setTimeout(resolve, 100))
    await service('b', 'shop.test')
    await until(async () => (await stored('shop.test')) === 'b')
    await annotate('a', 'Shop.test.')
    const said = await isLost('a')
    expect(said.message).not.toContain('b/web')
    expect(await until(() => condition('a', 'sojourn.dev/DomainConflict'))).toMatchObject({ status: 'True' })
    const kept = await until(() => condition('b', 'sojourn.dev/DomainConflict'))
    expect(kept.message).toBe('another Service also asks for shop.test, which stays here')
    await replica.stop()
    replica = await startReplica(server.transport, { clock })
    await until(async () => replica.activator.ready)
    expect(await stored('shop.test')).toBe('b')
    expect((await isLost('a')).message).toContain('shop.test')
  })

  it('80: and stays with its namespace for a while after its Service is deleted', async () => {
    await stop()
    await start(200)
    await service('b', 'shop.test')
    await until(async () => (await stored('shop.test')) === 'b')
    await client.deleteObject(services, { namespace: 'b', name: 'web' })
    await service('a', 'shop.test')
    await isLost('a')
    expect(await stored('shop.test')).toBe('b')
    // Ten minutes of a clock that runs two hundred times as fast.
    await until(async () => (await stored('shop.test')) === 'a')
    expect(await condition('a', 'sojourn.dev/DomainConflict')).toBeUndefined()
  }, 60_000)

  it('goes to the namespace for which an administrator reserves it', async () => {
    await service('b', 'shop.test')
    await until(async () => (await stored('shop.test')) === 'b')
    await service('a', 'shop.test')
    await isLost('a')
    const body = { metadata: { annotations: { 'sojourn.dev/domains': 'SHOP.test' } } }
    await client.patch(namespaces, { name: 'a' }, { type: 'merge', body })
    await isLost('b')
    await until(async () => (await stored('shop.test')) === 'a')
  })
})
