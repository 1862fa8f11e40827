import { Client } from '../../client/client.ts'
import { parseKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { sleep } from '../../runtime/time/clock.ts'
import { Clusters, type ClustersPorts } from '../../runtime/clusters/clusters.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import type { Outgoing } from '../../runtime/http/outgoing.ts'
import type { ExternalPorts } from '../../forecast/recorded-ports.ts'

/** A forecast's copy of a cluster always answers: it is never probed. */
const neverMs = 100 * 365 * 86_400_000

/** Tenants name these clusters: a page of 500 objects and some room. */
const maxBytes = 32 * 1024 * 1024

/** The clusters that GitopsClusters name. Each is connected while a system uses it. */
export function createClusters(
  ports: Omit<ClustersPorts, 'connect'>,
  { connectCluster }: ExternalPorts,
  outgoing: Outgoing,
): Clusters {
  if (connectCluster) return new Clusters({ ...ports, connect: connectCluster }, { probeMs: neverMs })
  const { clock } = ports
  const networks = new Map<Client, { close(): void }>()
  return new Clusters({
    ...ports,
    async connect(text, cluster) {
      const config = await parseKubeconfig(text, {
        now: () => clock.now(),
        env: process.env,
        origin: `the kubeconfig of cluster ${cluster}`,
      })
      const network = networkTransport(config, { userAgent: 'sojourn', agents: outgoing, maxBytes })
      const transport = pacedTransport(network.transport, {
        sleep: (ms, signal) => sleep(clock, ms, signal),
        random: systemRandom,
      })
      const connected = new Client(transport, { cluster })
      networks.set(connected, network)
      return connected
    },
    disconnect(connected) {
      networks.get(connected)?.close()
      networks.delete(connected)
    },
  })
}
