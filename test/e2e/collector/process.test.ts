import { configMaps } from '../../../src/kube/core-types.ts'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownedBy } from '../../cascades.ts'
import { Client } from '../../../src/client/client.ts'
import { loadKubeconfig } from '../../../src/client/kubeconfig.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'
import type { OwnerReference, StoredObject } from '../../../src/kube/object.ts'
import { startSojourn, type SojournProcess } from '../activator/sojourn-process.ts'

const main = join(import.meta.dirname, '../../../src/cli/main.ts')

/** Runs `sojourn ARGS…` to its end, or until it has said something and was told to stop. */
function run(
  args: readonly string[],
  until?: RegExp,
): Promise<{ readonly code: number | null; readonly said: string; readonly out: string }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [said, out] = ['', '']
  let isTold = false
  const hear = (chunk: Buffer) => {
    said += chunk.toString()
    if (!isTold && until?.test(said)) isTold = child.kill('SIGTERM')
  }
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    hear(chunk)
  })
  child.stderr.on('data', hear)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said, out })))
}

describe('a collector in a process of its own', () => {
  let directory: string
  let api: SojournProcess
  let client: Client
  let network: ReturnType<typeof networkTransport>
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'collector-'))
    api = await startSojourn(['up', '--only', 'api', '--port', '0', '--data', join(directory, 'data')])
    network = networkTransport(loadKubeconfig([api.said['kubeconfig'] ?? ''], { now: () => Date.now(), env: {} }))
    client = new Client(network.transport)
  })
  afterAll(async () => {
    network.close()
    await api.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  const create = (name: string, ownerReferences: readonly OwnerReference[] = []) =>
    client.create<StoredObject>(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', ownerReferences },
    })
  it('5: says how it is used, with the kinds of values and what is meant without them', async () => {
    const { code, said } = await run(['run', '--help'])
    expect(code).toBe(0)
    expect(said).toMatch(/Usage: sojourn run \[flags\]/)
    expect(said).toMatch(/--only ROLE,….*collector/)
    expect(said).toMatch(/--max-departures-per-minute N .*\(default: 1000\)/)
    expect(said).toMatch(/--collect-cycles .*\(default: report them\)/)
  })

  it('6: says at once that a server cannot be reached when it starts, tries again, and ends when it is told to', async () => {
    const config = join(directory, 'nowhere.yaml')
    writeFileSync(
      config,
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:9', 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'u', user: { token: 't' } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    )
    const twice = /(cluster not reachable, retrying.*127\.0\.0\.1:9[^]*){2}/
    const flags = ['--only', 'collector', '--port', '0', '--kubeconfig', config]
    const { code, said } = await run(['run', ...flags], twice)
    expect([code, said]).toEqual([0, expect.stringMatching(twice)])
  })

  it('6: ends with 0 when it is told to end', async () => {
    const flags = ['--only', 'collector', '--port', '0', '--kubeconfig', api.said['kubeconfig'] ?? '']
    const { code, said } = await run(['run', ...flags], /^sojourn running/m)
    expect([code, said]).toEqual([0, expect.stringContaining('sojourn running')])
  })

  it('52: draws what would leave in DOT: what belongs together, whatever it is called, and nothing else', async () => {
    const owner = await create('owner')
    const middle = await create('middle', [ownedBy(owner)])
    await create('bottom', [ownedBy(middle)])
    await create('apart')
    await create('kept', [ownedBy(owner), ownedBy(await create('other'))])
    const kubeconfig = api.said['kubeconfig'] ?? ''
    const draw = async (name: string) =>
      (await run(['cascade', `configmap/${name}`, '-n', 'default', '-o', 'dot', '--kubeconfig', kubeconfig])).out
    const drawn = await draw('owner')
    expect(drawn).toMatch(/^digraph cascade \{\n(  .*;\n)+\}\n$/)
    const labels = (text: string) => [...text.matchAll(/label="([^"]*)"/g)].map(([, label = '']) => label).toSorted()
    expect(labels(drawn)).toEqual(
      ['owner', 'middle', 'bottom', 'kept'].map((name) => `ConfigMap/default/${name}`).toSorted(),
    )
    expect(drawn).toContain(`"${owner.metadata.uid}" -> "${middle.metadata.uid}";`)
    expect(labels(await draw('middle'))).toEqual(['ConfigMap/default/bottom', 'ConfigMap/default/middle'])
    expect(labels(await draw('apart'))).toEqual(['ConfigMap/default/apart'])
  }, 120_000)
})
