import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { accountOf, flagsAs } from '../kubernetes/account.ts'
import { attempt, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: who leads, on a real kube-apiserver: ${missing}`)

describe.skipIf(missing)('who leads on a real cluster', () => {
  let cluster: AuditedCluster
  const running: SojournProcess[] = []

  beforeAll(async () => {
    cluster = await startInstalledCluster()
    await run('kubectl', ['apply', '-f', '-'], { ...cluster, input: sample })
  }, 900_000)
  afterEach(async () => {
    await Promise.all(running.splice(0).map((process) => process.kill()))
  })
  afterAll(() => cluster?.stop())

  const sample = {
    apiVersion: cleaner.apiVersion,
    kind: cleaner.kind,
    metadata: { name: 'preview', namespace: 'sojourn-system' },
    spec: { ttl: '50h', targets: [] },
  }
  const versions = 'jsonpath={range .items[*]}{.kind}/{.metadata.name}@{.metadata.resourceVersion} {end}'
  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const holder = async (role: string) =>
    (
      await attempt('kubectl', ['-n', 'sojourn-system', 'get', 'lease', `sojourn-${role}`, '-o', 'json'], cluster)
    ).stdout.match(/"holderIdentity": "(.*)"/)?.[1] ?? ''
  const start = async (flags: Readonly<Record<string, string | true>>) => {
    const process = await SojournProcess.start(
      Object.entries(flags).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`)),
    )
    running.push(process)
    return process
  }
  const asPod = async (role: 'cleaner') => flagsAs(role, await accountOf(cluster, role))
  const asAdministrator = () => ({ port: '0', 'proxy-port': '0', kubeconfig: cluster.kubeconfig })

  it('a dry run on a laptop leads nothing, writes nothing and takes no seat, even when the pods die', async () => {
    const pod = await start(await asPod('cleaner'))
    await expect.poll(() => holder('cleaner'), { timeout: 30_000 }).not.toBe('')
    const leader = await holder('cleaner')
    const laptop = await start({ ...asAdministrator(), 'dry-run': true })
    await pod.kill()
    const later = { ...sample, metadata: { ...sample.metadata, name: 'later' } }
    await run('kubectl', ['apply', '-f', '-'], { ...cluster, input: later })
    const before = await kubectl('get', 'leases,secrets,cleaners,events', '-n', 'sojourn-system', '-o', versions)
    await expect.poll(() => laptop.output, { timeout: 60_000 }).toMatch(/not written.*cleaners\/later\/status/)
    // Longer than a Lease lasts that is not renewed.
    await new Promise((resolve) => setTimeout(resolve, 20_000))
    expect(await holder('cleaner')).toBe(leader)
    expect(await kubectl('get', 'leases,secrets,cleaners,events', '-n', 'sojourn-system', '-o', versions)).toBe(before)
  })

  it('one process with all roles leads no role that a pod leads, and a process with other settings is refused', async () => {
    // The Lease still names the process of the test before.
    const former = await holder('cleaner')
    await start(await asPod('cleaner'))
    await expect.poll(() => holder('cleaner'), { timeout: 60_000 }).not.toBe(former)
    const leader = await holder('cleaner')
    await start(asAdministrator())
    await expect.poll(() => holder('collector'), { timeout: 60_000 }).not.toBe('')
    expect([await holder('cleaner'), (await holder('collector')) === leader]).toEqual([leader, false])
    const other = SojournProcess.start([
      `--kubeconfig=${await accountOf(cluster, 'cleaner')}`,
      '--only=collector',
      '--port=0',
      '--dry-run',
    ])
    await expect(other).rejects.toThrow(
      /runs the role collector in this cluster with other settings: .* with no --dry-run$/m,
    )
  })
})
