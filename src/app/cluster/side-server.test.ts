import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { issueCertificate } from '../../apiserver/auth/certificates/certificate.ts'
import { StatusError } from '../../kube/status-error.ts'
import { jsonBody, type Route } from '../../runtime/http/route.ts'
import { RouteTable } from '../core/route-table.ts'
import { startSideServer, type SideServerOptions } from './side-server.ts'

it('says in one line that its port is in use, and what to do', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const options = { host: '127.0.0.1', port, certificate: { certificate: '', key: '' } } as SideServerOptions
  await expect(startSideServer(options)).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use: set --port to another one, or to 0 for a free one`,
  )
  await new Promise((resolve) => other.close(resolve))
})

it('answers what a route refuses as the API server does, and tells nothing of its own faults', async () => {
  const routes = new RouteTable()
  const failing = (path: string, error: unknown): Route => ({
    method: 'POST',
    path,
    authenticated: false,
    handle: () => Promise.reject(error as Error),
  })
  routes.add(failing('/refused', new StatusError('Forbidden', 'ada may not create pods in a')))
  routes.add(failing('/broken', new Error('at /home/secret')))
  routes.add({
    ...failing('/json', undefined),
    handle: ({ body }) => Promise.resolve({ status: 200, body: jsonBody(body) }),
  })
  const logged: unknown[] = []
  const server = await startSideServer(serving(routes, (error) => void logged.push(error)))
  try {
    const answers = await Promise.all(['/refused', '/broken', '/json'].map((path) => post(server.url + path, '{')))
    expect(answers.map(({ status }) => status)).toEqual([403, 500, 400])
    expect(answers.map(({ body }) => (body as { message: string }).message)).toEqual([
      'ada may not create pods in a',
      'internal error',
      expect.stringContaining('the body must be JSON'),
    ])
    expect(logged.map(String)).toEqual(['Error: at /home/secret'])
  } finally {
    await server.close()
  }
})

it('ends a stream whose reader had left before it began', async () => {
  const routes = new RouteTable()
  const [asked, left, ended] = [withResolvers(), withResolvers(), withResolvers()]
  async function* lines(): AsyncGenerator<object, void, undefined> {
    try {
      while (true) yield {}
    } finally {
      ended.resolve()
    }
  }
  const handle = async () => (asked.resolve(), await left.promise, { status: 200, body: lines() })
  routes.add({ method: 'GET', path: '/lines', authenticated: false, handle })
  const server = await startSideServer(serving(routes, () => {}))
  try {
    const sent = request(`${server.url}/lines`, { rejectUnauthorized: false, agent: false }).end()
    sent.on('error', () => {})
    await asked.promise
    sent.destroy()
    await new Promise((resolve) => setTimeout(resolve, 100))
    left.resolve()
    await ended.promise
  } finally {
    await server.close()
  }
})

const withResolvers = () => Promise.withResolvers<void>()

function serving(routes: RouteTable, onError: SideServerOptions['onError']): SideServerOptions {
  const certificate = issueCertificate({
    commonName: 'localhost',
    hosts: ['127.0.0.1'],
    usage: 'server',
    now: Date.now(),
    days: 1,
    serial: new Uint8Array(16).fill(1),
  })
  const access = { userOf: () => Promise.resolve(undefined), mayCall: () => Promise.resolve(true) }
  return { host: '127.0.0.1', port: 0, routes, access, certificate, isReady: () => true, onError }
}

async function post(url: string, text: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const sent = request(url, { method: 'POST', rejectUnauthorized: false, agent: false }).end(text)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, body: await json(answer) }
}
