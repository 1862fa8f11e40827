import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { scan } from '../../src/queries/use/scan.ts'

/** Scans a cluster of so many objects over the network: time, requests by method, peak memory of the scanning process. */
const count = Number(process.argv[2] ?? 100_000)
const directory = mkdtempSync(join(tmpdir(), 'scan-'))
// A fifth as many pods as ConfigMaps.
const cluster = fork(join(import.meta.dirname, 'live-cluster.ts'), [String(Math.round((count * 5) / 6))])
try {
  const [kubeconfig] = (await once(cluster, 'message')) as [string]
  writeFileSync(join(directory, 'kubeconfig'), kubeconfig)
  await measureScan(join(directory, 'kubeconfig'))
} finally {
  cluster.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}
process.exit()

async function measureScan(kubeconfig: string): Promise<void> {
  const { transport } = networkTransport(loadKubeconfig([kubeconfig], { now: Date.now, env: {} }))
  const requests = new Map<string, number>()
  const client = new Client((request) => {
    requests.set(request.method, (requests.get(request.method) ?? 0) + 1)
    return transport(request)
  })
  const before = process.resourceUsage()
  const startedAt = performance.now()
  const { objects } = await scan(client, { now: Date.now() })
  const seconds = (performance.now() - startedAt) / 1000
  const after = process.resourceUsage()
  const cpu = (after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime) / 1e6
  const verdicts = Map.groupBy(objects, ({ verdict }) => verdict)
  console.log(
    [
      `${objects.length} objects judged`,
      ...[...verdicts].map(([verdict, those]) => `${those.length} ${verdict}`),
      `${seconds.toFixed(1)} s`,
      `${cpu.toFixed(1)} s of CPU`,
      ...[...requests].map(([method, number]) => `${number} ${method}`),
      `peak ${Math.round(after.maxRSS / 1024)} MiB (${Math.round(before.maxRSS / 1024)} before)`,
    ].join(', '),
  )
}
