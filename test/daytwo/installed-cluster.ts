import { installManifests } from '../../src/app/install/install.ts'
import { clusterRoles } from '../../src/app/install/rbac.ts'
import { startAuditedCluster, type AuditedCluster } from '../access/audited-cluster.ts'
import { attempt, run, whenEstablished } from '../kubernetes/kubectl.ts'

/** A real kube-apiserver with controllers for accounts and aggregated roles, and Sojourn's manifests applied. No pods run in it. */
export async function startInstalledCluster(): Promise<AuditedCluster> {
  const controllers = ['clusterrole-aggregation-controller', 'serviceaccount-controller', 'namespace-controller']
  const cluster = await startAuditedCluster({ controllerManager: { controllers } })
  const manifests = installManifests({
    roles: clusterRoles,
    image: 'none',
    replicas: 1,
    dryRun: false,
    separateRoles: true,
  })
  const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
  // The first time the kinds are not served yet when their objects are applied.
  await attempt('kubectl', ['apply', '--server-side', '-f', '-'], { ...cluster, input })
  await whenEstablished(cluster)
  await run('kubectl', ['apply', '--server-side', '-f', '-'], { ...cluster, input })
  return cluster
}
