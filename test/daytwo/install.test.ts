import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { toolNames, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { attempt, run as runTool } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'

const missing = await whyUnavailable(...toolNames)
const chart = join(import.meta.dirname, '../../deploy/chart')
const program = join(import.meta.dirname, '../../bin/sojourn.js')
const granted = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'delete-previews', labels: { 'sojourn.dev/aggregate-to-targets': 'true' } },
  rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] }],
}

// Deleting a namespace while the kinds in it are deleted takes the namespace controller a minute, and several on a busy machine.
describe.skipIf(missing)('an installation on day two', { timeout: 600_000 }, () => {
  let cluster: ReferenceCluster

  beforeAll(async () => {
    const controllers = ['clusterrole-aggregation-controller', 'serviceaccount-controller', 'namespace-controller']
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    await kubectl('create', 'namespace', 'team')
  }, 900_000)
  afterAll(() => cluster?.stop())

  const kubectl = (...args: readonly string[]) => runTool('kubectl', args, cluster)
  const helm = (command: string, ...flags: readonly string[]) =>
    runTool('helm', [command, 'sojourn', ...flags, '-n', 'sojourn-system'], cluster)
  const apply = (input: unknown) => runTool('kubectl', ['apply', '--server-side', '-f', '-'], { ...cluster, input })
  const manifests = async (...flags: readonly string[]) =>
    (await promisify(execFile)(process.execPath, [program, 'install', ...flags], { maxBuffer: 1 << 26 })).stdout

  /** Grants a kind, and waits until the aggregation controller has put the rules into the roles that delete. */
  async function grant(): Promise<void> {
    await apply(granted)
    await expect.poll(targets, { timeout: 30_000, interval: 200 }).toContain('deployments')
  }
  const targets = () => kubectl('get', 'clusterrole', 'sojourn-cleaner-targets', '-o', 'jsonpath={.rules}')

  /** Everything that says it is Sojourn's, or is named so; not the kinds, which both ways of uninstalling keep or list on their own. */
  async function remains(): Promise<readonly string[]> {
    const resources = (await kubectl('api-resources', '--verbs=list', '-o', 'name')).split('\n').filter(isOfUs)
    const names = (await kubectl('get', resources.join(','), '-A', '-o', 'name')).split('\n')
    return names.filter((name) => /\/sojourn/.test(name) && name !== 'namespace/sojourn-system')
  }
  const isOfUs = (resource: string) => !resource.startsWith('events') && !resource.startsWith('customresourcedef')

  it('is told by sojourn run where the kinds are missing', async () => {
    const started = SojournProcess.start([`--kubeconfig=${cluster.kubeconfig}`, '--only=cleaner', '--port=0'])
    await expect(started).rejects.toThrow('sojourn install --crds-only | kubectl apply --server-side')
  })

  it('is upgraded by Helm after rights were granted, uninstalled without remains, and installed again', async () => {
    expect(await helm('install', chart, '--create-namespace')).toContain('STATUS: deployed')
    await grant()
    const rules =
      'targets.rules[0].apiGroups={apps},targets.rules[0].resources={statefulsets},targets.rules[0].verbs={get}'
    expect(await helm('upgrade', chart, '--set', `dryRun=false,${rules}`)).toContain('STATUS: deployed')
    await expect.poll(targets, { timeout: 30_000, interval: 200 }).toContain('statefulsets')
    expect(await targets()).toContain('deployments')
    // Without hooks: no kubelet runs the Job that wakes sleeping workloads first.
    await helm('uninstall', '--no-hooks')
    expect(await remains()).toEqual([])
    expect(await helm('install', chart, '--set', 'dryRun=false')).toContain('STATUS: deployed')
    await expect.poll(targets, { timeout: 30_000, interval: 200 }).toContain('deployments')
    await helm('uninstall', '--no-hooks')
    await kubectl('delete', 'clusterrole', 'delete-previews')
    expect(await remains()).toEqual([])
  })

  it('is upgraded by manifests after rights were granted, deleted without remains, and applied again', async () => {
    await apply(await manifests('--dry-run'))
    await grant()
    await apply(await manifests())
    expect(await targets()).toContain('deployments')
    // As the guide says: the namespace controller may be the first to delete what is in Sojourn's namespace.
    const remove = async () =>
      runTool('kubectl', ['delete', '--ignore-not-found', '-f', '-'], { ...cluster, input: await manifests() })
    await remove()
    expect(await remains()).toEqual([])
    await apply(await manifests())
    await expect.poll(targets, { timeout: 30_000, interval: 200 }).toContain('deployments')
    await remove()
    await kubectl('delete', 'clusterrole', 'delete-previews')
    expect(await remains()).toEqual([])
  })

  it.each(['view', 'edit', 'admin'] as const)(
    'lets people with the role %s use the kinds, and no credentials',
    async (role) => {
      await apply(await manifests())
      await kubectl('-n', 'team', 'create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}`)
      await kubectl('create', 'clusterrolebinding', `all-${role}`, `--clusterrole=${role}`, `--user=everywhere-${role}`)
      const may = async (verb: string, resource: string, user: string = role, ...more: readonly string[]) => {
        const asked = ['auth', 'can-i', verb, resource, '-n', 'team', '--as', user, ...more]
        const { stdout } = await attempt('kubectl', asked, cluster)
        return stdout.trim() === 'yes'
      }
      await expect.poll(() => may('list', 'cleaners.cleaner.vtex.dev'), { timeout: 30_000, interval: 200 }).toBe(true)
      const writes = role !== 'view'
      expect(await may('create', 'cleaners.cleaner.vtex.dev')).toBe(writes)
      expect(await may('delete', 'bonds.sojourn.dev')).toBe(writes)
      expect(await may('list', 'cleanuppolicies.sojourn.dev', `everywhere-${role}`)).toBe(true)
      expect(await may('create', 'cleanuppolicies.sojourn.dev', `everywhere-${role}`)).toBe(false)
      expect(await may('create', 'approvals.sojourn.dev')).toBe(false)
      expect(await may('get', 'departures.sojourn.dev')).toBe(role === 'admin')
      for (const resource of ['provideraccounts.sojourn.dev', 'notificationchannels.sojourn.dev'])
        expect(await may('get', resource, `everywhere-${role}`)).toBe(false)
      expect(await may('update', 'cleaners.cleaner.vtex.dev', role, '--subresource=status')).toBe(false)
    },
  )
})
