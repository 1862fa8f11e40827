import { createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { readConfig } from '../../src/app/config/config.ts'
import { startRun } from '../../src/app/cluster/run.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { leases } from '../../src/kube/core-types.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import type { LeaseObject } from '../../src/runtime/sharing/lease.ts'
import { configMap } from './manifests.ts'
import { until, worlds } from './tenant-world.ts'

/** The API server of a kubeconfig, which never answers questions for these paths. */
async function slowServer(kubeconfig: string, isSlow: (path: string) => boolean) {
  const config = loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} })
  const { token = '' } = await config.credentials()
  const held = new Set<string>()
  const server = createServer((asked, answer) => {
    const { method, url = '', headers } = asked
    if (isSlow(url)) return void held.add(url)
    const options = { method, rejectUnauthorized: false, headers: { ...headers, authorization: `Bearer ${token}` } }
    const forwarded = request(new URL(url, config.server), options, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    answer.on('close', () => forwarded.destroy())
    forwarded.on('error', () => answer.destroy())
    asked.pipe(forwarded)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const embedded = worlds.filter(({ name }) => name === 'embedded')

it.each(embedded)('95: keeps its Lease while thousands of dangling owners are looked up: $name', async ({ start }) => {
  await using world = await start({ roles: [] })
  using slow = await slowServer(world.kubeconfig, (path) => path.includes('/configmaps/ghost-'))
  const config = readConfig({ flags: { only: 'collector', port: '0', 'proxy-port': '0' }, env: {} })
  const cluster = { server: slow.url, namespace: 'default', credentials: () => Promise.resolve({}) }
  await using stack = new AsyncDisposableStack()
  const running = await startRun(config, cluster, { log: silentLogger })
  stack.defer(() => running.stop())
  const reference = (index: number) => {
    const id = String(index).padStart(12, '0')
    return { apiVersion: 'v1', kind: 'ConfigMap', name: `ghost-${index}`, uid: `00000000-0000-4000-8000-${id}` }
  }
  for (let object = 0; object < 80; object++) {
    const manifest = configMap('a', `dangling-${object}`)
    const ownerReferences = Array.from({ length: 100 }, (_, index) => reference(object * 100 + index))
    await world.create('tenant', { ...manifest, metadata: { ...manifest.metadata, ownerReferences } })
  }
  await until(() => Promise.resolve(slow.held.size >= 64 || undefined))
  const renewed = new Set<string>()
  const place = { namespace: 'sojourn-system', name: 'sojourn-collector' }
  await until(async () => {
    const { spec } = await world.as('administrator').get<LeaseObject>(leases, place)
    renewed.add(spec?.renewTime ?? '')
    return renewed.size > 3 || undefined
  })
  expect(renewed.size).toBeGreaterThan(3)
})
