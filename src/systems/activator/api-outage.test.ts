import { deployments, endpointSlices } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import type { Condition } from '../../kube/conditions.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { eventually, rawClient, roundTrip, startEcho, type Backend } from '../../../test/activator/proxy.ts'

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
    api.break(({ path, method, body }) => {
      const isScaling = method === 'PATCH' && path.endsWith('/web') && JSON.stringify(body).includes('replicas')
      if (!isScaling) return undefined
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
