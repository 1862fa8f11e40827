import { endpointSlices, secrets, services } from '../../kube/core-types.ts'
import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { certificateFor, eventually, rawClient, roundTrip } from '../../../test/activator/proxy.ts'

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
const known = (host: string, port: number) => async () => !(await ask(port, host)).includes('404')
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

const exists = (name: string) =>
  cluster.service(name).then(
    () => true,
    () => false,
  )

interface StoredSlice extends StoredObject {
  readonly endpoints: unknown
  readonly ports: unknown
}

describe('the Services of an activator', () => {
  it('has nothing to do with a Service that is not annotated (C20)', async () => {
    await using it = await startReplica(server.transport, { clock, companionPort: 7080 })
    const metadata = { name: 'plain', namespace, annotations: { 'proxless/domains': 'plain.test' } }
    await cluster.client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ port: 80 }] },
    })
    await cluster.addApp('web')
    await until(() => exists('web-proxless'))
    expect(it.activator.rows()).toHaveLength(1)
    for (const host of ['plain.test', 'plain.default']) expect(await ask(it.port, host)).toContain('404')
    expect(await exists('plain-proxless')).toBe(false)
  })

  it.each([
    [
      'its annotation is removed (C22)',
      () =>
        cluster.client.patch(
          services,
          { namespace, name: 'web' },
          { type: 'merge', body: { metadata: { annotations: { 'proxless/deployment': null } } } },
        ),
    ],
    ['it is deleted (C23)', () => cluster.client.deleteObject(services, { namespace, name: 'web' })],
  ])('answers 404 for a Service and takes companion and label away when %s', async (_, end) => {
    await using it = await startReplica(server.transport, { clock, companionPort: 7080 })
    await cluster.addApp('web')
    await eventually(() => it.activator.rows().length === 1)
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === 'true')
    await until(() => exists('web-proxless'))
    await end()
    await eventually(() => it.activator.rows().length === 0)
    expect(await ask(it.port, 'web.test')).toContain('404')
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === undefined)
    await until(async () => !(await exists('web-proxless')))
  })

  it('goes on with nothing to look after, and with something (C29)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await eventually(() => it.activator.ready)
    const startedAt = clock.now()
    await eventually(() => clock.now() > startedAt + 10_000)
    expect(it.activator.rows()).toEqual([])
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1' }, 1)
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('follows a Service to another workload and other domains, and forgets the former (C9)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    await cluster.addDeployment('next', 0)
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === 'true')
    const annotations = { 'proxless/deployment': 'next', 'proxless/domains': 'next.test' }
    await cluster.client.patch(
      services,
      { namespace, name: 'web' },
      { type: 'merge', body: { metadata: { annotations } } },
    )
    await until(async () => (await cluster.deployment('next')).metadata.labels?.['proxless'] === 'true')
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === undefined)
    expect(await ask(it.port, 'web.test')).toContain('404')
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: next.test\r\n\r\n')
    await until(async () => (await replicasOf('next')) === 1)
    expect(await replicasOf('web')).toBe(0)
  })

  it('holds requests when the last endpoint goes, and when its slice is deleted (C40)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {}, 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    const place = { namespace, name: 'web-1' }
    const { endpoints, ports, ...slice } = await cluster.client.get<StoredSlice>(endpointSlices, place)
    const heldUntil = async (comesBack: () => Promise<unknown>) => {
      await eventually(() => it.activator.rows()[0]!.waiting === 0)
      await until(async () => {
        using client = rawClient(it.port)
        client.send('GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')
        await eventually(() => client.text.includes('200 OK') || it.activator.rows()[0]!.waiting === 1)
        if (client.text.includes('200 OK')) return false
        await comesBack()
        return (await client.closed()).includes('200 OK')
      })
    }
    await cluster.client.patch(endpointSlices, place, { type: 'merge', body: { endpoints: [] } })
    await heldUntil(() => cluster.client.patch(endpointSlices, place, { type: 'merge', body: { endpoints } }))
    await cluster.client.deleteObject(endpointSlices, place)
    const metadata = { ...place, labels: { 'kubernetes.io/service-name': 'web' } }
    await heldUntil(() => cluster.client.create(endpointSlices, { ...slice, metadata, endpoints, ports } as KubeObject))
  })

  it('makes a companion with our own endpoints, and never touches one that is a user’s (C21)', async () => {
    const mine = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'own-proxless', namespace },
      spec: { ports: [{ port: 1 }] },
    }
    await cluster.client.create(services, mine)
    const peers = { ...(await import('./replicas/peers.ts')).singleReplica(['10.0.0.9']) }
    await using it = await startReplica(server.transport, { clock, companionPort: 7080, peers })
    await cluster.addApp('web')
    await cluster.addApp('own')
    await until(() =>
      cluster.client.get(endpointSlices, { namespace, name: 'web-proxless' }).then(
        () => true,
        () => false,
      ),
    )
    const companion = await cluster.service('web-proxless')
    expect(companion.spec).toMatchObject({ ports: [{ name: 'http', port: 80, targetPort: 7080 }] })
    expect(companion.spec).not.toHaveProperty('externalName')
    expect(companion.metadata.ownerReferences).toMatchObject([{ kind: 'Service', name: 'web' }])
    const slice = await cluster.client.get<StoredSlice>(endpointSlices, { namespace, name: 'web-proxless' })
    expect(slice).toMatchObject({ endpoints: [{ addresses: ['10.0.0.9'] }], ports: [{ name: 'http', port: 7080 }] })
    await eventually(() => it.activator.rows().length === 2)
    await cluster.client.patch(
      services,
      { namespace, name: 'own' },
      { type: 'merge', body: { metadata: { annotations: { 'proxless/deployment': null } } } },
    )
    await eventually(() => it.activator.rows().length === 1)
    expect((await cluster.service('own-proxless')).spec).toMatchObject({ ports: [{ port: 1 }] })
  })

  it('leaves a companion no address of the last replica that stopped', async () => {
    const address = '10.0.0.9'
    let isRetiring = false
    const alone = (await import('./replicas/peers.ts')).singleReplica([address])
    const peers = Object.defineProperty({ ...alone }, 'addresses', { get: () => (isRetiring ? [] : [address]) })
    await using it = await startReplica(server.transport, { clock, companionPort: 7080, peers })
    await cluster.addApp('web')
    const listed = () =>
      cluster.client.get<StoredSlice>(endpointSlices, { namespace, name: 'web-proxless' }).then(
        ({ endpoints }) => (endpoints as readonly unknown[]).length,
        () => -1,
      )
    await until(async () => (await listed()) === 1)
    isRetiring = true
    await it.activator.leave(3_600_000)
    expect(await listed()).toBe(0)
    expect((await cluster.service('web-proxless')).spec).toMatchObject({ ports: [{ name: 'http', port: 80 }] })
  })

  it('makes a companion again that someone deleted, and takes it and the label away when the Service was deleted while no replica ran', async () => {
    await using it = await startReplica(server.transport, { clock, companionPort: 7080 })
    await cluster.addApp('web')
    await until(() => exists('web-proxless'))
    const { uid } = (await cluster.service('web-proxless')).metadata
    await cluster.client.deleteObject(services, { namespace, name: 'web-proxless' })
    await until(
      async () => (await exists('web-proxless')) && (await cluster.service('web-proxless')).metadata.uid !== uid,
    )
    await it.stop()
    await cluster.client.deleteObject(services, { namespace, name: 'web' })
    await using _next = await startReplica(server.transport, { clock, companionPort: 7080 })
    await until(async () => !(await exists('web-proxless')))
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === undefined)
  })

  it('gives a domain to the older Service, says so to the other, and hands it over (C10, C69)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('first', { 'proxless/domains': 'shared.test' })
    await until(known('shared.test', it.port))
    await clock.breathe()
    await cluster.addApp('second', { 'proxless/domains': 'shared.test,second.test' })
    await until(known('second.test', it.port))
    const conditionOf = async (name: string) =>
      ((await cluster.service(name)).status as { conditions?: { type: string; status: string; message: string }[] })
        ?.conditions?.[0]
    await until(
      async () => (await conditionOf('second')) !== undefined || (await conditionOf('first'))?.status === 'False',
    )
    const loser = (await conditionOf('second'))?.status === 'False' ? 'second' : 'first'
    expect((await conditionOf(loser))?.message).toContain('shared.test')
    expect(it.events.some(({ about, reason }) => about === loser && reason === 'InvalidAnnotation')).toBe(true)
    const winner = loser === 'second' ? 'first' : 'second'
    await cluster.client.patch(
      services,
      { namespace, name: winner },
      { type: 'merge', body: { metadata: { annotations: { 'proxless/deployment': null } } } },
    )
    await until(async () => (await conditionOf(loser))?.status === 'True')
    expect(await ask(it.port, 'shared.test')).toContain('200 OK')
  })

  it('names a bad annotation in event and condition, and serves all the same', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': 'soon' })
    await until(known('web.test', it.port))
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await eventually(() => it.events.some(({ message }) => message.startsWith('proxless/ttl-seconds')))
  })

  it('refuses those who wait for a Deployment that is not there, and picks it up when it comes (C15)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/deployment': 'later' })
    await eventually(() => it.activator.rows().length === 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('target-gone'))
    await cluster.addDeployment('later', 0)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    expect(cluster.history.get('later')).toEqual([0, 1])
  })

  it('refuses at once where the Service has no such port, and wakes nothing', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'sojourn.dev/port': 'metrics' })
    await eventually(() => it.activator.rows().length === 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('503'))
    expect(await ask(it.port, 'web.test')).toMatch(/no-port[^]*The Service has no such port/)
    expect(cluster.history.get('web')).toEqual([0])
    await cluster.client.patch(
      services,
      { namespace, name: 'web' },
      { type: 'merge', body: { metadata: { annotations: { 'sojourn.dev/port': 'http' } } } },
    )
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
  })

  it('refuses waiters when their Service goes, and forgets it (C67)', async () => {
    await cluster[Symbol.asyncDispose]()
    cluster = await startFakeCluster(server.transport, { ready: () => false })
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    await eventually(() => it.activator.rows().length === 1)
    const waiting = ask(it.port, 'web.test')
    await eventually(() => it.activator.rows()[0]!.waiting === 1)
    await cluster.client.patch(
      services,
      { namespace, name: 'web' },
      { type: 'merge', body: { metadata: { annotations: { 'proxless/deployment': null } } } },
    )
    expect(await waiting).toMatch(/503[^]*route-gone/)
    expect(await ask(it.port, 'web.test')).toContain('404')
  })

  it('looks after one namespace only when told so, and then knows bare names (C8)', async () => {
    await using it = await startReplica(server.transport, { clock, namespace })
    await cluster.addApp('web')
    await until(known('web.test', it.port))
    for (const host of ['web', 'web.default', 'web.default.svc', 'web-proxless.default.svc.cluster.local']) {
      expect(await ask(it.port, host)).toContain('200 OK')
    }
    await using elsewhere = await startReplica(server.transport, { clock, namespace: 'kube-system' })
    await eventually(() => elsewhere.activator.ready)
    expect(await ask(elsewhere.port, 'web.test')).toContain('404')
  })

  it('terminates TLS with the certificate a Service names, follows its Secret, and says when it is missing or has no key (C56)', async () => {
    await using it = await startReplica(server.transport, { clock, tls: true })
    const port = await it.activator.plane.listen({ host: '127.0.0.1', port: 0, tls: true })
    await cluster.addApp('web', { 'sojourn.dev/tls-secret': 'web-tls' }, 1)
    await until(known('web.test', it.port))
    const says = async () => JSON.stringify((await cluster.service('web'))['status'])
    await until(async () => (await says()).includes('tls-secret: there is no Secret \\"web-tls\\"'))
    const dataOf = (host: string) => {
      const { cert, key } = certificateFor(host)
      return { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') }
    }
    const served = () =>
      new Promise<unknown>((resolve) => {
        const socket = tls.connect(
          { host: '127.0.0.1', port, servername: 'web.test', rejectUnauthorized: false },
          () => {
            resolve(socket.getPeerCertificate().subject.CN)
            socket.destroy()
          },
        )
        socket.on('error', () => resolve(undefined))
      })
    await cluster.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'web-tls', namespace },
      type: 'kubernetes.io/tls',
      data: dataOf('web.test'),
    })
    await until(async () => (await served()) === 'web.test')
    await until(async () => (await says()).includes('Requests to this Service wake its workload.'))
    await cluster.client.patch(
      secrets,
      { namespace, name: 'web-tls' },
      { type: 'merge', body: { data: dataOf('renewed.test') } },
    )
    await until(async () => (await served()) === 'renewed.test')
    await cluster.client.patch(
      secrets,
      { namespace, name: 'web-tls' },
      { type: 'merge', body: { data: { 'tls.key': '' } } },
    )
    await until(async () => (await says()).includes('tls-secret: the certificate in Secret'))
    await eventually(() => it.events.filter(({ message }) => message.startsWith('sojourn.dev/tls-secret')).length === 2)
  })

  it('falls back on another Service when the workload is not ready in time, and names one that is not there (C35)', async () => {
    await cluster[Symbol.asyncDispose]()
    let mayStart = true
    cluster = await startFakeCluster(server.transport, { ready: () => mayStart })
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('spare', { 'sojourn.dev/sleep': 'never' }, 1)
    await until(async () => (await ask(it.port, 'spare.test')).includes('200 OK'))
    mayStart = false
    await cluster.addApp('web', { 'sojourn.dev/fallback-service': 'spare', 'proxless/readiness-timeout-seconds': '2' })
    await eventually(() => it.activator.rows().length === 2)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await cluster.addApp('lost', { 'sojourn.dev/fallback-service': 'nobody' })
    await eventually(() => it.events.some(({ about, message }) => about === 'lost' && message.includes('nobody')))
  })
})
