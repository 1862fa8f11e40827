import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommand } from '../../../test/command.ts'
import { ownCleaner } from '../../apis/cleaner.ts'
import { readConfig } from '../../app/config/config.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { configMaps, namespaces } from '../../kube/core-types.ts'
import { silentLogger } from '../../runtime/observability/log.ts'

let directory: string
let up: Up
let network: ReturnType<typeof networkTransport>

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'forecast-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {})
})
afterAll(async () => {
  network.close()
  await up.stop()
  rmSync(directory, { recursive: true })
})

it('of one namespace includes the Namespace itself and what is deleted with it, and nothing else', async () => {
  const client = new Client(network.transport)
  for (const name of ['guest', 'other']) {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: name } })
    const reference = { apiVersion: 'v1', kind: 'Namespace', name }
    const targets = [{ name: 'home', reference, delete: true, includeWhenEvaluating: false }]
    const { apiVersion, kind } = ownCleaner
    const metadata = { name: 'end', namespace: name }
    await client.create(ownCleaner.type, { apiVersion, kind, metadata, spec: { ttl: '1h', targets } })
  }
  const { out } = await runCommand(up.kubeconfig, 'forecast', '-n', 'guest', '--for', '2h')
  expect(out).toContain('Namespace/guest')
  expect(out).toContain('ConfigMap/guest/a')
  expect(out).not.toContain('other')
})
