import { Agent, createServer, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import type { Route } from '../../runtime/http/route.ts'
import { RouteTable } from './route-table.ts'

const echo: Route = {
  method: 'POST',
  path: '/things/:name/touch',
  handle: ({ params, query, body, user }) =>
    Promise.resolve({ status: 200, body: { params, query, body, user: user?.name ?? null } }),
}

async function ask(
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; headers: Headers; text: string }> {
  const table = new RouteTable()
  table.add(echo)
  const server = createServer((request, response) => {
    const found = table.find(request.method ?? '', new URL(request.url ?? '', 'http://x').pathname)
    if (!found) return void response.writeHead(404).end('left to the API')
    void found.serve(request, response, { name: 'bob', groups: [] })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } finally {
    server.close()
  }
}

describe('RouteTable', () => {
  it('passes parameters, query, body and user to a route', async () => {
    const { status, text } = await ask('POST', '/things/a%20b/touch?x=1', 'hello')
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { params: { name: 'a b' }, query: { x: '1' }, body: 'hello', user: 'bob' },
    ])
  })

  it.each([
    ['another path', 'POST', '/things/a', 404],
    ['an empty parameter', 'POST', '/things//touch', 404],
    ['a broken escape', 'POST', '/things/%zz/touch', 404],
    ['another method', 'GET', '/things/a/touch', 405],
  ])('does not answer %s', async (_, method, path, status) => expect((await ask(method, path)).status).toBe(status))

  it('refuses a body that is too large', async () =>
    expect((await ask('POST', '/things/a/touch', 'x'.repeat(1_100_000))).status).toBe(413))

  it('140: answers the next request on the connection of a body that is too large', async () => {
    const table = new RouteTable()
    table.add(echo)
    const found = table.find('POST', '/things/a/touch')!
    await using server = createServer(
      (request, response) => void found.serve(request, response, { name: 'bob', groups: [] }),
    )
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { port } = server.address() as AddressInfo
    const post = (body: string) =>
      new Promise<number>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/' }, (response) => {
          response.resume().once('end', () => resolve(response.statusCode ?? 0))
        })
        sent.setTimeout(3000, () => sent.destroy(new Error('no answer'))).once('error', reject)
        sent.end(body)
      })
    // Proxies and API servers send requests of many users on one connection.
    expect([await post('x'.repeat(1_500_000)), await post('x')]).toEqual([413, 200])
    agent.destroy()
  })

  it('takes no more from a stream than its reader takes', async () => {
    let taken = 0
    async function* endless() {
      for (;;) yield await Promise.resolve(`${taken++} ${'x'.repeat(10_000)}`)
    }
    const table = new RouteTable()
    table.add({ method: 'GET', path: '/lines', handle: () => Promise.resolve({ status: 200, body: endless() }) })
    const server = createServer((request, response) => {
      void table.find('GET', '/lines')?.serve(request, response, { name: 'bob', groups: [] })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.pause().write('GET /lines HTTP/1.1\r\nhost: x\r\n\r\n')
    await vi.waitFor(async () => {
      const before = taken
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect([taken > 0, taken - before]).toEqual([true, 0])
    }, 5000)
    socket.destroy()
    server.close()
  })

  it('sends headers against framing, caching and sniffing', async () => {
    const { headers } = await ask('POST', '/things/a/touch', '')
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })
})
