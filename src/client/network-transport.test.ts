import { configMaps } from '../kube/core-types.ts'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Client } from './client.ts'
import { networkTransport } from './network-transport.ts'

const open: { server: Server; network: { close(): void } }[] = []

/** A client of a server that answers as the test says. */
async function clientOf(
  listener: RequestListener,
  credentials: () => Promise<{ token: string }> = () => Promise.resolve({ token: 't' }),
  refresh?: () => void,
  options: Parameters<typeof networkTransport>[1] = {},
) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const address = `http://127.0.0.1:${port}/prefix`
  const config = { server: address, namespace: 'default', credentials, ...(refresh ? { refresh } : {}) }
  const network = networkTransport(config, options)
  open.push({ server, network })
  return new Client(network.transport)
}

afterEach(() => {
  for (const { server, network } of open.splice(0)) {
    network.close()
    server.closeAllConnections()
    server.close()
  }
})

function answer(status: number, type: string, body: string): RequestListener {
  return (_, response) => response.writeHead(status, { 'content-type': type }).end(body)
}

describe('networkTransport', () => {
  it('refuses an answer that is larger than it may be, whatever its length says', async () => {
    const listener = answer(200, 'application/json', JSON.stringify({ items: ['x'.repeat(2 ** 20)] }))
    const client = await clientOf(listener, undefined, undefined, { maxBytes: 2 ** 20 })
    const refusal = { reason: 'RequestEntityTooLarge', message: expect.stringContaining('larger than 1 MiB') as string }
    await expect(client.list(configMaps)).rejects.toMatchObject(refusal)
  })

  it('sends path, query, token and body as the API expects them', async () => {
    const seen: unknown[] = []
    const client = await clientOf((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        seen.push(
          request.method,
          request.url,
          request.headers.authorization,
          request.headers['content-type'],
          Buffer.concat(chunks).toString(),
        )
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    })
    await client.patch(configMaps, { namespace: 'a', name: 'b c' }, { type: 'merge', body: { data: { x: '1' } } })
    expect(seen).toEqual([
      'PATCH',
      '/prefix/api/v1/namespaces/a/configmaps/b%20c?fieldManager=sojourn',
      'Bearer t',
      'application/merge-patch+json',
      '{"data":{"x":"1"}}',
    ])
  })

  it('141: reads no more of an answer or of an event than its limit', async () => {
    let sent = 0
    const endless: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        if (response.destroyed) return
        sent += 100_000
        response.write('[{},'.repeat(25_000), () => setImmediate(more))
      }
      more()
    }
    const client = await clientOf(endless, undefined, undefined, { maxBytes: 2 ** 20 })
    await expect(client.list(configMaps, {})).rejects.toThrow('larger than 1 MiB')
    const watched = async () => {
      for await (const event of client.watch(configMaps, {})) throw new Error(`got ${event.type}`)
    }
    await expect(watched()).rejects.toThrow('a line of more than 1048576 bytes')
    expect(sent).toBeLessThan(50_000_000)
  })

  it('throws what the server said', async () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      message: 'configmaps "x" not found',
      code: 404,
    }
    const client = await clientOf(answer(404, 'application/json', JSON.stringify(status)))
    await expect(client.get(configMaps, { namespace: 'a', name: 'x' })).rejects.toMatchObject({
      name: 'StatusError',
      reason: 'NotFound',
      message: 'configmaps "x" not found',
    })
  })

  it.each([
    ['HTML with 200', answer(200, 'text/html', '<html>login</html>'), 'TransportError'],
    ['broken JSON', answer(200, 'application/json', '{"kind":'), 'TransportError'],
    ['HTML with 502', answer(502, 'text/html', '<html>bad gateway</html>'), 'StatusError'],
    [
      'a connection cut in the middle',
      ((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        response.write('{')
        response.destroy()
      }) as RequestListener,
      'TransportError',
    ],
  ])('makes a typed error of %s', async (_, listener, name) => {
    const client = await clientOf(listener)
    await expect(client.get(configMaps, { namespace: 'a', name: 'x' })).rejects.toMatchObject({ name })
  })

  it('asks for fresh credentials once when refused', async () => {
    let token = 'old'
    const client = await clientOf(
      (request, response) => {
        const fine = request.headers.authorization === 'Bearer new'
        response.writeHead(fine ? 200 : 401, { 'content-type': 'application/json' }).end('{"fine":true}')
      },
      () => Promise.resolve({ token }),
      () => (token = 'new'),
    )
    await expect(client.get(configMaps, { namespace: 'a', name: 'x' })).resolves.toEqual({ fine: true })
  })

  it.each([
    ['an event cut in half', '{"type":"ADDED","obj'],
    ['a line that is not JSON', 'oops\n'],
    ['JSON that is not an event', '{"a":1}\n'],
  ])('fails a watch on %s, after the events before it', async (_, tail) => {
    const client = await clientOf((__, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n')
      response.end(tail)
    })
    const seen: string[] = []
    const watching = (async () => {
      for await (const event of client.watch(configMaps)) seen.push(event.type)
    })()
    await expect(watching).rejects.toMatchObject({ name: 'TransportError' })
    expect(seen).toEqual(['ADDED'])
  })

  it('throws the status an ERROR event carries', async () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'Expired',
      message: 'too old',
      code: 410,
    }
    const client = await clientOf((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`),
    )
    await expect(client.watch(configMaps).next()).rejects.toMatchObject({ reason: 'Expired', code: 410 })
  })

  it('ends a watch when its reader leaves', async () => {
    let closed = () => {}
    const gone = new Promise<void>((resolve) => (closed = resolve))
    const client = await clientOf((_, response) => {
      response.on('close', closed)
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"type":"ADDED","object":{}}\n')
    })
    for await (const __ of client.watch(configMaps)) break
    await gone
  })

  it('lists page by page until the last', async () => {
    const client = await clientOf((request, response) => {
      const first = !request.url?.includes('continue=next')
      const page = {
        metadata: { resourceVersion: '9', ...(first ? { continue: 'next' } : {}) },
        items: [{ metadata: { name: first ? 'a' : 'b' } }],
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page))
    })
    const names: (string | undefined)[] = []
    for await (const page of client.listAll(configMaps)) names.push(...page.items.map(({ metadata }) => metadata.name))
    expect(names).toEqual(['a', 'b'])
  })
})
