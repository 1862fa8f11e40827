import { once } from 'node:events'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/time/clock.ts'
import { decodeProtobuf } from '../schema/wire/protobuf.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

describe('the API over TLS', () => {
  let server: TestServer
  let port = 0
  let token = ''
  beforeAll(async () => {
    server = await startTestServer({
      clock: systemClock,
      limits: { watchesPerUser: 2, urlLength: 4096 },
      extraRoutes: (_, path) => {
        if (path === '/page') return { access: 'public', serve: (_request, response) => void response.end('a page') }
        if (path === '/figures') return { access: 'authorized', serve: (_request, response) => void response.end('42') }
        return undefined
      },
    })
    port = (await server.listen({ port: 0 })).port
    token = server.credentials.tokens.tokenOf('system:admin') ?? ''
  })
  afterAll(() => server.close())

  function send(
    path: string,
    options: RequestOptions & { body?: string | Buffer; token?: string | null } = {},
  ): Promise<Reply> {
    const { body, token: given = token, headers = {}, ...rest } = options
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        {
          host: '127.0.0.1',
          port,
          path,
          ca: server.credentials.authority,
          agent: false,
          headers: {
            ...(given === null ? {} : { authorization: `Bearer ${given}` }),
            ...(headers as Record<string, string>),
          },
          ...rest,
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            const bytes = Buffer.concat(chunks)
            resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() })
          })
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers })

  it.each(['/healthz', '/livez', '/readyz', '/version', '/page'])('serves %s without credentials', async (path) => {
    expect((await send(path, { token: null })).status).toBe(200)
  })

  it.each([
    '/',
    '/api',
    '/apis',
    '/api/v1/namespaces',
    '/openapi/v3',
    '/metrics',
    '/figures',
    '/openid/v1/jwks',
    '/healthz/../api',
    '//api/v1/secrets',
    '/version/../api',
  ])('refuses %s without credentials', async (path) => {
    const { status, text } = await send(path, { token: null })
    expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([401, 'Unauthorized'])
  })

  it('refuses wrong credentials even where none are needed', async () => {
    expect((await send('/version', { token: 'wrong' })).status).toBe(401)
  })

  it('shows the pages of the application to those whom roles allow', async () => {
    expect((await send('/figures')).text).toBe('42')
    const viewer = server.credentials.tokens.tokenOf('sojourn:viewer') ?? ''
    expect((await send('/figures', { token: viewer })).status).toBe(200)
    expect((await send('/figures', { headers: { 'impersonate-user': 'bob' } })).status).toBe(403)
    expect((await send('/figures', { token: viewer, headers: { 'impersonate-user': 'system:admin' } })).status).toBe(
      403,
    )
  })

  it('gives every answer an audit id, and keeps it out of caches', async () => {
    const { headers } = await send('/api/v1/namespaces/default')
    expect(headers['audit-id']).toMatch(/^[-0-9a-f]{36}$/)
    expect(headers['cache-control']).toBe('no-cache, private')
    expect((await send('/api', { headers: { 'audit-id': 'mine' } })).headers['audit-id']).toBe('mine')
  })

  it('sends warnings as headers', async () => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'warned' }, 'odd "näme"': 1 }
    const { headers, status } = await post('/api/v1/namespaces/default/configmaps', body)
    expect(status).toBe(201)
    expect(Buffer.from(String(headers['warning']), 'latin1').toString()).toContain(
      String.raw`299 - "unknown field \"odd`,
    )
  })

  it('takes YAML, and JSON without a content type', async () => {
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {a: "1"}\n'
    expect(
      (await post('/api/v1/namespaces/default/configmaps', yaml, { 'content-type': 'application/yaml' })).status,
    ).toBe(201)
    const json = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'from-json' } }
    expect((await post('/api/v1/namespaces/default/configmaps', json)).status).toBe(201)
  })

  it.each([
    [
      'JSON',
      'application/json',
      '{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},"count":1,"involvedObject":{"namespace":"default"},"x":9223372036854775807}',
    ],
    [
      'YAML',
      'application/yaml',
      'kind: Event\napiVersion: v1\nmetadata: {name: e}\ninvolvedObject: {namespace: default}\nx: 9223372036854775807',
    ],
  ])('does not round an integer in silence, in %s', async (_, type, body) => {
    const path = '/api/v1/namespaces/default/events?dryRun=All&fieldValidation=Strict'
    const { status, text } = await post(path, body, { 'content-type': type })
    expect(status).toBe(400)
    expect(text).toContain('integer stored as 9223372036854776000: beyond 9007199254740991 it is rounded')
  })

  it.each([
    ['declared', { 'content-length': String(4 * 1024 * 1024) }],
    ['not declared', { 'transfer-encoding': 'chunked' }],
  ])('refuses a body above 3 MiB whose size is %s', async (_, headers) => {
    const { status, text } = await send('/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      headers,
      body: Buffer.alloc(4 * 1024 * 1024, 0x20),
    })
    expect([status, (JSON.parse(text) as { message: string }).message]).toEqual([
      413,
      'Request entity too large: limit is 3145728',
    ])
  })

  it('refuses an endless URL', async () => {
    expect((await send(`/api/v1/namespaces?labelSelector=${'a'.repeat(5000)}`)).status).toBe(414)
  })

  it('compresses long answers for those who can read them', async () => {
    const data = { filler: 'x'.repeat(300_000) }
    await post('/api/v1/namespaces/default/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'long' },
      data,
    })
    for (const path of ['/api/v1/namespaces/default/configmaps/long', '/api/v1/namespaces/default/configmaps']) {
      const plain = await send(path)
      const zipped = await send(path, { headers: { 'accept-encoding': 'gzip' } })
      expect(zipped.headers['content-encoding']).toBe('gzip')
      expect(gunzipSync(zipped.bytes).toString()).toBe(plain.text)
    }
    const short = await send('/api/v1/namespaces/default', { headers: { 'accept-encoding': 'gzip' } })
    expect(short.headers['content-encoding']).toBeUndefined()
  })

  it('answers HEAD without a body', async () => {
    const { status, text } = await send('/api/v1/namespaces/default', { method: 'HEAD' })
    expect([status, text]).toEqual([200, ''])
  })

  it('names the kind of built-in objects once for a list', async () => {
    const { text } = await send('/api/v1/namespaces?limit=1')
    expect(JSON.parse(text)).toMatchObject({ kind: 'NamespaceList', items: [{ metadata: { name: 'default' } }] })
    expect(Object.keys((JSON.parse(text) as { items: object[] }).items[0] ?? {})).not.toContain('kind')
  })

  it('lists its paths at / for clients that are not browsers', async () => {
    expect(JSON.parse((await send('/')).text)).toMatchObject({
      paths: expect.arrayContaining(['/api/v1', '/apis/apps/v1', '/version']) as unknown,
    })
  })

  it('indents JSON for ?pretty', async () => {
    const { text } = await send('/api/v1/namespaces/default?pretty=true')
    expect(text).toMatch(/^{\n {2}"apiVersion": "v1",\n/)
  })

  it('writes YAML and protobuf for clients that accept only these', async () => {
    const yaml = await send('/api/v1/namespaces', { headers: { accept: 'application/yaml' } })
    expect(yaml.headers['content-type']).toBe('application/yaml')
    expect(yaml.text).toMatch(/^apiVersion: v1\nitems:\n- metadata:\n {4}creationTimestamp: '2/)
    const accept = 'application/vnd.kubernetes.protobuf'
    const protobuf = await send('/api/v1/namespaces/default', { headers: { accept } })
    expect(protobuf.headers['content-type']).toBe(accept)
    expect(decodeProtobuf(protobuf.bytes)).toMatchObject({ kind: 'Namespace', metadata: { name: 'default' } })
    const missing = await send('/api/v1/namespaces/missing', { headers: { accept } })
    expect(decodeProtobuf(missing.bytes)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 })
  })

  it('streams watches in protobuf, and refuses them in YAML', async () => {
    const path = '/api/v1/namespaces?watch=true&timeoutSeconds=1'
    const { bytes, headers } = await send(path, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
    expect(headers['content-type']).toBe('application/vnd.kubernetes.protobuf;stream=watch')
    expect(bytes.subarray(4).subarray(0, bytes.readUInt32BE()).toString('latin1')).toContain('ADDED')
    expect((await send(path, { headers: { accept: 'application/yaml' } })).status).toBe(406)
  })

  it('serves HTTP/2, with a watch and a request on one connection', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: server.credentials.authority })
    const ask = (path: string, more: OutgoingHttpHeaders = {}) =>
      session.request({ ':path': path, authorization: `Bearer ${token}`, ...more })
    const watch = ask('/api/v1/configmaps?watch=true&resourceVersion=0&labelSelector=h2')
    watch.setEncoding('utf8')
    const [head] = (await once(watch, 'response')) as [IncomingHttpHeaders]
    expect(head).toMatchObject({ ':status': 200, 'content-type': 'application/json' })
    const create = ask('/api/v1/namespaces/default/configmaps', { ':method': 'POST' })
    create.end(JSON.stringify({ metadata: { name: 'h2', labels: { h2: 'yes' } } }))
    const [created] = (await once(create, 'response')) as [IncomingHttpHeaders]
    expect(created[':status' as keyof IncomingHttpHeaders]).toBe(201)
    const [line] = (await once(watch, 'data')) as [string]
    expect(JSON.parse(line)).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'h2' } } })
    session.destroy()
  })

  it('ends a body over HTTP/2 that does not arrive', async () => {
    await using slow = await startTestServer({ clock: systemClock, limits: { requestMs: 50 } })
    const { port: slowPort } = await slow.listen({ port: 0 })
    const session = connectHttp2(`https://127.0.0.1:${slowPort}`, { ca: slow.credentials.authority })
    const create = session.request({
      ':path': '/api/v1/namespaces/default/configmaps',
      ':method': 'POST',
      authorization: `Bearer ${slow.credentials.tokens.tokenOf('system:admin') ?? ''}`,
    })
    create.on('error', () => {})
    create.write('{')
    await once(create, 'close')
    session.destroy()
  })

  it('answers a review only as itself, not as a Table', async () => {
    const body = JSON.stringify({ spec: { nonResourceAttributes: { path: '/', verb: 'get' } } })
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const ask = (accept: string) =>
      send(path, { method: 'POST', body, headers: { accept, 'content-type': 'application/json' } })
    expect((await ask(table)).status).toBe(406)
    expect((await ask(`${table},application/json`)).status).toBe(201)
    expect((await ask('application/json')).status).toBe(201)
  })

  it('lets clients cache discovery until it changes', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const first = await send('/apis', { headers: { accept } })
    const etag = first.headers.etag ?? ''
    expect(first.headers['content-type']).toBe(accept)
    const second = await send('/apis', { headers: { accept, 'if-none-match': etag } })
    expect([second.status, second.text, second.headers['content-type']]).toEqual([304, '', undefined])
  })

  it('lets clients cache OpenAPI documents under their hash, and redirects an old hash to the new one', async () => {
    const { paths } = JSON.parse((await send('/openapi/v3')).text) as {
      paths: Record<string, { serverRelativeURL: string }>
    }
    const url = paths['apis/apps/v1']?.serverRelativeURL ?? ''
    const document = await send(url)
    expect(document.headers['cache-control']).toContain('immutable')
    expect((await send(url, { headers: { 'if-none-match': document.headers.etag ?? '' } })).status).toBe(304)
    const moved = await send('/openapi/v3/apis/apps/v1?hash=OLD')
    expect([moved.status, moved.headers.location]).toEqual([301, url])
  })

  it('counts the watches of a user', async () => {
    const open = () =>
      new Promise<{ status: number; close: () => void }>((resolve) => {
        const outgoing = httpsRequest(
          {
            host: '127.0.0.1',
            port,
            path: '/api/v1/configmaps?watch=true',
            ca: server.credentials.authority,
            agent: false,
            headers: { authorization: `Bearer ${token}` },
          },
          (response) => {
            response.resume()
            resolve({ status: response.statusCode ?? 0, close: () => outgoing.destroy() })
          },
        )
        outgoing.on('error', () => {})
        outgoing.end()
      })
    const watches = [await open(), await open(), await open()]
    expect(watches.map(({ status }) => status)).toEqual([200, 200, 429])
    for (const watch of watches) watch.close()
    await expect.poll(() => server.objects.watches).toBe(0)
  })

  it('answers so many requests of a user at once, and lets those of others pass', async () => {
    const small = await startTestServer({ clock: systemClock, limits: { requestsPerUser: 2 } })
    try {
      const { port: at } = await small.listen({ port: 0 })
      const ask = (user: string, { headers = {}, ...options }: RequestOptions = {}) => {
        const authorization = `Bearer ${small.credentials.tokens.tokenOf(user) ?? ''}`
        const outgoing = httpsRequest({
          host: '127.0.0.1',
          port: at,
          path: '/api/v1/namespaces',
          ca: small.credentials.authority,
          agent: false,
          headers: { ...(headers as object), authorization },
          ...options,
        })
        let isAnswered = false
        const answered = once(outgoing, 'response').then(() => (isAnswered = true))
        return { outgoing, answered, isAnswered: () => isAnswered }
      }
      const begun = [1, 2].map(() => ask('system:admin', { method: 'POST', headers: { expect: '100-continue' } }))
      for (const { outgoing } of begun) outgoing.write('{')
      await Promise.all(begun.map(({ outgoing }) => once(outgoing, 'continue')))
      const third = ask('system:admin')
      third.outgoing.end()
      const other = ask('sojourn:viewer')
      other.outgoing.end()
      await other.answered
      expect(third.isAnswered()).toBe(false)
      begun[0]?.outgoing.end('}')
      await third.answered
      begun[1]?.outgoing.end('}')
      await Promise.all(begun.map(({ answered }) => answered))
    } finally {
      await small.close()
    }
  })

  it('answers an impossible watch with a Status and not with a stream', async () => {
    const { status, text } = await send('/api/v1/configmaps?watch=true&sendInitialEvents=true')
    expect([status, (JSON.parse(text) as { reason: string }).reason]).toEqual([422, 'Invalid'])
  })

  it.each([
    ['head', 'GET /version HTTP/1.1\r\nHost: x\r\n'],
    ['body', 'POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
    ['first byte', ''],
  ])('does not wait for ever for the %s of a request', async (_, begun) => {
    const impatient = await startTestServer({ clock: systemClock, limits: { requestMs: 200 } })
    try {
      const { port: at } = await impatient.listen({ port: 0 })
      const socket = connect({ host: '127.0.0.1', port: at, ca: impatient.credentials.authority })
      const isClosed = new Promise<boolean>((resolve) => socket.on('close', () => resolve(true)).resume())
      socket.write(begun)
      expect(await isClosed).toBe(true)
    } finally {
      await impatient.close()
    }
  })

  it('hangs up on what is not HTTP', async () => {
    const socket = connect({ host: '127.0.0.1', port, ca: server.credentials.authority })
    const heard = new Promise<string>((resolve) => {
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
      socket.on('close', () => resolve(text))
    })
    socket.end('HELLO\r\n\r\n')
    expect(await heard).toContain('400 Bad Request')
  })
})
