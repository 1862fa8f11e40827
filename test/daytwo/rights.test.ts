import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { cleaner } from '../../src/apis/cleaner.ts'
import type { ClusterRole } from '../../src/app/install/rbac.ts'
import type { AuditedCluster } from '../access/audited-cluster.ts'
import { accountOf, flagsAs } from '../kubernetes/account.ts'
import { attempt, run } from '../kubernetes/kubectl.ts'
import { SojournProcess } from '../kubernetes/sojourn-process.ts'
import { startInstalledCluster } from './installed-cluster.ts'

const missing = await whyUnavailable('kube-apiserver', 'kube-controller-manager', 'kubectl')
if (missing) console.warn(`SKIPPED: rights on a real kube-apiserver: ${missing}`)

describe.skipIf(missing)('rights on a real cluster', () => {
  let cluster: AuditedCluster
  const running: SojournProcess[] = []
  beforeAll(async () => {
    cluster = await startInstalledCluster()
  }, 900_000)
  afterEach(async () => {
    await Promise.all(running.splice(0).map((process) => process.kill()))
  })
  afterAll(() => cluster?.stop())

  const apply = (...objects: readonly object[]) =>
    run('kubectl', ['apply', '-f', '-'], {
      ...cluster,
      input: objects.map((each) => JSON.stringify(each)).join('\n---\n'),
    })
  const start = async (role: ClusterRole, ...flags: readonly string[]) => {
    const own = Object.entries(flagsAs(role, await accountOf(cluster, role))).map(
      ([name, value]) => `--${name}=${value}`,
    )
    const process = await SojournProcess.start([...own, ...flags])
    running.push(process)
    return process
  }
  const refusedOf = (role: ClusterRole) => cluster.asked(`sojourn-${role}`).filter(({ isAllowed }) => !isAllowed)
  const linesOf = ({ output }: SojournProcess) => output.split('\n').filter((line) => line.startsWith('{'))

  /** What an administrator binds to a role in one namespace only. */
  const bindIn = (namespace: string, role: ClusterRole, resources: readonly string[], verbs: readonly string[]) => {
    const metadata = { name: `only-here-${role}`, namespace }
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const subjects = [{ kind: 'ServiceAccount', name: `sojourn-${role}`, namespace: 'sojourn-system' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
    return apply(
      { apiVersion, kind: 'Role', metadata, rules: [{ apiGroups: [''], resources, verbs }] },
      { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects },
    )
  }

  it('the default collector asks for nothing that is refused, and says in one line what it does not watch', async () => {
    const process = await start('collector')
    await expect.poll(() => process.output, { timeout: 30_000 }).toContain('kinds not watched')
    await new Promise((resolve) => setTimeout(resolve, 20_000))
    const refused = refusedOf('collector')
    const errors = linesOf(process).filter((line) => line.includes('"level":"error"') && !line.includes('initializing'))
    console.info(`collector, 20 s: ${refused.length} refused requests, ${errors.length} error lines (f6ae480: 80, 64)`)
    expect(refused.map(({ what }) => what)).toEqual([])
    expect(errors).toEqual([])
    expect(linesOf(process).filter((line) => line.includes('kinds not watched'))).toHaveLength(1)
  })

  it.each([
    ['found by access reviews', []],
    ['named', ['--namespaces=a,b']],
  ] as const)(
    'a cleaner with a RoleBinding in one namespace deletes there and nowhere else: %s',
    async (how, flags) => {
      const [granted, other] = how === 'named' ? ['a', 'b'] : ['c', 'd']
      for (const name of [granted, other]) await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      await bindIn(granted, 'cleaner', ['configmaps'], ['get', 'list', 'watch', 'patch', 'delete'])
      // As the security page tells: only an administrator may let the cleaner see which namespaces there are.
      if (how !== 'named') await bindNamespaces()
      const target = {
        name: 'it',
        delete: true,
        includeWhenEvaluating: true,
        reference: { version: 'v1', kind: 'ConfigMap', name: 'old' },
      }
      for (const namespace of [granted, other])
        await apply(
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace } },
          {
            apiVersion: cleaner.apiVersion,
            kind: cleaner.kind,
            metadata: { name: 'preview', namespace },
            spec: { ttl: '1s', targets: [target], conditions: ['it.metadata.name == "old"'] },
          },
        )
      await start('cleaner', ...flags)
      const left = async (namespace: string) =>
        (await attempt('kubectl', ['-n', namespace, 'get', 'cm,cleaner', '-o', 'name'], cluster)).stdout
      await expect.poll(() => left(granted), { timeout: 60_000, interval: 500 }).not.toContain('old')
      expect(await left(other)).toContain('configmap/old')
      const ready = [
        '-n',
        other,
        'get',
        'cleaner',
        'preview',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].reason}',
      ]
      await expect.poll(() => run('kubectl', ready, cluster), { timeout: 30_000 }).toBe('TargetForbidden')
      const refused = refusedOf('cleaner').filter(({ what }) => / (list|watch)$/.test(what))
      expect(refused.map(({ what }) => what)).toEqual([])
    },
  )

  async function bindNamespaces(): Promise<void> {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const metadata = { name: 'cleaner-sees-namespaces' }
    await apply(
      {
        apiVersion,
        kind: 'ClusterRole',
        metadata,
        rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }],
      },
      {
        apiVersion,
        kind: 'ClusterRoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
        subjects: [{ kind: 'ServiceAccount', name: 'sojourn-cleaner', namespace: 'sojourn-system' }],
      },
    )
  }
})
