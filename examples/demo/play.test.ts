import { namespaces } from '../../src/kube/core-types.ts'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupOptOut } from '../../src/apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../src/apis/cleanup-policy.ts'
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
const pace = { readingMs: 0, sleepsAfterSeconds: 1, deletesAfterSeconds: 2 }
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
  const types = [namespaces, cleanupPolicy.type, cleanupOptOut.type, notificationChannel.type, cleanupCandidate.type]
  const lists = await Promise.all(types.map((type) => client.list(type)))
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).filter((name) => /demo/.test(name))
}

/** Objects owned by the namespace are deleted a moment after it. */
const cleared = () => expect.poll(remainingNames, { timeout: 20_000 }).toEqual([])

describe('the demo', () => {
  it('shows the whole life of an environment, and deletes all of it', async () => {
    const told = await played(new AbortController().signal)
    const story = told.join('\n')
    expect(story).toContain('merged: preview.yaml on main says version 1.1.0')
    expect(story).toContain('the run is complete')
    expect(story).toContain('200 Hello from the shop, revision 1.1.0')
    expect(story).toContain('configmap/old-report is deleted; configmap/screenshots is kept.')
    expect(story).toContain('configmap/old-report is restored.')
    expect(told.at(-2)).toMatch(/^namespace-demo-preview-\w+, by the cleaner, because: target$/)
    await cleared()
    await expect.poll(() => readdirSync(join(data, 'pods')), { timeout: 10_000 }).toEqual([])
    const [, forge = ''] = /at (https:\/\/127\.0\.0\.1:\d+\/\S+)\./.exec(story) ?? []
    await expect(fetch(forge)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  }, 120_000)

  it.each([
    'In another terminal',
    'that this demo serves',
    'pull request 1',
    'The shop is asleep',
    'Asleep again',
    'configmap/screenshots is marked',
    'A departure record was written',
  ])(
    'deletes everything when it is stopped at "%s"',
    async (beginning) => {
      const stop = new AbortController()
      const playing = played(stop.signal, (text) => {
        if (text.startsWith(beginning)) stop.abort(new Error('SIGINT'))
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
