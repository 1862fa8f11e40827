import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bond, bondFinalizer, holdFinalizer, seedFinalizer } from '../apis/bond.ts'
import { readConfig } from '../app/config.ts'
import { startUp, type Up } from '../app/up.ts'
import { Client } from '../client/client.ts'
import { loadKubeconfig } from '../client/kubeconfig.ts'
import { networkTransport } from '../client/network-transport.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import { silentLogger } from '../runtime/log.ts'
import { main } from './program.ts'

const configMaps = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
const wait = { timeout: 10_000, interval: 20 }

let directory: string
let up: Up
let client: Client
let closeNetwork: () => void

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'drain-'))
  await start('api,collector')
})
afterEach(async () => {
  await stop()
  rmSync(directory, { recursive: true })
})

async function start(only: string): Promise<void> {
  const flags = { data: join(directory, 'data'), port: '0', only, durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {})
  client = new Client(network.transport)
  closeNetwork = () => network.close()
}

async function stop(): Promise<void> {
  closeNetwork()
  await up.stop()
}

async function sojourn(...words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await main([...words, '--kubeconfig', up.kubeconfig], {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env: {},
    now: () => Date.now(),
    isTerminal: false,
    isErrTerminal: false,
    colours: false,
    width: 100,
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

function create(name: string, metadata: KubeObject['metadata'] = {}): Promise<StoredObject> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...metadata } }
  return client.create(configMaps, object)
}

function bind(dependent: string, dependency: string, onDelete: string): Promise<unknown> {
  const end = { apiVersion: 'v1', kind: 'ConfigMap' }
  return client.create(bond.type, {
    apiVersion: bond.apiVersion,
    kind: 'Bond',
    metadata: { name: `${dependent}-${dependency}`, namespace: 'default' },
    spec: { dependent: { ...end, name: dependent }, dependency: { ...end, name: dependency }, onDelete },
  })
}

/** Every finalizer in the namespace. */
async function finalizers(): Promise<readonly string[]> {
  const lists = await Promise.all([configMaps, bond.type].map((type) => client.list(type, { namespace: 'default' })))
  return lists.flatMap(({ items }) => items.flatMap(({ metadata }) => metadata.finalizers ?? []))
}

const names = async () =>
  (await client.list(configMaps, { namespace: 'default' })).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== 'kube-root-ca.crt')

/** A cascade that cannot end: somebody else's finalizer keeps the dependent, and so our own what it needs. */
async function cascadeInFlight(): Promise<void> {
  await create('app', { finalizers: ['x.dev/busy'] })
  await create('database')
  await create('quiet')
  await create('idle')
  await bind('app', 'database', 'Cascade')
  await bind('quiet', 'idle', 'Hold')
  await vi.waitFor(
    async () => expect((await finalizers()).filter((one) => one === holdFinalizer)).toHaveLength(2),
    wait,
  )
  await client.deleteObject(configMaps, { namespace: 'default', name: 'database' })
  await vi.waitFor(async () => {
    const app = await client.get<StoredObject>(configMaps, { namespace: 'default', name: 'app' })
    expect(app.metadata.deletionTimestamp).toBeDefined()
  }, wait)
  expect(new Set(await finalizers())).toEqual(new Set(['x.dev/busy', holdFinalizer, seedFinalizer, bondFinalizer]))
}

describe('sojourn drain', () => {
  it('123: leaves no finalizer of ours, with cascades in flight, and touches nobody else’s', async () => {
    await cascadeInFlight()
    await stop()
    await start('api')
    expect(await sojourn('drain', '--yes')).toMatchObject({ code: 0, out: expect.stringContaining('were held') })
    expect(await finalizers()).toEqual(['x.dev/busy'])
    // What was told to leave and waited for us has left; what waits for others still does.
    expect(await names()).toEqual(['app', 'idle', 'quiet'])
    expect(await sojourn('drain', '--yes')).toMatchObject({ code: 0, out: 'Sojourn holds nothing.\n' })
  })

  it('shows what it would do, and does it only when told to', async () => {
    await cascadeInFlight()
    await stop()
    await start('api')
    const before = await finalizers()
    const looked = await sojourn('drain', '--dry-run')
    expect(looked.code).toBe(0)
    expect(looked.out).toMatch(/ConfigMap\/default\/database +\S*cascade\S*, cascade_deletion +goes at once/)
    expect(looked.out).toMatch(/ConfigMap\/default\/idle +sojourn.dev\/cascade-deletion +stays/)
    expect(await sojourn('drain')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') })
    expect(await sojourn('drain', '--yes', '--dry-run')).toMatchObject({ code: 2 })
    expect(await finalizers()).toEqual(before)
    const data = JSON.parse((await sojourn('drain', '--dry-run', '-o', 'json')).out) as { items: unknown[] }
    expect(data.items).toContainEqual({
      kind: 'ConfigMap',
      namespace: 'default',
      name: 'database',
      heldBy: [holdFinalizer, seedFinalizer],
      goes: true,
    })
  })

  it('says so when something of ours runs on and takes hold again', async () => {
    await create('quiet')
    await create('idle')
    await bind('quiet', 'idle', 'Hold')
    await vi.waitFor(async () => expect(await finalizers()).toContain(holdFinalizer), wait)
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('something of Sojourn still runs, stop it and drain again'),
    })
  })
})
