import fc from 'fast-check'
import http from 'node:http'
import { describe, expect, it } from 'vitest'
import { rawClient, startBackend, startProxy } from '../../../../test/activator/proxy.ts'

const inner = 'GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n'
const post = 'POST / HTTP/1.1\r\nHost: app.test\r\n'

const heads: [string, string][] = [
  ['CL and TE', `${post}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['TE and CL', `${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n${inner}0\r\n\r\n`],
  ['two lengths', `${post}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${inner}`],
  ['a signed length', `${post}Content-Length: +5\r\n\r\nhello${inner}`],
  ['a list of lengths', `${post}Content-Length: 5, 5\r\n\r\nhello${inner}`],
  ['identity', `${post}Transfer-Encoding: identity\r\n\r\n${inner}`],
  ['xchunked', `${post}Transfer-Encoding: xchunked\r\n\r\n${inner}`],
  ['chunked twice', `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${inner}`],
  ['a space before the colon', `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['a folded coding', `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['a bare line feed', `${post}X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['a bare carriage return', `${post}X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['a NUL', `${post}X: \0\r\n\r\n${inner}`],
  ['line feeds alone', `POST / HTTP/1.1\nHost: app.test\n\n${inner}`],
  ['TE on HTTP/1.0', `POST / HTTP/1.0\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['two hosts', `GET / HTTP/1.1\r\nHost: app.test\r\nHost: other.test\r\n\r\n`],
  ['no host', 'GET / HTTP/1.1\r\n\r\n'],
  ['an empty host', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
  ['a host beyond ASCII', 'GET / HTTP/1.1\r\nHost: \u00e4pp.test\r\n\r\n'],
  ['a host with credentials', 'GET / HTTP/1.1\r\nHost: a@app.test\r\n\r\n'],
  ['a space in the target', 'GET /a b HTTP/1.1\r\nHost: app.test\r\n\r\n'],
  ['a target with credentials', 'GET http://a@app.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n'],
  ['bad chunks in the first packet', `${post}Transfer-Encoding: chunked\r\n\r\n5;x\nhello\r\n0\r\n\r\n${inner}`],
  ['a chunk size with a line feed', `${post}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n${inner}`],
]

describe('an ambiguous request', () => {
  it.each(heads)('with %s gets 400, a closed connection, and not one byte through (C71, C73)', async (_, request) => {
    await using pod = await startBackend((_text, socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    )
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(request)
    const text = await client.closed()
    expect(text).toMatch(/^HTTP\/1.1 400 [^]*Connection: close/)
    expect(text.match(/HTTP\/1.1/g)).toHaveLength(1 + (text.match(/HTTP\/1.1\.\n/)?.length ?? 0))
    expect(pod.received).toEqual([])
  })

  it('that goes wrong in its body never completes at the pod', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${post}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
    while (!pod.received[0]?.includes('hello')) await new Promise((resolve) => setImmediate(resolve))
    client.send(`Z\r\n${inner}`)
    expect(await client.closed()).toMatch(/^HTTP\/1.1 400/)
    expect(pod.received[0]).not.toContain('smuggled')
  })

  it('with CONNECT is refused', async () => {
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send('CONNECT app.test:443 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    expect(await client.closed()).toMatch(/^HTTP\/1.1 405/)
  })

  it('with an unknown expectation is refused', async () => {
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send(`${post}Content-Length: 0\r\nExpect: miracles\r\n\r\n`)
    expect(await client.closed()).toMatch(/^HTTP\/1.1 417/)
  })
})

interface Seen {
  readonly method: string
  readonly url: string
  readonly body: string
}

/** What Node's own server makes of the same bytes: the requests it saw, or that it refused them. */
async function nodeReads(port: number, seen: Seen[], bytes: string): Promise<{ refused: boolean; seen: Seen[] }> {
  seen.length = 0
  using client = rawClient(port)
  client.send(bytes)
  client.socket.end()
  const text = await client.closed()
  return { refused: /HTTP\/1.1 4\d\d/.test(text), seen: [...seen] }
}

function recordingServer(seen: Seen[]): http.Server {
  return http.createServer({ keepAliveTimeout: 1 }, (request, response) => {
    const entry = { method: request.method!, url: request.url!, body: '' }
    seen.push(entry)
    request.on('data', (data: Buffer) => (entry.body += data.toString('latin1')))
    request.on('end', () => response.end())
    request.on('error', () => {})
  })
}

/** Requests that are nearly right: a valid one with a few pieces changed for hostile ones. */
const hostile = fc
  .record({
    line: fc.constantFrom(
      'GET / HTTP/1.1',
      'POST /a HTTP/1.1',
      'GET  / HTTP/1.1',
      'GET / HTTP/1.0',
      'POST / HTTP/1.1 ',
      'G\tT / HTTP/1.1',
      'PUT /x?y=%00 HTTP/1.1',
    ),
    fields: fc.array(
      fc.constantFrom(
        'Content-Length: 5',
        'Content-Length: 0',
        'Content-Length: +5',
        'content-length:5',
        'Content-Length: 5 ',
        'Content-Length: 05',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: Chunked',
        'transfer-encoding:\tchunked',
        'Transfer-Encoding: gzip, chunked',
        'Transfer-Encoding : chunked',
        'X: y',
        'X: y\r\n z',
        'X:\x00',
        'X: \x7f',
        'X-\u00e9: y',
        ': y',
        'Connection: close',
        'Connection: x, keep-alive',
        'Expect: 100-continue',
      ),
      { maxLength: 4 },
    ),
    end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    body: fc.constantFrom(
      '',
      'hello',
      '5\r\nhello\r\n0\r\n\r\n',
      '5;x=y\r\nhello\r\n0\r\n\r\n',
      '5\nhello\r\n0\r\n\r\n',
      '0\r\nX: y\r\n\r\n',
      '-1\r\n\r\n',
      '5\r\nhelloXX0\r\n\r\n',
      'GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n',
    ),
  })
  .map(({ line, fields, end, body }) => `${[line, 'Host: app.test', ...fields].join(end)}${end}${end}${body}`)

describe('against Node’s own parser', () => {
  it('the proxy is never more lenient, and never sees other requests (C58, C73)', async () => {
    const direct: Seen[] = []
    const behind: Seen[] = []
    const [reference, pod] = [recordingServer(direct), recordingServer(behind)]
    for (const server of [reference, pod]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const portOf = (server: http.Server) => (server.address() as { port: number }).port
    await using it = await startProxy()
    it.warm({ host: '127.0.0.1', port: portOf(pod) })
    await fc.assert(
      fc.asyncProperty(hostile, async (bytes) => {
        const node = await nodeReads(portOf(reference), direct, bytes)
        behind.length = 0
        using client = rawClient(it.port)
        client.send(bytes)
        // What the proxy forwarded whole, the pod answers; what it refused, it closes; then nothing more can come.
        client.send('GET /last HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
        await Promise.race([client.closed(), client.until((text) => text.includes('X-Never'))])
        const forwarded = behind.filter(({ url }) => url !== '/last')
        for (const [index, request] of forwarded.entries()) {
          const reference = node.seen[index]
          expect(reference, `${JSON.stringify(bytes)} let through ${JSON.stringify(request)}`).toBeDefined()
          expect([request.method, request.url]).toEqual([reference!.method, reference!.url])
          expect(request.body.startsWith(reference!.body), JSON.stringify([bytes, request, reference])).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
    for (const server of [reference, pod]) {
      server.closeAllConnections()
      server.close()
    }
  })
})
