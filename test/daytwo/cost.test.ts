import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { configMaps } from '../../src/kube/core-types.ts'
import type { KubeObject, ResourceType } from '../../src/kube/object.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { accountOf } from '../kubernetes/account.ts'
import { createKnown, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: the cost at rest on a real kube-apiserver: ${missing}`)
const sizes = { configMaps: 20_000, cleaners: 2000 }
const windowMs = 60_000

describe.skipIf(missing)('the cost at rest', () => {
  let cluster: AuditedCluster
  beforeAll(async () => {
    cluster = await startInstalledCluster()
    const network = networkTransport(loadKubeconfig([cluster.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    await fill(client, configMaps, sizes.configMaps, (name) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
      data: { key: 'value'.repeat(20) },
    }))
    await fill(client, cleaner.type, sizes.cleaners, (name) => ({
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name, namespace: 'default' },
      spec: {
        ttl: '500h',
        targets: [{ name: 'it', delete: true, reference: { version: 'v1', kind: 'ConfigMap', name } }],
      },
    }))
    network.close()
    const binding = ['create', 'clusterrolebinding', 'everything', '--clusterrole=cluster-admin']
    await run('kubectl', [...binding, '--serviceaccount=sojourn-system:sojourn-cleaner'], cluster)
  }, 900_000)
  afterAll(() => cluster?.stop())

  /** Every kind may be watched by this account: the most expensive case. */
  it(
    'is at most one request a second, and its memory is printed beside the goal of 250 MB',
    { timeout: 600_000 },
    async () => {
      const kubeconfig = await accountOf(cluster, 'cleaner')
      const process = await SojournProcess.start([`--kubeconfig=${kubeconfig}`, '--port=0', '--proxy-port=0'])
      try {
        const asked = () => cluster.asked('sojourn-cleaner')
        // At rest: every Cleaner has its first status.
        await expect
          .poll(() => asked().filter(({ what }) => what.endsWith('cleaners/status update')).length, {
            timeout: 240_000,
            interval: 2000,
          })
          .toBeGreaterThanOrEqual(sizes.cleaners)
        await pause(30_000)
        const before = asked().length
        await pause(windowMs)
        const requests = asked().slice(before)
        // A watch lasts seven and a half minutes on average, longer than this test looks: each is counted with its share.
        const watches = new Set(asked().flatMap(({ what }) => (what.endsWith(' watch') ? [what] : []))).size
        const others = requests.filter(({ what }) => !what.endsWith(' watch'))
        const perSecond = others.length / (windowMs / 1000) + watches / 450
        const megabytes = rssOf(process.pid)
        const counts = Object.entries(Object.groupBy(requests, ({ what }) => what)).map(
          ([what, all]) => `${what} ${all?.length}`,
        )
        console.info(
          `at rest: ${perSecond.toFixed(2)} requests/s (f6ae480, ten processes: 7.4), ${megabytes} MB RSS (goal: 250); ${watches} watches, ${counts.join(', ')}`,
        )
        expect(perSecond).toBeLessThanOrEqual(1)
        // The goal is 250 MB; garbage that is not collected yet moves a single reading by tens of MB (221 to 272 seen).
        expect(megabytes).toBeLessThanOrEqual(400)
      } finally {
        await process.kill()
      }
    },
  )
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** The resident memory in MB of the process that a launcher started; the image runs it without one. */
function rssOf(launcher: number): number {
  const child = readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'utf8').trim()
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child}/status`, 'utf8')) ?? []
  return Math.round(Number(kilobytes) / 1024)
}

async function fill(
  client: Client,
  type: ResourceType,
  count: number,
  of: (name: string) => KubeObject,
): Promise<void> {
  let next = 0
  const work = async () => {
    for (let at = next++; at < count; at = next++) await createKnown(() => client.create(type, of(`c${at}`)))
  }
  await Promise.all(Array.from({ length: 20 }, work))
}
