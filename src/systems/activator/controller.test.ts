import tls from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../apiserver/testing.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { Condition } from '../../runtime/conditions.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from './testing.ts'
import { certificateFor, eventually, rawClient, roundTrip, startEcho, type Backend } from './proxy/testing.ts'
import { historyRoute } from './history-route.ts'
import { autoscalers, deployments, endpointSlices, secrets, services } from './resource-types.ts'

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

describe('the activator', () => {
  it('wakes a workload for a request and puts it to sleep when nobody comes (C17)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '5' })
    await until(known('web.test', it.port))
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await until(async () => (await replicasOf('web')) === 0)
    expect(cluster.history.get('web')).toEqual([0, 1, 0])
    expect(it.events.map(({ reason }) => reason)).toEqual(['Woken', 'Slept'])
    const { labels, annotations } = (await cluster.deployment('web')).metadata
    expect(labels).toMatchObject({ proxless: 'true' })
    expect(annotations).toMatchObject({
      'sojourn.dev/former-replicas': '1',
      'proxless/last-used': expect.stringMatching(/^20/) as string,
    })
    expect(await ask(it.port, 'web.test')).toMatch(/200 OK[^]*X-Cold-Start/)
  })

  it('wakes once however many come at once', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(it.port, 'web.test')))
    for (const answer of answers) expect(answer).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
  })

  it('restores the former count (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 3)
    await until(async () => (await replicasOf('web')) === 0)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([3, 0, 3])
  })

  it('keeps awake what has a request in flight (C82)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster[Symbol.asyncDispose]()
    let finish = () => {}
    cluster = await startFakeCluster(server.transport, {
      answer: (_, response) => {
        response.write('begun')
        finish = () => response.end('done')
      },
    })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await eventually(() => it.activator.rows().length === 1)
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\n\r\n')
    await client.until((text) => text.includes('begun'))
    const startedAt = clock.now()
    await eventually(() => clock.now() > startedAt + 10_000)
    expect(await replicasOf('web')).toBe(1)
    finish()
    await client.until((text) => text.includes('done'))
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('keeps awake what has a silent tunnel, for many times its time, and starts counting when it closes (C81)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await eventually(() => it.activator.rows().length === 1)
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n')
    await client.until((text) => text.includes('101'))
    const openedAt = clock.now()
    await eventually(() => clock.now() > openedAt + 20_000)
    expect(await replicasOf('web')).toBe(1)
    const closedAt = clock.now()
    client.socket.destroy()
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now() - closedAt).toBeGreaterThanOrEqual(2000)
  })

  it('sends nothing to pods that are on their way out when their workload is woken again (C85)', async () => {
    await using pod = await startEcho()
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    const listed = {
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true, terminating: true } }],
      ports: [{ name: 'http', port: pod.address.port }],
    }
    await cluster.client.patch(endpointSlices, { namespace, name: 'web-1' }, { type: 'merge', body: listed })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    expect(await ask(it.port, 'web.test')).toContain('hello')
    expect(pod.received).toEqual([])
  })

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
    const peers = { ...(await import('./peers.ts')).alone(['10.0.0.9']) }
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

  it('makes a companion again that someone deleted, and takes it and the label away when the Service went while nobody looked', async () => {
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

  it('leaves alone what someone scaled by hand, for its time (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const scaledAt = clock.now()
    await cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas: 5 } } },
    )
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now() - scaledAt).toBeGreaterThanOrEqual(3000)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 5, 0, 5])
    await cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas: 0 } } },
    )
    await until(async () => (await ask(it.port, 'web.test')).includes('X-Cold-Start'))
    expect(await replicasOf('web')).toBe(5)
  })

  it('never sleeps what has a minimum, and raises it there', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1', 'sojourn.dev/min-replicas': '2' })
    await until(async () => (await replicasOf('web')) === 2)
    const at = clock.now()
    await eventually(() => clock.now() > at + 5000)
    expect(await replicasOf('web')).toBe(2)
    expect(it.events.map(({ reason }) => reason)).toEqual(['Woken'])
  })

  it('wakes together what belongs together', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('db', { 'proxless/deployment': 'db' })
    await cluster.addApp('web', { 'sojourn.dev/wake-with': 'Deployment/db' })
    await eventually(() => it.activator.rows().length === 2)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await until(async () => (await replicasOf('db')) === 1)
  })

  it('takes two Services for one workload as one: idle is idle on both (C11, C68)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    const { spec } = await cluster.service('web')
    await cluster.client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'front',
        namespace,
        annotations: {
          'proxless/deployment': 'web',
          'proxless/domains': 'front.test',
          'proxless/service': 'web',
          'proxless/ttl-seconds': '3',
        },
      },
      spec: { ports: (spec as { ports: unknown }).ports },
    })
    await eventually(() => it.activator.rows().length === 2)
    const [one, two] = await Promise.all([ask(it.port, 'web.test'), ask(it.port, 'front.test')])
    expect([one, two].every((answer) => answer.includes('200 OK'))).toBe(true)
    expect(cluster.history.get('web')).toEqual([0, 1])
    const at = clock.now()
    while (clock.now() < at + 9000) await ask(it.port, 'front.test')
    expect(cluster.history.get('web')).toEqual([0, 1])
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('leaves the count to an autoscaler: wakes to its least (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 5)
    await cluster.client.create(autoscalers, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 9,
      },
    })
    await until(async () => (await replicasOf('web')) === 0)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(await replicasOf('web')).toBe(2)
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

  it('terminates TLS with the certificate a Service names, follows its Secret, and says when that has no key (C56)', async () => {
    await using it = await startReplica(server.transport, { clock, tls: true })
    const port = await it.activator.plane.listen({ host: '127.0.0.1', port: 0, tls: true })
    await cluster.addApp('web', { 'sojourn.dev/tls-secret': 'web-tls' }, 1)
    await until(known('web.test', it.port))
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
    await eventually(() => it.events.some(({ about, reason }) => about === 'web' && reason === 'InvalidCertificate'))
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

  it('counts what it did', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await until(known('web.test', it.port))
    await ask(it.port, 'web.test')
    await until(async () => (await replicasOf('web')) === 0)
    const at = clock.now()
    await eventually(() => clock.now() > at + 2500)
    const text = it.metrics.render()
    expect(text).toMatch(/sojourn_activator_requests_total\{route="default\/web",code="2xx"\} [1-9]/)
    expect(text).toMatch(/sojourn_activator_cold_starts_total\{route="default\/web"\} [1-9]/)
    expect(text).toMatch(/sojourn_activator_wait_seconds_count\{route="default\/web"\} [1-9]/)
    const route = historyRoute(it.activator)
    const tell = (name: string) => route.handle({ params: { namespace, name } } as never)
    const { body } = await tell('web')
    expect(body).toMatchObject({ history: [{ requests: expect.any(Number) as number, coldStarts: 1 }] })
    expect((await tell('nobody')).status).toBe(404)
    expect(text).toMatch(/sojourn_activator_saved_replica_seconds_total\{route="default\/web"\} [1-9]/)
    expect(text).toMatch(/decision="sleep",because="idle"/)
  })

  it('decides and scales nothing in a dry run', async () => {
    await using it = await startReplica(server.transport, { clock, dryRun: true })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1' }, 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    const at = clock.now()
    await eventually(() => clock.now() > at + 5000)
    expect(await replicasOf('web')).toBe(1)
    expect((await cluster.deployment('web')).metadata.labels?.['proxless']).toBeUndefined()
  })
})

interface StoredSlice extends StoredObject {
  readonly endpoints: unknown
  readonly ports: unknown
}

describe('when the API misbehaves', () => {
  /** A transport whose requests can be made to fail; watches that are open end with it. */
  function breakable(inner: Transport) {
    let failure: ((request: ApiRequest) => Error | undefined) | undefined
    let cut = Promise.withResolvers<IteratorResult<unknown>>()
    const transport: Transport = async (request) => {
      const error = failure?.(request)
      if (error) throw error
      const response = await inner(request)
      return response.stream ? { ...response, stream: cuttable(response.stream, cut.promise) } : response
    }
    const fail = (next: typeof failure) => {
      failure = next
      cut.resolve({ done: true, value: undefined })
      cut = Promise.withResolvers()
    }
    return { transport, break: fail }
  }

  async function* cuttable(
    stream: AsyncIterable<unknown>,
    cut: Promise<IteratorResult<unknown>>,
  ): AsyncGenerator<unknown> {
    const events = stream[Symbol.asyncIterator]()
    for (;;) {
      const next = await Promise.race([events.next(), cut])
      if (next.done) return
      yield next.value
    }
  }

  it('puts nothing to sleep that it cannot see, even if it could still write (C88)', async () => {
    const api = breakable(server.transport)
    await using it = await startReplica(api.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '4' }, 1)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    api.break(({ method }) => (method === 'GET' ? new StatusError('ServiceUnavailable', 'down') : undefined))
    const at = clock.now()
    await eventually(() => clock.now() > at + 20_000)
    expect(await replicasOf('web')).toBe(1)
    api.break(undefined)
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('serves the warm, sleeps nothing, and wakes when it is back (C88)', async () => {
    const api = breakable(server.transport)
    await using it = await startReplica(api.transport, { clock })
    await cluster.addApp('warm', { 'proxless/ttl-seconds': '2' }, 1)
    await cluster.addApp('cold', { 'proxless/ttl-seconds': '1000' })
    await until(async () => (await ask(it.port, 'warm.test')).includes('200 OK'))
    api.break(() => new StatusError('ServiceUnavailable', 'down'))
    const at = clock.now()
    const waiting = ask(it.port, 'cold.test')
    while (clock.now() < at + 8000) expect(await ask(it.port, 'warm.test')).toContain('200 OK')
    const idleFrom = clock.now()
    await eventually(() => clock.now() > idleFrom + 6000)
    expect(await replicasOf('warm')).toBe(1)
    api.break(undefined)
    expect(await waiting).toContain('200 OK')
  })

  it('refuses the cold at their deadline (C88)', async () => {
    const api = breakable(server.transport)
    await using it = await startReplica(api.transport, { clock })
    await cluster.addApp('web', { 'proxless/readiness-timeout-seconds': '4' })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    api.break(() => new StatusError('ServiceUnavailable', 'down'))
    expect(await ask(it.port, 'web.test')).toMatch(/^HTTP\/1.1 50[34] [^]*Retry-After/)
    expect(cluster.history.get('web')).toEqual([0])
    api.break(undefined)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
  })

  it('finds out after a gap in the watch which pods are gone and which are new (C93)', async () => {
    await cluster[Symbol.asyncDispose]()
    cluster = await startFakeCluster(server.transport, { ready: () => false })
    await using old = await startEcho()
    await using fresh = await startEcho()
    const serveWith = (name: string, { address }: Backend) => {
      const endpoints = [{ addresses: [address.host], conditions: { ready: true } }]
      const body = { endpoints, ports: [{ name: 'http', port: address.port }] }
      return cluster.client.patch(endpointSlices, { namespace, name: `${name}-1` }, { type: 'merge', body })
    }
    const api = breakable(server.transport)
    await using it = await startReplica(api.transport, { clock })
    for (const name of ['moved', 'late']) await cluster.addApp(name, {}, 1)
    await serveWith('moved', old)
    await until(async () => (await ask(it.port, 'moved.test')).includes('200 OK'))
    const waiting = ask(it.port, 'late.test')
    await eventually(() => it.activator.rows().some((row) => row.waiting === 1))
    api.break(() => new StatusError('ServiceUnavailable', 'down'))
    await Promise.all([serveWith('moved', fresh), serveWith('late', fresh)])
    const expired = new Set<string>()
    api.break(({ path, query }) => {
      if (!query?.['watch'] || query['sendInitialEvents'] || expired.has(path)) return undefined
      expired.add(path)
      return new StatusError('Expired', 'too old resource version')
    })
    expect(await waiting).toContain('200 OK')
    expect([...expired].some((path) => path.endsWith('/endpointslices'))).toBe(true)
    const seen = old.received.join('')
    expect(await ask(it.port, 'moved.test')).toContain('200 OK')
    expect(old.received.join('')).toBe(seen)
  })

  it('tells those who wait at once when scaling is denied, and does not hammer (C63)', async () => {
    const api = breakable(server.transport)
    let attempts = 0
    await using it = await startReplica(api.transport, { clock })
    await cluster.addApp('web')
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    api.break(({ path }) => {
      if (!path.endsWith('/scale')) return undefined
      attempts++
      return new StatusError('Forbidden', 'quota')
    })
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(it.port, 'web.test')))
    for (const answer of answers) expect(answer).toMatch(/503[^]*wake-denied[^]*Retry-After/)
    expect(attempts).toBeLessThan(4)
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'WakeDenied' }))
    const wakeable = async () =>
      ((await cluster.service('web')).status as { conditions: Condition[] }).conditions.find(
        ({ type }) => type === 'sojourn.dev/Wakeable',
      )
    await until(async () => (await wakeable())?.status === 'False')
    expect((await wakeable())?.message).toContain('quota')
    api.break(undefined)
    await until(async () => (await ask(it.port, 'web.test')).includes('200 OK'))
    await until(async () => (await wakeable())?.status === 'True')
  })

  it('backs off from what never becomes ready (C16, C62)', async () => {
    await cluster[Symbol.asyncDispose]()
    cluster = await startFakeCluster(server.transport, { ready: () => false })
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/readiness-timeout-seconds': '2', 'proxless/ttl-seconds': '3' })
    await eventually(() => it.activator.rows().length === 1)
    expect(await ask(it.port, 'web.test')).toMatch(/504[^]*Retry-After/)
    using second = rawClient(it.port)
    second.send('GET / HTTP/1.1\r\nHost: web.test\r\n\r\n')
    await second.until((text) => text.includes('HTTP/1.1'))
    await eventually(() => it.events.some(({ reason }) => reason === 'NotReadyInTime') || second.text.includes('504'))
    await until(async () => (await replicasOf('web')) === 0)
  })
})

describe('after a restart', () => {
  it('does not sleep before its time unless idleness was written down (C89)', async () => {
    await cluster.addApp('fresh', { 'proxless/ttl-seconds': '40' }, 1)
    await cluster.addApp('stale', { 'proxless/ttl-seconds': '40' }, 1)
    const longAgo = new Date(clock.now() - 3_600_000).toISOString()
    await cluster.client.patch(
      deployments,
      { namespace, name: 'stale' },
      { type: 'merge', body: { metadata: { annotations: { 'proxless/last-used': longAgo } } } },
    )
    const startedAt = clock.now()
    await using it = await startReplica(server.transport, { clock })
    await until(async () => (await replicasOf('stale')) === 0)
    expect(clock.now() - startedAt).toBeLessThan(40_000)
    expect(await replicasOf('fresh')).toBe(1)
    await until(async () => (await replicasOf('fresh')) === 0)
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(40_000)
    expect(it.events.filter(({ reason }) => reason === 'Slept')).toHaveLength(2)
  })

  it('writes down what was last used when it stops (C103)', async () => {
    const it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1000' })
    await until(known('web.test', it.port))
    const askedAt = clock.now()
    await ask(it.port, 'web.test')
    await it.stop()
    const written = (await cluster.deployment('web')).metadata.annotations?.['proxless/last-used'] ?? ''
    expect(Date.parse(written)).toBeGreaterThanOrEqual(Math.floor(askedAt / 1000) * 1000)
  })
})
