import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleaner } from '../src/apis/cleaner.ts'
import { departure } from '../src/apis/departure.ts'
import { allKinds } from '../src/apis/all-kinds.ts'
import { readConfig } from '../src/app/config/config.ts'
import { startUp, type Up } from '../src/app/embedded/up.ts'
import { restoreDeparture } from '../src/app/operations/restore.ts'
import { Client } from '../src/client/client.ts'
import { loadKubeconfig } from '../src/client/kubeconfig.ts'
import { networkTransport } from '../src/client/network-transport.ts'
import { configMaps } from '../src/kube/core-types.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'

/** Stores that released versions wrote, after the examples and the demo. A release adds one; none is ever written again. */
const fixtures = join(import.meta.dirname, 'fixtures')
const stores = readdirSync(fixtures).filter((name) => name.endsWith('.db.gz'))

describe.each(stores)('a store of %s', (name) => {
  let data: string
  let up: Up
  let client: Client
  let network: ReturnType<typeof networkTransport>
  const start = async () => {
    const flags = { data, port: '0', 'proxy-port': '0', durable: false, 'dry-run': true }
    up = await startUp(readConfig({ flags, env: {} }), silentLogger)
    network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    client = new Client(network.transport)
  }
  const stop = async () => {
    network.close()
    await up.stop()
  }

  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'sojourn-upgrade-'))
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, 'store.db'), gunzipSync(readFileSync(join(fixtures, name))), { mode: 0o600 })
    await start()
  })
  afterEach(async () => {
    await stop()
    rmSync(data, { recursive: true })
  })

  it('loads every kind, with what its objects said', async () => {
    for (const { type } of allKinds) await expect(client.list(type)).resolves.toBeDefined()
    const { items } = await client.list(cleaner.type)
    expect(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(
      expect.arrayContaining(['example-02/after-merge', 'example-04/shop']),
    )
  })

  it('restores what the old version deleted', async () => {
    const { items } = await client.list(departure.type, { namespace: 'example-01' })
    const record = items.find(({ metadata }) => metadata.name?.startsWith('configmap-preview-settings'))
    expect(record).toBeDefined()
    await restoreDeparture(client, { namespace: 'example-01', name: record?.metadata.name ?? '' }, { now: Date.now() })
    await expect(client.get(configMaps, { namespace: 'example-01', name: 'preview-settings' })).resolves.toBeDefined()
  })

  it('starts again with what the new version wrote into it', async () => {
    await stop()
    await start()
    await expect(client.list(cleaner.type)).resolves.toBeDefined()
  })
})
