import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { startReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { buildPeer } from '../peers/build-peer.ts'
import { fillCluster } from './fill-cluster.ts'
import { judged, type Judgement } from './judgement.ts'
import type { InformerFigures } from './measure-informer.ts'

const rounds = Number(process.env['ROUNDS'] ?? 3)

/** Fills a cache from a kube-apiserver, in turn with client-go's reflector; the best of each counts. */
export async function measureInformers(
  objects: number,
  node: <T>(script: string, args: readonly string[]) => Promise<T>,
): Promise<Judgement[]> {
  const peer = await buildPeer('client-go-reflector')
  await using cluster = await startReferenceCluster({ durable: false })
  const { kubeconfig } = cluster
  const network = networkTransport(loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} }))
  await fillCluster(new Client(network.transport), objects, (done) =>
    console.error(`${done} of ${objects} objects made`),
  )
  network.close()

  const measure: Record<string, () => Promise<InformerFigures>> = {
    sojourn: () => node('measure-informer.ts', [kubeconfig, 'stream']),
    'sojourn, in pages': () => node('measure-informer.ts', [kubeconfig, 'pages']),
    'client-go, structs': () => reflect(peer, kubeconfig, 'typed'),
    'client-go, maps': () => reflect(peer, kubeconfig, 'dynamic'),
  }
  const best: Record<string, InformerFigures> = {}
  for (let round = 1; round <= rounds; round++) {
    for (const [name, run] of Object.entries(measure)) {
      const figures = await run()
      console.error(`round ${round} of ${rounds}: ${name} ${figures.seconds.toFixed(1)} s`)
      best[name] = better(best[name], figures)
    }
  }
  console.table(best)
  const ours = best['sojourn'] as InformerFigures
  return Object.entries(best)
    .filter(([name]) => name.startsWith('client-go'))
    .flatMap(([name, figures]) => [
      judged(`informer: speed, times ${name}`, figures.seconds / ours.seconds, { atLeast: 0.8 }),
      judged(`informer: memory, times ${name}`, ours.rssBytes / figures.rssBytes, { atMost: 1.2 }),
    ])
}

async function reflect(peer: string, kubeconfig: string, client: string): Promise<InformerFigures> {
  const { stdout } = await promisify(execFile)(peer, ['-kubeconfig', kubeconfig, '-client', client])
  return JSON.parse(stdout) as InformerFigures
}

function better(former: InformerFigures | undefined, latter: InformerFigures): InformerFigures {
  return {
    objects: latter.objects,
    seconds: Math.min(former?.seconds ?? Number.POSITIVE_INFINITY, latter.seconds),
    rssBytes: Math.min(former?.rssBytes ?? Number.POSITIVE_INFINITY, latter.rssBytes),
    peakRssBytes: Math.min(former?.peakRssBytes ?? Number.POSITIVE_INFINITY, latter.peakRssBytes),
  }
}
