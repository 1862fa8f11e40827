import { refOf, type ObjectRef } from '../../../kube/object.ts'
import { foreignFinalizers } from './preview-nodes.ts'
import type { Graph } from '../graph/graph.ts'
import { canBlock } from '../graph/owner-state.ts'
import type { BondEdges } from '../graph/bond-edges.ts'

/** One thing that keeps an object from going: a finalizer of somebody else, or an object that was not told to go. */
export interface Obstacle {
  readonly ref: ObjectRef
  /** Absent when nobody has asked the object to go. */
  readonly finalizer?: string
}

/** What an object that is leaving waits for in the end: down through dependents that block it and those that need it. */
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
