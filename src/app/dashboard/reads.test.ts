import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { RouteRequest, RouteResponse } from '../../runtime/http/route.ts'
import { isReadable, namespacesRoute, readRoutes } from './reads.ts'

it.each([
  '/api/v1/secrets',
  '/api/v1/namespaces/a/secrets',
  '/api/v1/namespaces/a/secrets/tls',
  '/api/v1/namespaces/a/%73ecrets',
  '/api/v1/n%61mespaces/a/secrets',
  '/api/v1/watch/secrets',
  '/api/v1/watch/namespaces/a/secrets',
  '/api//v1/secrets',
  '/api/v1//secrets',
  '/api/v1/configmaps/../secrets',
  '/api/v1/configmaps/%2e%2e/secrets',
  '/api/v1/namespaces/a%2fsecrets',
  '/api/v1/namespaces/a/pods/web/log',
  '/api/v1/namespaces/a/pods/web/%6cog',
  '/api/v1/nodes/n/proxy/x',
  '/apis/%zz',
])('110: the dashboard reads for its pages neither Secrets nor subresources: %s', (path) => {
  expect(isReadable(path)).toBe(false)
})

it.each([
  '/api',
  '/apis',
  '/api/v1',
  '/apis/sojourn.dev/v1alpha1',
  '/api/v1/namespaces',
  '/api/v1/namespaces/a',
  '/api/v1/namespaces/a/configmaps',
  '/apis/sojourn.dev/v1alpha1/namespaces/a/environments/a',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
])('passes on what the pages read: %s', (path) => {
  expect(isReadable(path)).toBe(true)
})

/** As a browser takes an answer. */
async function taken(answer: RouteResponse): Promise<RouteResponse> {
  await Array.fromAsync(answer.body as AsyncIterable<unknown>)
  return answer
}

describe('one user cannot take the dashboard from the others', () => {
  const user = { name: 'bob', groups: [] }
  const given = (query: Readonly<Record<string, string>>) =>
    ({ url: '/api/v1/pods', query, headers: {}, body: '', user }) as unknown as RouteRequest
  const routesTo = (transport: Transport) => readRoutes(() => transport)[0]!

  it('lists at most 500 objects at a time, and watches for a minute at most', async () => {
    const asked: ApiRequest['query'][] = []
    const route = routesTo((request) => {
      asked.push(request.query)
      return Promise.resolve({ status: 200, headers: {}, body: {} })
    })
    for (const query of [
      {},
      { limit: '0' },
      { limit: '9999' },
      { limit: 'x' },
      { limit: '20' },
      { watch: '1', timeoutSeconds: '9999' },
    ])
      await taken(await route.handle(given(query as never)))
    expect(asked).toEqual([
      { limit: '500' },
      { limit: '500' },
      { limit: '500' },
      { limit: '500' },
      { limit: '20' },
      { watch: 'true', timeoutSeconds: '60' },
    ])
  })

  it('answers 24 reads of a user at once, streams until they end', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    async function* until() {
      await promise
      yield 1
    }
    const route = routesTo(() => Promise.resolve({ status: 200, headers: {}, body: undefined, stream: until() }))
    const answers = await Promise.all(Array.from({ length: 24 }, () => route.handle(given({ watch: 'true' }))))
    expect(await route.handle(given({}))).toMatchObject({ status: 429 })
    expect(await route.handle({ ...given({}), user: { name: 'ada', groups: [] } })).toMatchObject({ status: 200 })
    resolve()
    for (const { body } of answers) for await (const line of body as AsyncIterable<unknown>) expect(line).toBe(1)
    expect(await taken(await route.handle(given({})))).toMatchObject({ status: 200 })
  })

  it('reads one list of a user at a time, until the browser has taken it', async () => {
    let asked = 0
    const route = routesTo(() => Promise.resolve((asked++, { status: 200, headers: {}, body: { items: [] } })))
    const answers = [given({}), given({}), { ...given({}), user: { name: 'ada', groups: [] } }].map((request) =>
      route.handle(request),
    )
    const [first] = await Promise.all([answers[0], answers[2]])
    expect(asked).toBe(2)
    for await (const list of first!.body as AsyncIterable<unknown>) expect(list).toEqual({ items: [] })
    await answers[1]
    expect(asked).toBe(3)
  })

  it('is asked for its namespaces once in a while, however often a page wants them', async () => {
    let lists = 0
    const client = new Client((request) => {
      lists++
      expect(request.path).toBe('/api/v1/namespaces')
      return Promise.resolve({ status: 200, headers: {}, body: { metadata: {}, items: [] } })
    })
    const route = namespacesRoute({
      clientAs: () => client,
      own: client,
      clock: { now: () => 0 } as never,
      events: { record: () => {} },
    })
    await Promise.all([route.handle(given({})), route.handle(given({}))])
    expect(lists).toBe(1)
    await route.handle({ ...given({}), user: { name: 'ada', groups: [] } })
    expect(lists).toBe(2)
  })

  it('finds the namespace of a tenant among thousands', async () => {
    const answer = (body: unknown, status = 200) => Promise.resolve({ status, headers: {}, body })
    const names = Array.from({ length: 1200 }, (_, index) => ({ metadata: { name: `pr-${1000 + index}` } }))
    const own = new Client(({ query = {} }) => {
      const from = Number(query.continue ?? 0)
      const next = from + Number(query.limit)
      const metadata = next < names.length ? { continue: String(next) } : {}
      return answer({ metadata, items: names.slice(from, next) })
    })
    const tenant = new Client(({ method, body }) => {
      if (method === 'GET') return answer({ kind: 'Status', reason: 'Forbidden', message: 'no', code: 403 }, 403)
      const { spec } = body as { spec: { resourceAttributes: { namespace: string } } }
      return answer({ status: { allowed: spec.resourceAttributes.namespace === 'pr-2150' } })
    })
    const clock = { now: () => 0 } as never
    const route = namespacesRoute({ clientAs: () => tenant, own, clock, events: { record: () => {} } })
    expect((await route.handle(given({}))).body).toEqual({ names: ['pr-2150'] })
  })
})
