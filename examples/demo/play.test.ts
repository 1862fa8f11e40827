import { namespaces, secrets } from '../../src/kube/core-types.ts'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner } from '../../src/apis/cleaner.ts'
import { environmentClass } from '../../src/apis/environment-class.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { readProxyAddress } from '../../src/app/embedded/endpoints.ts'
import { startUp, type Up } from '../../src/app/embedded/up.ts'
import { playDemo } from './play.ts'

const program = join(import.meta.dirname, '../../src/cli/main.ts')
const pace = { readingMs: 0, warnSeconds: 30 }
let data: string
let up: Up
let network: ReturnType<typeof networkTransport>
let client: Client

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'demo-'))
  const flags = { data, port: '0', 'proxy-port': '0', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
  client = new Client(network.transport)
})
afterAll(async () => {
  network.close()
  await up.stop()
  rmSync(data, { recursive: true })
})

/** Plays the demo; resolves with every line it printed. */
async function played(signal: AbortSignal, onLine: (text: string) => void = () => {}): Promise<readonly string[]> {
  const told: string[] = []
  const tell = (_: unknown, text: string) => {
    told.push(text)
    onLine(text)
  }
  await playDemo({
    client,
    proxy: (await readProxyAddress(client)) ?? '',
    shop: [process.execPath, '--no-warnings', program, '__demo-shop'],
    tell,
    signal,
    pace,
  })
  return told
}

/** The names of all objects of the demo that still exist. */
async function remainingNames(): Promise<readonly string[]> {
  const types = [namespaces, environmentClass.type, notificationChannel.type, cleaner.type, secrets]
  const lists = await Promise.all(types.map((type) => client.list(type)))
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).filter((name) => /demo/.test(name))
}

/** Objects owned by the namespace are deleted a moment after it. */
const cleared = () => expect.poll(remainingNames, { timeout: 20_000 }).toEqual([])

describe('the demo', () => {
  it('shows the whole life of an environment, and deletes all of it', async () => {
    const told = await played(new AbortController().signal)
    const story = told.join('\n')
    expect(story).toContain('A comment on pull request 1')
    expect(story).toContain('Asleep: no process runs')
    expect(story).toContain('200 Hello from the shop, revision 1.1.0')
    expect(story).toMatch(/ada@\S+ is told/)
    expect(story).toMatch(/It stays until \d{4}-/)
    expect(story).toContain('because: pull-request-closed')
    expect(story).toContain('It is back, asleep, with everything that was in it.')
    await cleared()
    await expect.poll(() => readdirSync(join(data, 'pods')), { timeout: 10_000 }).toEqual([])
  }, 240_000)

  it.each([
    'An EnvironmentClass says',
    'A comment on pull request',
    'Asleep: no process',
    ' is told (here',
    'The keep is taken back',
  ])(
    'deletes everything when it is stopped at "%s"',
    async (beginning) => {
      const stop = new AbortController()
      const playing = played(stop.signal, (text) => {
        if (text.includes(beginning)) stop.abort(new Error('SIGINT'))
      })
      await expect(playing).rejects.toThrow()
      await cleared()
    },
    120_000,
  )

  it('does not touch a namespace of the same name that no demo created', async () => {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo-preview' } })
    await expect(played(new AbortController().signal)).rejects.toThrow('it is not touched')
    expect(await remainingNames()).toEqual(['demo-preview'])
  })
})
