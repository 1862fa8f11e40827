import { afterAll, beforeAll, describe } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { itUninstallsWhatHelmInstalled } from '../e2e/helm/uninstalls.ts'
import { run } from './kubectl.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'helm')
if (missing) console.warn(`SKIPPED: Helm releases in a real cluster: ${missing}`)

describe.skipIf(missing)('a Cleaner in a real cluster', () => {
  let cluster: ReferenceCluster
  let network: ReturnType<typeof networkTransport>
  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    network = networkTransport(loadKubeconfig([cluster.kubeconfig], { now: () => systemClock.now(), env: {} }))
  }, 900_000)
  afterAll(async () => {
    network?.close()
    await cluster?.stop()
  })

  itUninstallsWhatHelmInstalled(() => ({
    transport: network.transport,
    helm: (command, env = {}) => run('helm', command.split(/\s+/), { ...cluster, env }),
  }))
})
