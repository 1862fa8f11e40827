import type { ClusterHandle, Clusters, ClusterState } from '../../runtime/clusters/clusters.ts'
import type { BondOptions } from '../../systems/collector/bonds/bond-controller.ts'

/** Connects Bonds to the clusters they name. Each connection lasts as long as the instance. */
export function bondClusters(
  clusters: Clusters,
): Pick<BondOptions, 'clusterClient' | 'whyUnreachable' | 'onClusterChange'> {
  const used = new Map<string, ClusterHandle>()
  const listeners: ((cluster: string) => void)[] = []
  const open = (name: string): ClusterHandle => {
    const handle = clusters.client(name)
    handle.onChange(() => listeners.forEach((listener) => listener(name)))
    return handle
  }
  const use = (name: string) => used.getOrInsertComputed(name, open)
  return {
    clusterClient: (name) => {
      const { status, client } = use(name)
      return status.state === 'reachable' ? client : undefined
    },
    whyUnreachable: (name) => whyUnreachable(use(name).status),
    onClusterChange: (listener) => void listeners.push(listener),
  }
}

/** Why a cluster cannot be used, for the condition of a Bond. */
function whyUnreachable(status: ClusterState): string {
  switch (status.state) {
    case 'reachable':
      return 'it is being asked'
    case 'connecting':
      return 'it has not answered yet, or its GitopsCluster or the Secret with its kubeconfig may not be read'
    case 'not-found':
      return 'there is no such GitopsCluster (NAMESPACE.NAME)'
    case 'unreachable':
    case 'not-ready':
    case 'no-credentials':
      return status.because
  }
}
