import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { Door } from '../../src/departures/door/door.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Clusters } from '../../src/runtime/clusters/clusters.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { createJanitor } from '../../src/systems/janitor/janitor.ts'
import { localNetwork } from '../local-network.ts'

/** One janitor in a process of its own, to be killed: `janitor-process.ts KUBECONFIG IDENTITY`. */
const [kubeconfig = '', identity = ''] = process.argv.slice(2)
const clock = systemClock
const log = silentLogger
const config = loadKubeconfig([kubeconfig], { now: () => clock.now(), env: {} })
const client = new Client(networkTransport(config).transport)
const metrics = new Metrics()
const informers = new Informers({ clock, log, metrics })
const events = new EventRecorder('sojourn', { client, clock, log })
// Everything there is leaves in this test, which the breaker would rightly stop.
const door = new Door(
  { client, informers, clock, events, log, metrics, provesRecords: () => Promise.resolve(true) },
  { limits: { maxPercentOfKind: 100 } },
)
const clusters = new Clusters({
  home: client,
  informers,
  clock,
  log,
  connect: () => {
    throw new Error('there is one cluster')
  },
})
const janitor = createJanitor({
  client,
  informers,
  door,
  events,
  ports: { clock, log, metrics },
  cluster: (name) => clusters.client(name),
  network: localNetwork(),
  identity,
  publicUrl: () => 'https://sojourn.example',
  leaseTimes: { durationMs: 3000, renewDeadlineMs: 2000, retryMs: 500 },
})
await door.ready()
process.send?.('ready')
await Promise.all(janitor.controllers.map((controller) => controller.start(new AbortController().signal)))
