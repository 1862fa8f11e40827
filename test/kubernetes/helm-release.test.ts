import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { creatorPolicies } from '../../src/admission/policies/creator-policy.ts'
import { rbacFor } from '../../src/app/install/rbac.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { itUninstallsWhatHelmInstalled } from '../e2e/helm/uninstalls.ts'
import { accountOf, targets } from './account.ts'
import { attempt, run } from './kubectl.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'helm')
if (missing) console.warn(`SKIPPED: Helm releases in a real cluster: ${missing}`)

describe.skipIf(missing)('a Cleaner in a real cluster', () => {
  let cluster: ReferenceCluster
  const networks: ReturnType<typeof networkTransport>[] = []
  const reach = (kubeconfig: string) => {
    const network = networkTransport(loadKubeconfig([kubeconfig], { now: () => systemClock.now(), env: {} }))
    networks.push(network)
    return network.transport
  }
  beforeAll(async () => {
    const controllers = ['clusterrole-aggregation-controller']
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
  }, 900_000)
  afterAll(async () => {
    for (const network of networks) network.close()
    await cluster?.stop()
  })

  /** With what docs/guide/security.md says that it needs for releases, and nothing else. */
  async function cleaner() {
    const items = [
      ...rbacFor(['cleaner'], { separateRoles: true }),
      ...creatorPolicies({ admission: 'MAP', restorers: [] }),
      targets(
        ['', 'secrets configmaps', 'get list patch delete'],
        ['', 'services', 'get delete'],
        ['apps', 'deployments', 'get delete'],
        ['rbac.authorization.k8s.io', 'clusterroles', 'get delete'],
        ['batch', 'jobs', 'get create delete'],
      ),
    ]
    const input = { apiVersion: 'v1', kind: 'List', items }
    await run('kubectl', ['apply', '--server-side', '-f', '-'], { ...cluster, input })
    const kubeconfig = await accountOf(cluster, 'cleaner')
    const may = ['auth', 'can-i', 'delete', 'jobs.batch', '-A']
    await vi.waitFor(async () => expect((await attempt('kubectl', may, { kubeconfig })).stdout).toBe('yes\n'), 20_000)
    return reach(kubeconfig)
  }

  itUninstallsWhatHelmInstalled(() => ({
    transport: reach(cluster.kubeconfig),
    cleaner,
    helm: (command, env = {}) => run('helm', command.split(/\s+/), { ...cluster, env }),
  }))
})
