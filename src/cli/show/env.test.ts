import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommand } from '../../../test/command.ts'
import { environment } from '../../apis/environment.ts'
import { readConfig } from '../../app/config/config.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { namespaces } from '../../kube/core-types.ts'
import { silentLogger } from '../../runtime/observability/log.ts'

let directory: string
let up: Up

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'env-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {})
  const client = new Client(network.transport)
  for (const name of ['one', 'two']) {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const { apiVersion, kind } = environment
    const metadata = { name, namespace: name }
    await client.create(environment.type, { apiVersion, kind, metadata, spec: { className: 'preview' } })
  }
  network.close()
})
afterAll(async () => {
  await up.stop()
  rmSync(directory, { recursive: true })
})

const sojourn = (...words: readonly string[]) => runCommand(up.kubeconfig, ...words)

it.each([
  [['env'], ['one', 'two']],
  [
    ['env', '-A'],
    ['one', 'two'],
  ],
  [['env', '-n', 'one'], ['one']],
])('%j lists the environments %j', async (words, expected) => {
  const { out } = await sojourn(...words)
  expect(['one', 'two'].filter((name) => out.includes(name))).toEqual(expected)
})

it.each(['sleep', 'wake'])('%s refuses a namespace in which nothing ever sleeps', async (word) => {
  const { code, err } = await sojourn(word, 'kube-system')
  expect(code).toBe(2)
  expect(err).toContain('nothing in namespace kube-system ever sleeps')
})
