import { execFile } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { WebSocket as WsClient, WebSocketServer } from 'ws'
import { inFlightOf } from './routing/counters.ts'
import type { Address } from './routing/route.ts'
import { certificateFor, eventually, startProxy, type TestProxy } from '../../../../test/activator/proxy.ts'

const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() }

function method(path: string, requestStream: boolean, responseStream: boolean) {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: text.serialize,
    requestDeserialize: text.deserialize,
    responseSerialize: text.serialize,
    responseDeserialize: text.deserialize,
  }
}

const methods = {
  say: method('/demo.Talk/Say', false, false),
  count: method('/demo.Talk/Count', false, true),
  join: method('/demo.Talk/Join', true, false),
  chat: method('/demo.Talk/Chat', true, true),
  fail: method('/demo.Talk/Fail', false, false),
}

/** A real gRPC server as a pod. */
async function startGrpcPod(): Promise<Disposable & { readonly address: Address }> {
  const server = new grpc.Server()
  server.addService(methods, {
    say: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) => {
      const trailer = new grpc.Metadata()
      trailer.set('x-trailer', 'seen')
      done(null, `you said ${call.request} as ${String(call.metadata.get('x-who')[0])}`, trailer)
    },
    count: (call: grpc.ServerWritableStream<string, string>) => {
      for (let i = 1; i <= Number(call.request); i++) call.write(String(i))
      call.end()
    },
    join: (call: grpc.ServerReadableStream<string, string>, done: grpc.sendUnaryData<string>) => {
      const words: string[] = []
      call.on('data', (word: string) => words.push(word))
      call.on('end', () => done(null, words.join('+')))
    },
    chat: (call: grpc.ServerDuplexStream<string, string>) => {
      call.on('data', (word: string) => call.write(word.toUpperCase()))
      call.on('end', () => call.end())
    },
    fail: (_: unknown, done: grpc.sendUnaryData<string>) =>
      done({ code: grpc.status.ALREADY_EXISTS, details: 'there is one' }),
  })
  const bind = promisify(server.bindAsync.bind(server)) as (at: string, as: grpc.ServerCredentials) => Promise<number>
  const port = await bind('127.0.0.1:0', grpc.ServerCredentials.createInsecure())
  return { address: { host: '127.0.0.1', port }, [Symbol.dispose]: () => server.forceShutdown() }
}

interface Talk extends grpc.Client {
  say(word: string, metadata: grpc.Metadata, done: grpc.requestCallback<string>): grpc.ClientUnaryCall
  fail(word: string, done: grpc.requestCallback<string>): grpc.ClientUnaryCall
  count(to: string): grpc.ClientReadableStream<string>
  join(done: grpc.requestCallback<string>): grpc.ClientWritableStream<string>
  chat(): grpc.ClientDuplexStream<string, string>
}

/** A real gRPC client of the route. */
function talk(port: number, credentials = grpc.credentials.createInsecure(), host = 'app.test'): Talk & Disposable {
  const Client = grpc.makeGenericClientConstructor(methods, 'Talk')
  const client = new Client(`127.0.0.1:${port}`, credentials, {
    'grpc.default_authority': host,
    'grpc.ssl_target_name_override': host,
  }) as unknown as Talk
  return Object.assign(client, { [Symbol.dispose]: () => client.close() })
}

const say = (client: Talk, word: string) =>
  new Promise<string>((resolve, reject) => {
    const metadata = new grpc.Metadata()
    metadata.set('x-who', 'a friend')
    client.say(word, metadata, (error, answer) => (error ? reject(error) : resolve(answer!)))
  })

describe('a real gRPC client', () => {
  const warm = (it: TestProxy, { address }: { readonly address: Address }) =>
    it.proxy.setTarget('t', { is: 'warm', endpoints: [address], protocol: 'h2c' })

  it('makes calls of all four shapes through the proxy (C50)', async () => {
    using pod = await startGrpcPod()
    await using it = await startProxy()
    warm(it, pod)
    using client = talk(it.port)
    expect(await say(client, 'hello')).toBe('you said hello as a friend')
    const counted = await Array.fromAsync(client.count('500') as AsyncIterable<string>)
    expect(counted).toEqual(Array.from({ length: 500 }, (_, i) => String(i + 1)))
    const joined = new Promise((resolve, reject) => {
      const call = client.join((error, answer) => (error ? reject(error) : resolve(answer)))
      for (const word of ['a', 'b', 'c']) call.write(word)
      call.end()
    })
    expect(await joined).toBe('a+b+c')
    const chat = client.chat()
    const replies = chat[Symbol.asyncIterator]() as AsyncIterator<string>
    for (const word of ['one', 'two']) {
      chat.write(word)
      expect((await replies.next()).value).toBe(word.toUpperCase())
    }
    // A call that is open counts as in use, however silent it is.
    expect(inFlightOf(it.proxy.counters[0].slot(0))).toBe(1)
    chat.end()
    expect((await replies.next()).done).toBe(true)
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('sees the status a pod gives, and trailers', async () => {
    using pod = await startGrpcPod()
    await using it = await startProxy()
    warm(it, pod)
    using client = talk(it.port)
    const failed = new Promise((resolve) => client.fail('x', resolve))
    expect(await failed).toMatchObject({ code: grpc.status.ALREADY_EXISTS, details: 'there is one' })
    const trailer = new Promise<grpc.Metadata>((resolve) => {
      const call = client.say('x', new grpc.Metadata(), () => {})
      call.on('status', ({ metadata }) => resolve(metadata))
    })
    expect((await trailer).get('x-trailer')).toEqual(['seen'])
  })

  it('waits while a pod wakes: a hundred calls on one connection, one wake (C105)', async () => {
    using pod = await startGrpcPod()
    await using it = await startProxy()
    using client = talk(it.port)
    const calls = Array.from({ length: 100 }, (_, i) => say(client, String(i)))
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 100)
    expect(new Set(it.woken)).toEqual(new Set(['t']))
    warm(it, pod)
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 100 }, (_, i) => `you said ${i} as a friend`))
  })

  it('is told UNAVAILABLE when the pod is not ready in time, and UNIMPLEMENTED for an unknown host', async () => {
    await using it = await startProxy({ readinessTimeoutMs: 300 })
    using client = talk(it.port)
    await expect(say(client, 'x')).rejects.toMatchObject({ code: grpc.status.UNAVAILABLE })
    using stranger = talk(it.port, undefined, 'nobody.test')
    await expect(say(stranger, 'x')).rejects.toMatchObject({ code: grpc.status.UNIMPLEMENTED })
  })

  it('comes over TLS by ALPN (C50)', async () => {
    using pod = await startGrpcPod()
    await using it = await startProxy()
    const certificate = certificateFor('app.test')
    const port = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    await it.proxy.setCertificates([certificate])
    warm(it, pod)
    using client = talk(port, grpc.credentials.createSsl(Buffer.from(certificate.cert)))
    expect(await say(client, 'hello')).toBe('you said hello as a friend')
  })
})

/** A real WebSocket server as a pod: echoes texts and bytes. */
async function startWebSocketPod(): Promise<Disposable & { readonly address: Address }> {
  const server = http.createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: true })
  sockets.on('connection', (socket) =>
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    [Symbol.dispose]: () => {
      for (const socket of sockets.clients) socket.terminate()
      server.close()
    },
  }
}

describe('a real WebSocket client', () => {
  it('talks through the proxy from cold, compressed and in large pieces (C49)', async () => {
    using pod = await startWebSocketPod()
    await using it = await startProxy()
    const socket = new WsClient(`ws://127.0.0.1:${it.port}/chat`, { headers: { host: 'app.test' } })
    await eventually(() => it.woken.length > 0)
    it.warm(pod.address)
    await new Promise((resolve) => socket.on('open', resolve))
    const echo = (data: string | Buffer) =>
      new Promise<Buffer>((resolve) => {
        socket.once('message', (reply: Buffer) => resolve(reply))
        socket.send(data)
      })
    expect((await echo('hello')).toString()).toBe('hello')
    const large = Buffer.alloc(3_000_000, 'sojourn')
    expect((await echo(large)).equals(large)).toBe(true)
    expect(inFlightOf(it.proxy.counters[0].slot(0))).toBe(1)
    socket.close(1000, 'enough')
    const [code, reason] = await new Promise<[number, Buffer]>((resolve) =>
      socket.on('close', (...closed) => resolve(closed)),
    )
    expect([code, reason.toString()]).toEqual([1000, 'enough'])
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('may be the one that browsers have', async () => {
    using pod = await startWebSocketPod()
    await using it = await startProxy({ hosts: ['127.0.0.1'] })
    it.warm(pod.address)
    const socket = new WebSocket(`ws://127.0.0.1:${it.port}/`)
    const reply = new Promise((resolve, reject) => {
      socket.addEventListener('open', () => socket.send('hello'))
      socket.addEventListener('message', ({ data }) => resolve(data))
      socket.addEventListener('error', () => reject(new Error('no connection')))
    })
    expect(await reply).toBe('hello')
    socket.close()
  })
})

describe('a real curl', () => {
  const run = promisify(execFile)

  /** A pod that answers with method, body length and a trailer. */
  async function startPod(): Promise<Disposable & { readonly address: Address }> {
    const server = http.createServer((request, response) => {
      let length = 0
      request.on('data', (data: Buffer) => (length += data.length))
      request.on('end', () => {
        response.writeHead(200, { trailer: 'x-sum' })
        response.write(`${request.method} ${length}`)
        response.addTrailers({ 'x-sum': String(length) })
        response.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
      [Symbol.dispose]: () => {
        server.closeAllConnections()
        server.close()
      },
    }
  }

  it.each([
    ['asks', [], 'GET 0'],
    ['sends a body', ['--data-binary', 'hello'], 'POST 5'],
    ['waits for a 100', ['-H', 'Expect: 100-continue', '--data-binary', 'x'.repeat(100_000)], 'POST 100000'],
    ['sends chunks', ['-H', 'Transfer-Encoding: chunked', '-X', 'PUT', '--data-binary', 'chunked'], 'PUT 7'],
    ['speaks HTTP/1.0', ['--http1.0'], 'GET 0'],
    ['speaks HTTP/2 by prior knowledge', ['--http2-prior-knowledge', '--data-binary', 'two'], 'POST 3'],
  ])('%s', async (_, flags, expected) => {
    using pod = await startPod()
    await using it = await startProxy()
    const answer = run('curl', ['-sS', '-m', '20', '-H', 'Host: app.test', ...flags, `http://127.0.0.1:${it.port}/`])
    await eventually(() => it.woken.length > 0)
    it.warm(pod.address)
    expect((await answer).stdout).toBe(expected)
  })
})
