import { Client } from '../../client/client.ts'
import { parseKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import { Clusters } from '../../runtime/clusters/clusters.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import type { Outside } from './outside.ts'

// A copy of a cluster always answers.
const neverMs = 100 * 365 * 86_400_000

/** The clusters that GitopsClusters name, reached over the network while somebody uses them. */
export function createClusters({
  client,
  informers,
  clock,
  log,
  outside,
}: {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly outside: Outside
}): Clusters {
  const { connectCluster } = outside
  if (connectCluster)
    return new Clusters({ home: client, informers, clock, log, connect: connectCluster }, { probeMs: neverMs })
  const networks = new Map<Client, { close(): void }>()
  return new Clusters({
    home: client,
    informers,
    clock,
    log,
    connect(text, cluster) {
      const config = parseKubeconfig(text, {
        now: () => clock.now(),
        env: process.env,
        origin: `the kubeconfig of cluster ${cluster}`,
      })
      const network = networkTransport(config, { userAgent: 'sojourn' })
      const transport = pacedTransport(network.transport, {
        sleep: (ms, signal) => sleep(clock, ms, signal),
        random: systemRandom,
      })
      const made = new Client(transport, { cluster })
      networks.set(made, network)
      return made
    },
    disconnect(made) {
      networks.get(made)?.close()
      networks.delete(made)
    },
  })
}
