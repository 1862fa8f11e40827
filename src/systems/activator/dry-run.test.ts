import { services } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { eventually, roundTrip } from '../../../test/activator/proxy.ts'
import { singleReplica } from './replicas/peers.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Transport } from '../../kube/transport.ts'

const namespace = 'default'
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport)
})

afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const ask = (port: number, host: string) =>
  roundTrip(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
const replicasOf = async (name: string) => ((await cluster.deployment(name)).spec as { replicas: number }).replicas
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('an activator in a dry run', () => {
  it('decides and scales nothing, and writes no last use down when it stops', async () => {
    await using it = await startReplica(server.transport, { clock, dryRun: true })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1' }, 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    const at = clock.now()
    await eventually(() => clock.now() > at + 5000)
    expect(await replicasOf('web')).toBe(1)
    await it.stop()
    const { labels, annotations } = (await cluster.deployment('web')).metadata
    expect([labels, annotations]).toEqual([undefined, undefined])
  })

  it('takes neither label nor companion away', async () => {
    const peers = singleReplica(['10.9.0.1'])
    await using before = await startReplica(server.transport, { clock, peers, companionPort: 7080 })
    await cluster.addApp('web', {}, 1)
    const isMarked = async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === 'true'
    const conditions = async () =>
      ((await cluster.service('web')).status as { conditions?: unknown[] } | undefined)?.conditions ?? []
    const companion = () => cluster.service('web-proxless').catch(ignoring('NotFound'))
    await until(async () => (await isMarked()) && (await conditions()).length > 0 && (await companion()) !== undefined)
    await before.stop()

    const writes: string[] = []
    const recording: Transport = (request) => {
      if (request.method !== 'GET' && !request.path.endsWith('/status'))
        writes.push(`${request.method} ${request.path}`)
      return server.transport(request)
    }
    await using it = await startReplica(recording, { clock, peers, companionPort: 7080, dryRun: true })
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    const at = clock.now()
    await eventually(() => clock.now() > at + 2000)
    const annotations = { 'proxless/deployment': null, 'proxless/domains': null }
    await cluster.client.patch(
      services,
      { namespace, name: 'web' },
      { type: 'merge', body: { metadata: { annotations } } },
    )
    // Its word is taken back once it is seen to be none of ours any more.
    await until(async () => (await conditions()).length === 0)
    const goneAt = clock.now()
    await eventually(() => clock.now() > goneAt + 2000)
    expect(await isMarked()).toBe(true)
    await it.stop()
    expect(writes).toEqual([])
  })
})
