import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { targetsLabel } from '../../src/apis/group.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { nameOf, type ClusterRole } from '../../src/app/install/rbac.ts'
import { startRun, type Run } from '../../src/app/cluster/run.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { run } from './kubectl.ts'

/** A kubeconfig with the rights that were granted to a role's account, and no others. */
export async function accountOf(cluster: ReferenceCluster, role: ClusterRole): Promise<string> {
  const token = await run('kubectl', ['create', 'token', nameOf(role), '-n', 'sojourn-system'], cluster)
  const authority = Buffer.from(cluster.ca).toString('base64')
  const kubeconfig = join(dirname(cluster.kubeconfig), `${role}.json`)
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: cluster.url, 'certificate-authority-data': authority } }],
    users: [{ name: 'u', user: { token } }],
  }
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return kubeconfig
}

/** `sojourn run` of one role, with the rights of its account and no others. */
export async function startAs(
  cluster: ReferenceCluster,
  role: ClusterRole,
  flags: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const kubeconfig = await accountOf(cluster, role)
  const config = readConfig({ flags: { ...flagsAs(role, kubeconfig), ...flags }, env: {} })
  return startRun(config, loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} }), { log: silentLogger })
}

/** The flags of one role's process, under an account. */
export function flagsAs(role: ClusterRole, kubeconfig: string): Readonly<Record<string, string>> {
  return { only: role, port: '0', 'proxy-port': '0', kubeconfig }
}

/** What an administrator lets the systems that delete look at and delete. */
export function targets(...rules: readonly (readonly [group: string, resources: string, verbs: string])[]): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'targets-of-this-test', labels: { [targetsLabel]: 'true' } },
    rules: rules.map(([group, resources, verbs]) => ({
      apiGroups: [group],
      resources: resources.split(' '),
      verbs: verbs.split(' '),
    })),
  }
}
