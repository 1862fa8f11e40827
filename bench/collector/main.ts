import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/app/config.ts'
import { startUp } from '../../src/app/up.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import type { OwnerReference, ResourceType, StoredObject } from '../../src/kube/object.ts'
import { silentLogger } from '../../src/runtime/log.ts'
import { Graph } from '../../src/systems/collector/graph.ts'
import { preview } from '../../src/systems/collector/preview.ts'

/**
 * What a cascade costs on the embedded server: one owner with DEPENDENTS (default 20000) dependents, a chain of LEVELS (default 2000), the graph and
 * the preview of a million objects. Run: node bin/pinned-node.js bench/collector/main.ts
 */
const dependents = Number(process.env.DEPENDENTS ?? 20_000)
const levels = Number(process.env.LEVELS ?? 2000)
const nodes = Number(process.env.NODES ?? 1_000_000)
const configMaps: ResourceType = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

const directory = mkdtempSync(join(tmpdir(), 'cascade-'))
const up = await startUp(
  readConfig({ flags: { data: directory, port: '0', 'proxy-port': '0', only: 'api,collector' }, env: {} }),
  silentLogger,
)
const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: process.env }))
const client = new Client(network.transport)

try {
  await fanOut()
  await chain()
  graph()
} finally {
  network.close()
  await up.stop()
  rmSync(directory, { recursive: true, force: true })
}
process.exit(0)

async function fanOut(): Promise<void> {
  const root = await create('root')
  await inParallel(dependents, (index) => create(`child-${index}`, root))
  const gone = watchGone(dependents)
  const latencies: number[] = []
  let isOver = false
  const bystander = (async () => {
    while (!isOver) {
      const at = performance.now()
      await client.get(configMaps, { namespace: 'kube-public', name: 'kube-root-ca.crt' })
      latencies.push(performance.now() - at)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  const before = process.memoryUsage().rss
  const at = performance.now()
  await remove('root')
  const seen = await gone
  const seconds = (performance.now() - at) / 1000
  isOver = true
  await bystander
  const sorted = latencies.toSorted((left, right) => left - right)
  report('fan-out', {
    dependents,
    seconds: round(seconds),
    'objects/s': Math.round(dependents / seconds),
    'watch events': seen,
    'bystander p50 ms': round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    'bystander p99 ms': round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    'memory growth MB': Math.round((process.memoryUsage().rss - before) / 1e6),
  })
}

async function chain(): Promise<void> {
  let owner: StoredObject | undefined
  for (let level = 0; level < levels; level++) owner = await create(`link-${level}`, owner)
  const gone = watchGone(levels)
  const at = performance.now()
  await remove('link-0')
  await gone
  report('chain', { levels, seconds: round((performance.now() - at) / 1000) })
}

function graph(): void {
  const made = new Graph()
  const uid = (index: number) => `${index.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`
  const metadata = { name: 'x', namespace: 'n', resourceVersion: '1', creationTimestamp: '' }
  for (let index = 0; index < nodes; index++) {
    const owner =
      index === 0 ? [] : [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: uid(Math.floor((index - 1) / 8)) }]
    made.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...metadata, uid: uid(index), ownerReferences: owner },
    })
  }
  const at = performance.now()
  const found = preview(made, made.find(uid(0)) ?? 0, { policy: 'Background', spares: () => undefined })
  report('graph', {
    objects: made.size,
    'bytes/object': round(made.bytes / made.size),
    'preview ms': Math.round(performance.now() - at),
    leaving: found.nodes.length,
  })
}

function create(name: string, owner?: StoredObject): Promise<StoredObject> {
  const ownerReferences: readonly OwnerReference[] = owner
    ? [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid }]
    : []
  return client.create<StoredObject>(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...(owner ? { ownerReferences } : {}) },
    data: { text: 'x'.repeat(900) },
  })
}

async function remove(name: string): Promise<void> {
  await client.request({
    method: 'DELETE',
    path: `/api/v1/namespaces/default/configmaps/${name}`,
    query: { propagationPolicy: 'Background' },
  })
}

async function watchGone(count: number): Promise<number> {
  const { metadata } = await client.list(configMaps, { namespace: 'default', limit: 1 })
  let seen = 0
  for await (const { type } of client.watch(configMaps, {
    namespace: 'default',
    resourceVersion: metadata.resourceVersion,
  })) {
    if (type === 'DELETED' && ++seen > count - 1) return seen
  }
  return seen
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (next < count) await work(next++)
    }),
  )
}

function report(name: string, figures: Record<string, number>): void {
  console.log(
    name.padEnd(10),
    Object.entries(figures)
      .map(([figure, value]) => `${figure} ${value}`)
      .join(' · '),
  )
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
