import { deployments, endpointSlices, services } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import type { Condition } from '../../kube/conditions.ts'
import { eventually, roundTrip, startEcho } from '../../../test/activator/proxy.ts'
import {
  fastClock,
  startFakeCluster,
  startReplica,
  type FakeCluster,
  type Replica,
} from '../../../test/activator/cluster.ts'

const namespace = 'default'
let server: TestServer
let cluster: FakeCluster
let replica: Replica
let clock: ReturnType<typeof fastClock>

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport)
  replica = await startReplica(server.transport, { clock })
})
afterEach(async () => {
  await replica.stop()
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const ask = (host: string) => roundTrip(replica.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
const said = async (name: string) =>
  ((await cluster.service(name)).status as { conditions?: readonly Condition[] } | undefined)?.conditions?.[0]
const isSaid = (name: string, status: string) => until(async () => (await said(name))?.status === status)
const warnings = (name: string) =>
  replica.events.filter(({ about, type }) => about === name && type === 'Warning').map(({ message }) => message)

describe('a workload that is not there', () => {
  it.each([
    ['proxless/deployment', { 'proxless/deployment': 'later' }, 'there is no Deployment "later"'],
    [
      'sojourn.dev/wake-with',
      { 'sojourn.dev/wake-with': 'StatefulSet/db, Deployment/cache' },
      'there is no StatefulSet "db"; sojourn.dev/wake-with: there is no Deployment "cache"',
    ],
  ])('is told with the annotation that names it: %s', async (key, annotations, message) => {
    await cluster.addApp('web', annotations)
    await cluster.addApp('other')
    await isSaid('web', 'False')
    expect(await said('web')).toMatchObject({ reason: 'InvalidAnnotation', message: `${key}: ${message}` })
    await eventually(() => warnings('web').length > 0)
    expect(warnings('web').join('; ')).toBe(`${key}: ${message}`)
    expect(await ask('other.test')).toContain('200 OK')
    expect([(await said('other'))?.status, warnings('other')]).toEqual(['True', []])
  })

  it('is told of no more when it comes, and again when it goes', async () => {
    await cluster.addApp('web', { 'proxless/deployment': 'later' })
    await isSaid('web', 'False')
    await cluster.addDeployment('later', 0)
    await isSaid('web', 'True')
    expect(await ask('web.test')).toContain('200 OK')
    await cluster.client.deleteObject(deployments, { namespace, name: 'later' })
    await isSaid('web', 'False')
  })

  it('may be of a kind that the server does not have: no request waits for it in vain', async () => {
    const annotations = { 'sojourn.dev/target': 'acme.io/v1/Engine/web', 'proxless/domains': 'web.test' }
    await cluster.client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace, annotations },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    await isSaid('web', 'False')
    expect((await said('web'))?.message).toBe('sojourn.dev/target: there is no Engine "web"')
    expect(await ask('web.test')).toMatch(/^HTTP\/1.1 503[^]*X-Sojourn-Because: target-gone/)
  })

  it('does not keep requests from pods that are there', async () => {
    await using pod = await startEcho()
    await cluster.addApp('web', { 'proxless/deployment': 'later' })
    const endpoints = [{ addresses: ['127.0.0.1'], conditions: { ready: true } }]
    const body = { endpoints, ports: [{ name: 'http', port: pod.address.port }] }
    await cluster.client.patch(endpointSlices, { namespace, name: 'web-1' }, { type: 'merge', body })
    await until(async () => (await ask('web.test')).includes('200 OK'))
    await isSaid('web', 'False')
  })
})

describe('a domain', () => {
  it('stays with its first owner through a restart, in whatever order Services are read', async () => {
    await cluster.addApp('zebra', { 'proxless/domains': 'shared.test' })
    // Times of creation are whole seconds, of a clock that runs twenty times as fast.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await cluster.addApp('ant', { 'proxless/domains': 'shared.test,ant.test' })
    const refusal = 'proxless/domains: "shared.test" belongs to Service default/zebra, which is older'
    await isSaid('ant', 'False')
    expect((await said('ant'))?.message).toBe(refusal)
    await replica.stop()
    replica = await startReplica(server.transport, { clock })
    await until(async () => (await ask('ant.test')).includes('200 OK'))
    expect(await ask('shared.test')).toContain('200 OK')
    expect([cluster.history.get('zebra'), (await said('ant'))?.message]).toEqual([[0, 1], refusal])
  })
})

describe('a Service that means to be on demand and names no workload', () => {
  it.each(['proxless/domains', 'proxless/ttl-seconds', 'sojourn.dev/takeover'])(
    'is told what is missing beside %s, until it is there',
    async (key) => {
      await cluster.addApp('other')
      await cluster.client.create(services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web', namespace, annotations: { [key]: key.endsWith('domains') ? 'other.test' : '5' } },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      })
      await isSaid('web', 'False')
      const message = `proxless/deployment: is missing: ${key} needs it to name the Deployment to wake (or sojourn.dev/target to name another workload)`
      expect(await said('web')).toMatchObject({ reason: 'InvalidAnnotation', message })
      await eventually(() => warnings('web').length > 0)
      expect(warnings('web')).toEqual([message])
      // It has no route, so it takes no domain from another Service.
      expect(await ask('other.test')).toContain('200 OK')
      expect([(await said('other'))?.status, warnings('other')]).toEqual(['True', []])
      const annotations = { [key]: null }
      await cluster.client.patch(
        services,
        { namespace, name: 'web' },
        { type: 'merge', body: { metadata: { annotations } } },
      )
      await until(async () => (await said('web')) === undefined)
    },
  )
})
