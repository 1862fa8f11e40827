import { Graph } from '../../src/systems/collector/graph/graph.ts'
import { preview } from '../../src/systems/collector/preview/preview.ts'

/** Memory of a graph of this many objects, eight dependents per owner, and the time to process the deletion of all of them. */
export function measureGraph(objects: number): Readonly<Record<string, number>> {
  const graph = new Graph()
  for (let index = 0; index < objects; index++) graph.put(objectOf(index))
  const root = graph.find(uidOf(0)) ?? 0
  const look = () => preview(graph, root, { policy: 'Background', reasonToKeep: () => undefined })
  // Memory first: what the preview needs is its own.
  const bytes = graph.bytes / graph.size
  const first = timed(look)
  const second = timed(look)
  return {
    objects: graph.size,
    'bytes/object': Math.round(bytes),
    'first preview ms': first.ms,
    'of it CPU': first.cpuMs,
    'preview ms': second.ms,
    'CPU ms': second.cpuMs,
    leaving: first.result.nodes.leaving,
  }
}

/** How long work took, and how long this thread really worked: on a busy machine the others take the rest. */
function timed<T>(work: () => T): { readonly ms: number; readonly cpuMs: number; readonly result: T } {
  const cpu = process.threadCpuUsage()
  const at = performance.now()
  const result = work()
  const ms = performance.now() - at
  const { user, system } = process.threadCpuUsage(cpu)
  return { ms: Math.round(ms), cpuMs: Math.round((user + system) / 1000), result }
}

function objectOf(index: number) {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: uidOf(Math.floor((index - 1) / 8)) }
  const metadata = { name: 'x', namespace: 'n', resourceVersion: '1', creationTimestamp: '' }
  const ownerReferences = index === 0 ? [] : [owner]
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, uid: uidOf(index), ownerReferences } }
}

function uidOf(index: number): string {
  return `${index.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`
}
