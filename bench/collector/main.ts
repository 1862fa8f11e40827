import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { measureChain, measureFanOut, measureRecords } from './cascade.ts'
import { measureGraph } from './graph.ts'
import { sideBySide } from './side-by-side.ts'

/** What a cascade costs, and what it costs in Kubernetes. `PARTS=fan-out,chain` measures only those. */
const parts = (process.env['PARTS'] ?? 'graph,fan-out,chain,records,kubernetes').split(',')
const number = (name: string, standard: number) => Number(process.env[name] ?? standard)

if (parts.includes('graph')) report('graph', measureGraph(number('NODES', 1_000_000)))
if (parts.includes('fan-out')) report('fan-out', await measureFanOut(number('DEPENDENTS', 100_000)))
if (parts.includes('chain')) report('chain', await measureChain(number('LEVELS', 10_000)))
if (parts.includes('records')) report('records', await measureRecords(number('RECORDED', 20_000)))
if (parts.includes('kubernetes')) {
  const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing) console.error(`SKIPPED Kubernetes beside it: ${missing}`)
  else await sideBySide(number('BESIDE', 10_000), number('MOST_SECONDS', 20))
}

function report(name: string, figures: Readonly<Record<string, number>>): void {
  const said = Object.entries(figures).map(([figure, value]) => `${figure} ${value}`)
  console.log(name.padEnd(10), said.join(' · '))
}
