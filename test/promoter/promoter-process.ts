import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock, type Clock } from '../../src/runtime/time/clock.ts'
import { Clusters } from '../../src/runtime/clusters/clusters.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { Promoter } from '../../src/systems/promoter/controller.ts'
import { trusting } from '../trusting.ts'
import { localNetwork } from '../local-network.ts'

/** One promoter in a process of its own, to be killed: `promoter-process.ts KUBECONFIG EPOCH SPEED`. */
const [kubeconfig = '', epoch = '0', speed = '1'] = process.argv.slice(2)
const log = silentLogger
const config = loadKubeconfig([kubeconfig], { now: () => systemClock.now(), env: {} })
const client = new Client(networkTransport(config).transport)
const informers = new Informers({ clock: systemClock, log })
const events = new EventRecorder('promoter', { client, clock: systemClock, log })
const clusters = new Clusters({
  home: client,
  informers,
  clock: systemClock,
  log,
  connect: () => {
    throw new Error('there is one cluster')
  },
})

/** Retries and looks at pull requests take minutes; every process sees the same time pass faster. */
const fastClock: Clock = {
  ...systemClock,
  now: () => Number(epoch) + (systemClock.now() - Number(epoch)) * Number(speed),
  monotonic: () => systemClock.monotonic() * Number(speed),
  after: (delayMs, callback) => systemClock.after(delayMs / Number(speed), callback),
}

const { controller } = new Promoter({
  client,
  informers,
  clusters,
  actAs: trusting(client),
  events,
  network: localNetwork(),
  ports: { clock: fastClock, log, metrics: new Metrics() },
})
await controller.start(new AbortController().signal)
