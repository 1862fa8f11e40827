import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner } from '../../apis/cleaner.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { readConfig } from '../config/config.ts'
import { startUp, type Up } from '../embedded/up.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import type { RouteRequest } from '../../runtime/http/route.ts'
import { forecastRoute } from './forecast-route.ts'

let data: string
let up: Up
let network: ReturnType<typeof networkTransport>
let client: Client

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'forecast-'))
  up = await startUp(readConfig({ flags: { data, port: '0', only: 'api', durable: false }, env: {} }), silentLogger)
  network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
  client = new Client(network.transport)
  await client.create(cleaner.type, {
    apiVersion: cleaner.apiVersion,
    kind: cleaner.kind,
    metadata: { name: 'tomorrow', namespace: 'default' },
    spec: { ttl: '24h' },
  })
})
afterAll(async () => {
  network.close()
  await up.stop()
  rmSync(data, { recursive: true })
})

const post = (body: unknown, headers: Record<string, string> = {}) =>
  client.request({ method: 'POST', path: '/sojourn/v1alpha1/forecast', body, headers })

describe('POST /sojourn/v1alpha1/forecast', () => {
  it('answers with the forecast, with times in RFC 3339', async () => {
    const { body } = await post({ for: '2d' })
    expect(body).toMatchObject({
      kind: 'Forecast',
      from: expect.stringMatching(/^\d{4}-.*Z$/),
      events: [{ what: 'leaves', system: 'cleaner', object: { name: 'tomorrow' }, because: 'conditions-met' }],
      unread: [],
    })
  }, 60_000)

  it('applies assumptions, and reports those that cannot be carried out', async () => {
    const { body } = await post({ for: '2d', assume: ['opt-out:cleaner/default/tomorrow'] })
    expect(body).toMatchObject({ events: [{ what: 'assumed' }] })
    await expect(post({ assume: ['delete:cleaner/default/nobody'] })).rejects.toThrow()
  }, 60_000)

  it('143: reads no cloud account that its caller brings along', async () => {
    const account = { provider: 'aws', accountId: '123456789012', regions: ['eu-central-1'] }
    const apply = [
      { apiVersion: 'sojourn.dev/v1alpha1', kind: 'ProviderAccount', metadata: { name: 'x' }, spec: account },
    ]
    await expect(post({ apply })).rejects.toMatchObject({ code: 400 })
  })

  it('143: connects to no cluster that a controller would not connect to, and tells what it did not read', async () => {
    const asked: string[] = []
    await using server = createServer((socket) => {
      asked.push('connection')
      socket.destroy()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'far',
      clusters: [{ name: 'far', cluster: { server: `https://127.0.0.1:${port}` } }],
      users: [{ name: 'far', user: { token: 'x' } }],
      contexts: [{ name: 'far', context: { cluster: 'far', user: 'far' } }],
    }
    const at = (name: string) => ({ namespace: 'default', name })
    const far = { kind: 'GitopsCluster', name: 'far' }
    const apply = [
      { apiVersion: 'v1', kind: 'Secret', metadata: at('far'), data: { value: btoa(JSON.stringify(kubeconfig)) } },
      {
        apiVersion: 'gitops.weave.works/v1alpha1',
        kind: 'GitopsCluster',
        metadata: at('far'),
        spec: { secretRef: { name: 'far' } },
      },
      {
        apiVersion: 'pipelines.weave.works/v1alpha1',
        kind: 'Pipeline',
        metadata: at('far'),
        spec: {
          appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'app' },
          environments: [{ name: 'dev', targets: [{ namespace: 'default', clusterRef: far }] }],
        },
      },
    ]
    const route = forecastRoute({
      clientAs: () => client,
      clock: systemClock,
      config: readConfig({ flags: {}, env: {} }),
    })
    const user = { name: 'bob', groups: [] }
    const request = { user, body: JSON.stringify({ for: '2d', apply }), headers: {} } as unknown as RouteRequest
    const { body } = await route.handle(request)
    expect(body).toMatchObject({ unread: [expect.stringContaining('default.far')] })
    expect(asked).toEqual([])
  }, 60_000)

  it('answers with iCalendar if the request accepts it', async () => {
    const { headers } = await post({ for: '2d' }, { accept: 'text/calendar' })
    expect(headers['content-type']).toContain('text/calendar')
  }, 60_000)

  it.each([
    { for: 'soon' },
    { for: '-1d' },
    { for: '9999d' },
    { for: 5 },
    7,
    { assume: ['/etc/passwd'] },
    { assume: ['merge:soon'] },
    { assume: 'merge:1h' },
  ])('refuses %j', async (wish) => {
    await expect(post(wish)).rejects.toThrow()
  })
})

describe('130: forecasts that run at once', () => {
  it('130: are two, and of each user one: ServiceAccounts of a namespace count as one user', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const clientAs = () => ({ discovery: { all: () => promise } }) as unknown as Client
    const route = forecastRoute({ clientAs, clock: systemClock, config: readConfig({ flags: {}, env: {} }) })
    const ask = (name: string) => route.handle({ user: { name, groups: [] }, body: '', headers: {} } as never)
    const first = ask('system:serviceaccount:a:one')
    await expect(ask('system:serviceaccount:a:two')).resolves.toMatchObject({
      status: 429,
      headers: { 'retry-after': '5' },
      body: { message: expect.stringContaining('a forecast of system:serviceaccount:a is running') as string },
    })
    const second = ask('ada')
    await expect(ask('bob')).resolves.toMatchObject({ status: 429 })
    reject(new Error('the snapshot ended'))
    await Promise.allSettled([first, second])
    await expect(ask('bob')).rejects.toThrow('the snapshot ended')
  })
})
