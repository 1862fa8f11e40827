import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cell, inFlightOf } from './routing/counters.ts'
import { eventually, rawClient, roundTrip, startEcho, startProxy } from '../../../../test/activator/proxy.ts'

const checks = { purpose: { is: 'checks' } } as const

const hasNginx = spawnSync('nginx', ['-v']).status === 0
if (!hasNginx)
  console.warn('\n*** auth_request is SKIPPED, for there is no nginx here: apt-get install -y nginx-light\n')

const check = (port: number, fields: string) =>
  roundTrip(port, `GET / HTTP/1.1\r\n${fields}\r\nConnection: close\r\n\r\n`)

it('says yes at once while pods are up, forwards nothing, and counts a use', async () => {
  await using pod = await startEcho()
  await using proxy = await startProxy({}, {}, checks)
  proxy.warm(pod.address)
  const answer = await check(proxy.port, 'Host: app.test')
  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(answer).toContain('Content-Length: 0\r\n')
  expect(pod.received).toEqual([])
  const cells = proxy.proxy.counters[0].slot(0)
  expect([cells[cell.started], inFlightOf(cells)]).toEqual([1, 0])
})

it('holds the question until a pod takes connections, and tells that it had to', async () => {
  await using pod = await startEcho()
  await using proxy = await startProxy({}, {}, checks)
  using client = rawClient(proxy.port)
  client.send('GET / HTTP/1.1\r\nHost: app.test\r\n\r\n')
  await eventually(() => proxy.woken.length > 0)
  // The pod counts as ready, but no process listens there.
  proxy.warm({ host: '127.0.0.1', port: 1 })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(client.text).toBe('')
  proxy.warm(pod.address)
  expect(await client.until((text) => text.includes('\r\n\r\n'))).toMatch(/200 OK[^]*X-Cold-Start: \d+/)
  expect(pod.received.join('')).toBe('')
})

it('goes by the host the client asked for, as other proxies pass it on', async () => {
  await using pod = await startEcho()
  await using proxy = await startProxy({ pathPrefix: '/api' }, {}, checks)
  proxy.warm(pod.address)
  const forwarded = 'Host: sojourn-proxy\r\nX-Forwarded-Host: app.test, inner\r\n'
  expect(await check(proxy.port, `${forwarded}X-Forwarded-Uri: /api/x`)).toContain(' 200 ')
  expect(await check(proxy.port, `${forwarded}X-Original-Uri: /other`)).toContain(' 404 ')
  expect(await check(proxy.port, 'Host: other.test')).toContain(' 404 ')
  expect(await check(proxy.port, 'Host: app.test\r\nX-Forwarded-Host: a b')).toContain(' 400 ')
})

it('refuses in time when the workload does not come up', async () => {
  await using proxy = await startProxy({ readinessTimeoutMs: 100 }, {}, checks)
  expect(await check(proxy.port, 'Host: app.test')).toContain('504 ')
})

it.skipIf(!hasNginx)(
  'works with the auth_request of a real nginx: its first request waits, then goes to the pod past the proxy',
  async () => {
    const pod = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(chunks).length}`))
    })
    await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
    const podPort = (pod.address() as AddressInfo).port
    await using proxy = await startProxy({}, {}, checks)
    await using nginx = await startNginx(
      (port) => `
      server {
        listen 127.0.0.1:${port};
        location / { auth_request /_awake; proxy_pass http://127.0.0.1:${podPort}; }
        location = /_awake {
          internal;
          proxy_pass http://127.0.0.1:${proxy.port};
          proxy_pass_request_body off;
          proxy_set_header Content-Length "";
          proxy_set_header Host $host;
          proxy_set_header X-Original-URI $request_uri;
          proxy_read_timeout 60s;
        }
      }`,
    )
    const body = 'x'.repeat(100_000)
    const post = `POST /form HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    const answer = roundTrip(nginx.port, post)
    await eventually(() => proxy.woken.length > 0)
    proxy.warm({ host: '127.0.0.1', port: podPort })
    expect(await answer).toContain('POST /form 100000')
    expect(await roundTrip(nginx.port, 'GET /next HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')).toContain(
      'GET /next 0',
    )
    expect(proxy.proxy.counters[0].slot(0)[cell.started]).toBe(2)
    pod.closeAllConnections()
    pod.close()
  },
)

/** A real nginx with these servers. */
async function startNginx(servers: (port: number) => string): Promise<AsyncDisposable & { readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const free = net.createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const { port } = free.address() as AddressInfo
  await new Promise((resolve) => free.close(resolve))
  mkdirSync(join(folder, 'temp'))
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/temp/${kind};`)
    .join(' ')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${paths} ${servers(port)} }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { stdio: 'ignore' })
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`nginx ended with ${code}`)))
  })
  failed.catch(() => {})
  const answers = async () => {
    while ((await roundTrip(port, 'GET /_awake HTTP/1.0\r\n\r\n').catch(() => '')) === '')
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await Promise.race([answers(), failed])
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
