import { configMaps, services } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { readServiceSettings } from './model/service-settings.ts'
import { eventually, roundTrip } from '../../../test/activator/proxy.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'

const namespace = 'default'
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(50)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport, { ready: () => false })
})
afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const get = (path: string, fields = '') =>
  `GET ${path} HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n${fields}\r\n`
const navigation = 'Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n'
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const settings = (annotations: Record<string, string>) =>
  readServiceSettings({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace, annotations } } as never)

describe('a ConfigMap with a waiting page', () => {
  it('is shown, follows its changes, and is named when it is missing (C52)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {
      'sojourn.dev/waiting-page': 'ConfigMap/page',
      'proxless/readiness-timeout-seconds': '86400',
    })
    const complaint = 'sojourn.dev/waiting-page: there is no ConfigMap "page"'
    await eventually(() => it.events.some(({ message }) => message === complaint))
    // Without it, ours is shown.
    expect(await roundTrip(it.port, get('/', navigation))).toMatch(/^HTTP\/1.1 503[^]*Waking up/)
    const data = { 'index.html': '<p>bald fertig: für Sie</p>', 'style.css': 'p{}' }
    await cluster.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'page', namespace },
      data,
    })
    // A program would be held; only who wants to see a page is answered until the ConfigMap is known.
    await until(async () => (await roundTrip(it.port, get('/', navigation))).includes('bald fertig'))
    expect(await roundTrip(it.port, get('/style.css'))).toContain('Content-Type: text/css')
    const text = Buffer.from(await roundTrip(it.port, get('/', navigation)), 'latin1').toString('utf8')
    expect(text).toMatch(/^HTTP\/1.1 503[^]*Content-Length: 28[^]*<p>bald fertig: für Sie<\/p>$/)
    await cluster.client.patch(
      configMaps,
      { namespace, name: 'page' },
      { type: 'merge', body: { data: { 'index.html': 'new' } } },
    )
    await until(async () => (await roundTrip(it.port, get('/', navigation))).endsWith('new'))
  })
})

describe('a Service without a port', () => {
  it('is told so, and 80 is not guessed (C6)', async () => {
    await using it = await startReplica(server.transport, { clock })
    const metadata = {
      name: 'web',
      namespace,
      annotations: { 'proxless/deployment': 'web', 'proxless/domains': 'web.test' },
    }
    const spec = { clusterIP: 'None', selector: { app: 'web' } }
    await cluster.client.create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec })
    await eventually(() => it.events.some(({ message }) => message === 'sojourn.dev/port: the Service has no port'))
  })
})

describe('the annotations', () => {
  it('of static answers name the field that is wrong, and leave the others be (C53)', () => {
    const read = (value: unknown) =>
      settings({ 'proxless/deployment': 'web', 'sojourn.dev/static-answers': JSON.stringify(value) })
    const good = { path: '/robots.txt', body: 'ä', when: 'always' }
    expect(read([good]).proxy.staticAnswers).toEqual([
      { path: '/robots.txt', status: 200, type: 'text/plain; charset=utf-8', body: 'Ã¤', when: 'always' },
    ])
    const { proxy, faults } = read([
      good,
      { path: 'x' },
      { path: '/x?y' },
      { path: '/x', status: 99 },
      { path: '/x', when: 'now' },
      { path: '/x', body: 1 },
      { path: '/x', type: 'a\r\nb: c' },
    ])
    expect(proxy.staticAnswers).toHaveLength(1)
    expect(faults.map(({ message }) => message.split(':')[0])).toEqual([
      '[1].path',
      '[2].path',
      '[3].status',
      '[4].when',
      '[5].body',
      '[6].type',
    ])
    expect(settings({ 'proxless/deployment': 'web', 'sojourn.dev/static-answers': '{' }).faults).toMatchObject([
      { annotation: 'sojourn.dev/static-answers' },
    ])
  })

  it.each([
    ['true', true, undefined],
    ['ConfigMap/page', true, 'page'],
    ['false', false, undefined],
  ])('of the waiting page may name a ConfigMap: %s (C52)', (value, isShown, files) => {
    const { proxy, waitingFiles, faults } = settings({
      'proxless/deployment': 'web',
      'sojourn.dev/waiting-page': value,
    })
    expect([proxy.waitingPage, waitingFiles, faults]).toEqual([isShown, files, []])
  })

  it('refuse a ConfigMap of another namespace (C52)', () => {
    const { waitingFiles, faults } = settings({
      'proxless/deployment': 'web',
      'sojourn.dev/waiting-page': 'ConfigMap/other/page',
    })
    expect([waitingFiles, faults.length]).toEqual([undefined, 1])
  })
})
