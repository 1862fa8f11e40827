import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { cleanupCandidate, type CleanupCandidate } from '../src/apis/cleanup-candidate.ts'
import { environment, type Environment } from '../src/apis/environment.ts'
import { pipeline, type Pipeline } from '../src/apis/pipeline.ts'
import { readConfig } from '../src/app/config/config.ts'
import { startUp, type Up } from '../src/app/embedded/up.ts'
import { Client } from '../src/client/client.ts'
import { loadKubeconfig } from '../src/client/kubeconfig.ts'
import { networkTransport } from '../src/client/network-transport.ts'
import { namespaces } from '../src/kube/core-types.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'

/** The manifests that a migration page shows. */
function shownIn(page: string): readonly KubeObject[] {
  const text = readFileSync(join(import.meta.dirname, '../docs/migrate', page), 'utf8')
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    parseAllDocuments(block).map((document) => document.toJS() as KubeObject),
  )
}

describe('what the migration pages show', { timeout: 60_000 }, () => {
  let data: string
  let up: Up
  let network: ReturnType<typeof networkTransport>
  let client: Client

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'migrate-'))
    const flags = { data, port: '0', 'proxy-port': '0', durable: false, 'dry-run': false }
    up = await startUp(readConfig({ flags, env: {} }), silentLogger)
    network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    client = new Client(network.transport)
    for (const name of ['shop', 'team', 'shop-test'])
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  })
  afterAll(async () => {
    network?.close()
    await up?.stop()
    rmSync(data, { recursive: true })
  })

  async function apply(...manifests: readonly KubeObject[]): Promise<void> {
    for (const manifest of manifests) {
      const type = await client.discovery.typeOf(manifest)
      if (!type) throw new Error(`${manifest.kind} is not served`)
      await client.apply(type, manifest, { force: true })
    }
  }

  /** The policies of a page as they are once the reader has taken `dryRun` out, in a hurry. */
  const inForce = (page: string) =>
    shownIn(page).map(({ spec, ...rest }) => {
      const { dryRun, ...others } = spec as { dryRun?: boolean }
      expect(dryRun).toBe(true)
      return { ...rest, spec: { ...others, interval: '1s', minAge: '1s' } } as KubeObject
    })

  const marked = async (policy: string) => {
    const { items } = await client.list<CleanupCandidate>(cleanupCandidate.type)
    return items.filter(({ spec }) => spec.policy === policy).map(({ spec }) => spec.resource.name)
  }

  const job = (name: string, status: object): KubeObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'shop' },
    spec: { suspend: true, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
    status,
  })
  const deployment = (name: string, replicas: number, labels: Record<string, string>): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  })

  it('marks completed Jobs and no others, as the Cleaner of k8s-cleaner did', async () => {
    await apply(job('open', {}), job('done', {}))
    const status = { succeeded: 1, startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:01:00Z' }
    const type = (await client.discovery.typeOf(job('done', {})))!
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' }]
    const place = { namespace: 'shop', name: 'done' }
    const body = { status: { ...status, conditions } }
    await client.patch(type, place, { type: 'merge', body }, { subresource: 'status' })
    await apply(...inForce('k8s-cleaner.md'))
    await expect.poll(() => marked('completed-jobs'), { timeout: 30_000 }).toEqual(['done'])
  })

  it('marks what Kyverno would have deleted by label and by policy', async () => {
    await apply(
      deployment('expired', 1, { 'cleanup.kyverno.io/ttl': '2026-01-01' }),
      deployment('fresh', 1, { 'cleanup.kyverno.io/ttl': '10d' }),
      deployment('removable', 1, { canremove: 'true' }),
      deployment('large', 2, { canremove: 'true' }),
    )
    await apply(...inForce('kyverno-cleanup.md'))
    await expect.poll(() => marked('kyverno-ttl'), { timeout: 30_000 }).toEqual(['expired'])
    await expect.poll(() => marked('removable-deployments'), { timeout: 30_000 }).toEqual(['removable'])
  })

  it('dates the Namespace that kube-janitor would have deleted by its age', async () => {
    await apply(...shownIn('kube-janitor.md'))
    const look = async () => {
      const { items } = await client.list<Environment>(environment.type, { namespace: 'shop-pr-7' })
      return Date.parse(items[0]?.status?.deletesAt ?? '')
    }
    const { metadata } = await client.get(namespaces, { name: 'shop-pr-7' })
    const week = Date.parse(metadata.creationTimestamp ?? '') + 7 * 86_400_000
    await expect.poll(look, { timeout: 30_000 }).toBe(week)
  })

  it('takes the Pipeline that replaces a Warehouse and two Stages, and says what it waits for', async () => {
    await apply(...shownIn('kargo.md'))
    const look = async () => (await client.get<Pipeline>(pipeline.type, { namespace: 'team', name: 'shop' })).status
    await expect
      .poll(async () => (await look())?.conditions?.map(({ type }) => type), { timeout: 30_000 })
      .toContain('Ready')
  })
})
