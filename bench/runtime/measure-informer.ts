import { configMaps } from '../../src/kube/core-types.ts'
import { readFileSync } from 'node:fs'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'

/** How long a cache took to fill and what it holds, as the Go peer tells it. */
export interface InformerFigures {
  readonly objects: number
  readonly seconds: number
  readonly rssBytes: number
  readonly peakRssBytes: number
}

const [kubeconfig = '', how = 'pages'] = process.argv.slice(2)
const config = loadKubeconfig([kubeconfig], { now: () => Date.now(), env: process.env })
const network = networkTransport(config)
const informers = new Informers({ clock: systemClock }, { streams: how === 'stream' })
const startedAt = performance.now()
const informer = informers.open(new Client(network.transport), configMaps)
await informer.whenSynced()
const seconds = (performance.now() - startedAt) / 1000
globalThis.gc?.()
globalThis.gc?.()
const figures: InformerFigures = {
  objects: informer.size,
  seconds,
  rssBytes: process.memoryUsage.rss(),
  peakRssBytes: Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024,
}
console.log(JSON.stringify(figures))
informers.close()
network.close()
