import { request } from 'node:https'
import { kill } from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { runCommand } from '../command.ts'
import { accountOf, flagsAs, targets } from '../kubernetes/account.ts'
import { attempt, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: what operators see, on a real kube-apiserver: ${missing}`)

const sojourn = 'sojourn.dev/v1alpha1'
const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'team' } }
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'team' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web', envFrom: [{ configMapRef: { name: 'settings' } }] }] },
    },
  },
}
const channel = {
  apiVersion: sojourn,
  kind: 'NotificationChannel',
  metadata: { name: 'events' },
  spec: { type: 'event' },
}
const policy = {
  apiVersion: sojourn,
  kind: 'CleanupPolicy',
  metadata: { name: 'old' },
  spec: {
    interval: '1s',
    minAge: '0',
    retention: { duration: '1h' },
    targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['team'] } } }],
    rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'true' } }] }],
    notification: { channels: ['events'] },
    owner: { default: 'team@example.com' },
  },
}

describe.skipIf(missing)('what operators see on a real cluster', () => {
  let cluster: AuditedCluster
  let running: SojournProcess | undefined
  beforeAll(async () => {
    cluster = await startInstalledCluster()
    await kubectl('create', 'namespace', 'team')
    for (const each of [settings, web, targets(['', 'configmaps', 'get list watch patch delete'])]) await apply(each)
  }, 900_000)
  afterEach(async () => {
    await running?.kill()
  })
  afterAll(() => cluster?.stop())

  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const apply = (input: object) => run('kubectl', ['apply', '-f', '-'], { ...cluster, input })
  const start = async (role: 'cleaner' | 'janitor') => {
    const flags = Object.entries(flagsAs(role, await accountOf(cluster, role)))
    running = await SojournProcess.start(flags.map(([name, value]) => `--${name}=${value}`))
    return running
  }

  it('8: a notice without a public URL names the command that keeps the object; status and log say so', async () => {
    for (const each of [channel, policy]) await apply(each)
    const process = await start('janitor')
    const notices = ['-n', 'team', 'get', 'events', '--field-selector=reason=CleanupScheduled', '-o', 'json']
    await expect
      .poll(async () => (await attempt('kubectl', notices, cluster)).stdout, { timeout: 60_000, interval: 500 })
      .toContain('To keep it, run: sojourn opt-out configmap/settings -n team')
    expect(await kubectl(...notices)).not.toMatch(/https?:/)
    const links = 'jsonpath={.status.conditions[?(@.type=="NoticeLinks")].status}'
    expect(await kubectl('get', 'cleanuppolicy', 'old', '-o', links)).toBe('False')
    expect(process.output).toContain('notices carry commands instead of links')
    const ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    expect(await kubectl('get', 'notificationchannel', 'events', '-o', ready)).toBe('True')
  })

  it('10: metrics tell of the process, its version, who leads, and a breaker that is closed', async () => {
    const process = await start('cleaner')
    await expect
      .poll(() => metrics(process.output), { timeout: 30_000, interval: 500 })
      .toMatch(/^sojourn_leader\{role="cleaner"\} 1$/m)
    const text = await metrics(process.output)
    for (const line of [
      /^process_resident_memory_bytes \d/m,
      /^process_cpu_seconds_total \d/m,
      /^process_start_time_seconds \d/m,
      /^sojourn_build_info\{version="\d+\.\d+\.\d+"\} 1$/m,
      /^sojourn_departures_breaker_open 0$/m,
    ])
      expect(text).toMatch(line)
    expect(cluster.agents('sojourn-cleaner')).toEqual([expect.stringMatching(/^sojourn-cleaner\/\d+\.\d+\.\d+$/)])
  })

  it('10: explain names what uses a ConfigMap', async () => {
    const { code, out } = await runCommand(cluster.kubeconfig, 'explain', 'configmap/settings', '-n', 'team')
    expect([code, out]).toEqual([0, expect.stringContaining('Deployment/web (container web)')])
  })

  it('3: after an outage that outlasts its Leases the process goes on, and names no other replica', async () => {
    const process = await start('cleaner')
    const holder = () => kubectl('-n', 'sojourn-system', 'get', 'lease', 'sojourn-cleaner', '-o', 'jsonpath={.spec}')
    await expect.poll(() => process.output, { timeout: 60_000 }).toContain('lease gained')
    const before = /"holderIdentity":"([^"]+)"/.exec(await holder())?.[1]
    const { 'kube-apiserver': server = expect.fail('no pid') } = cluster.pids
    kill(server, 'SIGSTOP')
    await setTimeout(25_000)
    kill(server, 'SIGCONT')
    expect(process.output).toContain('lease lost')
    await apply({
      apiVersion: 'cleaner.vtex.dev/v1alpha',
      kind: 'Cleaner',
      metadata: { name: 'settings', namespace: 'team' },
      spec: {
        ttl: '1s',
        targets: [{ name: 'it', delete: true, reference: { version: 'v1', kind: 'ConfigMap', name: 'settings' } }],
      },
    })
    await kubectl('-n', 'team', 'wait', '--for=delete', 'configmap/settings', '--timeout=60s')
    expect(await holder()).toContain(`"holderIdentity":"${before}"`)
    expect(process.output).not.toContain('taken over')
  })

  /** What the process answers an administrator at /metrics. */
  async function metrics(output: string): Promise<string> {
    const url = /url=(https:\S+)/.exec(output)?.[1] ?? expect.fail(output)
    const headers = { authorization: `Bearer ${cluster.token}` }
    return new Promise((resolve, reject) => {
      const sent = request(new URL('/metrics', url), { headers, rejectUnauthorized: false }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve(text))
      })
      sent.on('error', reject)
      sent.end()
    })
  }
})
