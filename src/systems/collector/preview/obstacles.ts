import { refOf, type ObjectRef } from '../../../kube/object.ts'
import { foreignFinalizers } from './preview-nodes.ts'
import type { Graph } from '../graph/graph.ts'
import { canBlock } from '../graph/owner-state.ts'
import type { BondEdges } from '../graph/bond-edges.ts'

/** What blocks a deletion: a finalizer that is not the collector's, or an object that is not being deleted. */
export interface Obstacle {
  readonly ref: ObjectRef
  /** Absent if the object is not being deleted. */
  readonly finalizer?: string
}

/** What a deletion waits for in the end, found through dependents that block it and dependents by Bond; at most `most`. */
export function obstaclesOf(graph: Graph, bondEdges: BondEdges, root: number): readonly Obstacle[] {
  const found: Obstacle[] = []
  const seen = new Set([root])
  for (const node of seen) {
    const object = graph.object(node)
    if (!object || found.length >= most) continue
    const ref = refOf(object)
    if (!object.metadata.deletionTimestamp) {
      found.push({ ref })
      continue
    }
    for (const finalizer of foreignFinalizers(object)) found.push({ ref, finalizer })
    if (object.metadata.finalizers?.includes('foregroundDeletion'))
      graph.eachDependent(
        node,
        (dependent, isBlocking) => void (isBlocking && canBlock(graph.object(dependent)) && seen.add(dependent)),
      )
    for (const { holds, dependents } of bondEdges.on(object.metadata.uid))
      if (holds) for (const uid of dependents) seen.add(graph.find(uid) ?? node)
  }
  return found
}

/** An obstacle as a part of a sentence. */
export function describeObstacle({ ref, finalizer }: Obstacle): string {
  const name = `${ref.kind} ${ref.namespace ? `${ref.namespace}/` : ''}${ref.name}`
  return finalizer === undefined ? `${name}, which is not being deleted` : `${name} with finalizer ${finalizer}`
}

const most = 10
