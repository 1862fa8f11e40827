import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { runCommand } from '../command.ts'
import { accountOf, flagsAs } from '../kubernetes/account.ts'
import { attempt, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl', 'helm')
if (missing) console.warn(`SKIPPED: forecast and missing rights, on a real kube-apiserver: ${missing}`)

/** A chart with a hook that must succeed before its release is uninstalled. */
const chart = {
  'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
  'templates/all.yaml': `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
---
apiVersion: batch/v1
kind: Job
metadata: { name: farewell, annotations: { helm.sh/hook: pre-delete } }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: bye, image: busybox }] } } }
`,
}

describe.skipIf(missing)('what a real run will do', () => {
  let cluster: AuditedCluster
  const folder = mkdtempSync(join(tmpdir(), 'sojourn-chart-'))
  beforeAll(async () => {
    cluster = await startInstalledCluster()
    mkdirSync(join(folder, 'templates'))
    for (const [name, text] of Object.entries(chart)) writeFileSync(join(folder, name), text)
    await run('kubectl', ['create', 'namespace', 'team'], cluster)
    await run('helm', ['install', 'shop', folder, '-n', 'team'], cluster)
    for (const input of [taken, expiring]) await run('kubectl', ['apply', '-f', '-'], { ...cluster, input })
  }, 900_000)
  afterAll(async () => {
    rmSync(folder, { recursive: true })
    await cluster?.stop()
  })

  const taken = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'team',
      annotations: { 'proxless/deployment': 'web', 'sojourn.dev/takeover': 'true' },
    },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  }
  const expiring = {
    apiVersion: 'cleaner.vtex.dev/v1alpha',
    kind: 'Cleaner',
    metadata: { name: 'shop', namespace: 'team' },
    spec: { ttl: '1s', helm: { release: 'shop', delete: true } },
  }
  const releases = () => run('helm', ['list', '-n', 'team', '-q'], cluster)

  it('is forecast beside a Service that is taken over, the release after its hook, once', async () => {
    const answer = await runCommand(cluster.kubeconfig, 'forecast', '-A', '--for', '2h', '-o', 'json')
    expect({ code: answer.code, err: answer.code === 0 ? '' : answer.err }).toEqual({ code: 0, err: '' })
    expect(answer.out.match(/"name": "settings"/g) ?? []).toHaveLength(1)
    expect((answer.out.match(/"name": "farewell"/g) ?? []).length).toBeLessThan(3)
    expect(await releases()).toBe('shop')
  })

  it('is not begun without the rights to end it, and the Cleaner says which are missing', async () => {
    const flags = Object.entries(flagsAs('cleaner', await accountOf(cluster, 'cleaner')))
    const process = await SojournProcess.start(flags.map(([name, value]) => `--${name}=${value}`))
    try {
      const ready =
        'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}'
      const look = ['-n', 'team', 'get', 'cleaners.cleaner.vtex.dev', 'shop', '-o', ready]
      await expect
        .poll(async () => (await attempt('kubectl', look, cluster)).stdout, { timeout: 60_000, interval: 500 })
        .toMatch(/^False .*(?:secrets|configmaps|jobs)/)
      expect(await releases()).toBe('shop')
      expect((await attempt('kubectl', ['-n', 'team', 'get', 'cm,jobs', '-o', 'name'], cluster)).stdout).toBe(
        'configmap/settings\n',
      )
    } finally {
      await process.kill()
    }
  })
})
