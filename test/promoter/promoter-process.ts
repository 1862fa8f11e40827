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

/**
 * One promoter in a process of its own, to be killed: `promoter-process.ts KUBECONFIG EPOCH SPEED [STEPS WHEN]`. With STEPS it ends
 * itself as `kill -9` does, before or after that one of its steps: writes to the API server and requests to forges.
 */
const [kubeconfig = '', epoch = '0', speed = '1', steps = 'Infinity', when = 'before'] = process.argv.slice(2)
let left = Number(steps)

async function step<T>(act: () => Promise<T>): Promise<T> {
  const isLast = --left === 0
  if (isLast && when === 'before') process.kill(process.pid, 'SIGKILL')
  const result = await act()
  if (isLast) process.kill(process.pid, 'SIGKILL')
  return result
}

const log = silentLogger
const config = loadKubeconfig([kubeconfig], { now: () => systemClock.now(), env: {} })
const { transport } = networkTransport(config)
const client = new Client((request) =>
  request.method === 'GET' ? transport(request) : step(async () => transport(request)),
)
const network = localNetwork()
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
  network: { ...network, http: (request) => step(() => network.http(request)) },
  ports: { clock: fastClock, log, metrics: new Metrics() },
})
await controller.start(new AbortController().signal)
