import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { loadCredentials } from '../../apiserver/auth/credentials.ts'
import { kubeconfigText } from '../../apiserver/auth/certificates/kubeconfig.ts'
import { readConfig } from '../../app/config/config.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { main } from '../program.ts'

const wait = { timeout: 30_000, interval: 20 }

/** A running `sojourn run`, and its output. */
interface Running {
  readonly said: { out: string; err: string }
  readonly end: () => Promise<number>
  readonly code: Promise<number>
}

function run(kubeconfig: string, ...flags: readonly string[]): Running {
  const said = { out: '', err: '' }
  const stop = new AbortController()
  const code = main(['run', '--only', 'collector', '--kubeconfig', kubeconfig, ...flags], {
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    env: {},
    now: () => Date.now(),
    isTerminal: false,
    isErrTerminal: false,
    colours: false,
    width: 100,
    height: 50,
    signal: stop.signal,
  })
  return { said, code, end: () => (stop.abort(new Error('SIGTERM')), code) }
}

/** Reserves the port of a future API server: connections are closed at once. */
async function holdPort(port: number): Promise<Server> {
  const server = createServer((socket: Socket) => socket.destroy())
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function freed(server: Server): Promise<number> {
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (answer) => (answer.resume(), resolve(answer.statusCode)))
      .on('error', reject)
      .end()
  })
}

describe('sojourn run', () => {
  let directory: string
  let up: Up
  const start = async (port: number) => {
    const flags = { data: join(directory, 'data'), port: String(port), only: 'api', durable: false }
    up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  }
  const kubeconfig = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'run-'))
    await start(0)
  })
  afterAll(async () => {
    await up?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('waits for an unreachable cluster, logs which and why, and is not ready meanwhile', async () => {
    const port = Number(new URL(up.api).port)
    await up.stop()
    const reserved = await holdPort(port)
    const own = await freed(await holdPort(0))
    const running = run(up.kubeconfig, '--port', String(own))
    const tries = () => running.said.err.split('cluster not reachable, retrying').length - 1
    await vi.waitFor(() => expect(tries()).toBeGreaterThan(1), wait)
    expect(JSON.parse(running.said.err.split('\n')[0] ?? '')).toMatchObject({
      level: 'error',
      server: up.api,
      error: expect.stringContaining(`GET to 127.0.0.1:${port} failed: `),
      againInMs: expect.any(Number),
    })
    expect(await statusOf(`https://127.0.0.1:${own}/readyz`)).toBe(503)
    expect(await statusOf(`https://127.0.0.1:${own}/healthz`)).toBe(200)
    expect(running.said.out).toBe('')

    await freed(reserved)
    await start(port)
    await vi.waitFor(() => expect(running.said.out).toContain(`sojourn running server=${up.api}`), wait)
    await vi.waitFor(async () => expect(await statusOf(`https://127.0.0.1:${own}/readyz`)).toBe(200), wait)
    expect(await running.end()).toBe(0)
  }, 90_000)

  it('stops cleanly while it waits', async () => {
    const reserved = await holdPort(0)
    const { port } = reserved.address() as AddressInfo
    const text = readFileSync(up.kubeconfig, 'utf8').replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`)
    const running = run(kubeconfig('reserved', text), '--port', '0')
    await vi.waitFor(() => expect(running.said.err).toContain('cluster not reachable'), wait)
    expect(await running.end()).toBe(0)
    await freed(reserved)
  })

  it.each([
    [
      'a token that is not valid',
      'is invalid or expired. Get a new kubeconfig',
      (text: string) => text.replace(/token: .*/, 'token: wrong'),
    ],
    ['a foreign certificate authority', 'use the kubeconfig that belongs to it', () => strangersConfig(up.api)],
  ])('fails at once with %s', async (_, sentence, change) => {
    const { code, said } = run(kubeconfig('bad', change(readFileSync(up.kubeconfig, 'utf8'))), '--port', '0')
    expect(await code).toBe(1)
    expect(said.err).toContain(sentence)
    expect(said.err).not.toContain('retrying')
  })
})

function strangersConfig(server: string): string {
  const { authority } = loadCredentials({ hosts: [], now: Date.now() })
  return kubeconfigText({ server, authority, user: 'me', token: 'x' })
}
