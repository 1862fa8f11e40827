import type { Graph } from './graph.ts'
import { refOfNode } from './graph.ts'
import type { ObjectRef } from '../../kube/object.ts'

/** What would happen to one object. */
export interface PreviewNode {
  readonly uid: string
  readonly ref: ObjectRef
  readonly action: 'delete' | 'orphan' | 'drop-reference' | 'keep' | 'refuse'
  /** Why, in a word. */
  readonly because: 'root' | 'owners-gone' | 'owner-remains' | 'protected' | 'orphaned'
  /** The uid through which it was reached; absent for the root. */
  readonly through?: string
  readonly depth: number
  /** Finalizers of others that would keep it waiting. */
  readonly waitsFor: readonly string[]
}

export interface Preview {
  readonly policy: 'Background' | 'Foreground' | 'Orphan'
  readonly nodes: readonly PreviewNode[]
  /** Whether everything that could depend on the root was known. */
  readonly complete: boolean
  readonly unknownKinds: readonly string[]
}

export interface PreviewOptions {
  readonly policy: Preview['policy']
  /** Why an object must stay, if it must. */
  readonly spares: (node: number) => string | undefined
  readonly unknownKinds?: readonly string[]
}

/** What would leave with an object, by the collector's own rules on the collector's own graph. Changes nothing. */
export function preview(graph: Graph, root: number, { policy, spares, unknownKinds = [] }: PreviewOptions): Preview {
  const nodes: PreviewNode[] = []
  const rest = { policy, complete: unknownKinds.length === 0, unknownKinds }
  const refusal = spares(root)
  nodes.push(
    nodeOf(graph, root, {
      action: refusal === undefined ? 'delete' : 'refuse',
      because: refusal === undefined ? 'root' : 'protected',
      depth: 0,
    }),
  )
  if (refusal !== undefined) return { ...rest, nodes }
  if (policy === 'Orphan') {
    graph.eachDependent(
      root,
      (dependent) =>
        void nodes.push(nodeOf(graph, dependent, { action: 'orphan', because: 'orphaned', depth: 1, through: root })),
    )
    return { ...rest, nodes }
  }
  walk(graph, root, spares, nodes)
  return { ...rest, nodes }
}

/** Breadth first: a dependent goes when the last owner that kept it goes. */
function walk(graph: Graph, root: number, spares: (node: number) => string | undefined, nodes: PreviewNode[]): void {
  const leaving = new Set([root])
  /** Those reached that some other owner still keeps: where their line is. */
  const kept = new Map<number, number>()
  let layer = [root]
  for (let depth = 1; layer.length > 0; depth++) {
    const next: number[] = []
    for (const owner of layer) {
      graph.eachDependent(owner, (dependent) => {
        if (leaving.has(dependent) || !graph.object(dependent)) return
        const line = kept.get(dependent)
        const isKept = graph
          .owners(dependent)
          .some((edge) => !leaving.has(edge.owner) && graph.object(edge.owner) !== undefined)
        const refusal = isKept ? undefined : spares(dependent)
        const fate = isKept
          ? ({ action: 'drop-reference', because: 'owner-remains' } as const)
          : refusal === undefined
            ? ({ action: 'delete', because: 'owners-gone' } as const)
            : ({ action: 'keep', because: 'protected' } as const)
        const node = nodeOf(graph, dependent, { ...fate, depth, through: owner })
        if (line === undefined) kept.set(dependent, nodes.push(node) - 1)
        else nodes[line] = node
        if (fate.action !== 'delete') return
        leaving.add(dependent)
        next.push(dependent)
      })
    }
    layer = next
  }
}

function nodeOf(
  graph: Graph,
  node: number,
  given: Pick<PreviewNode, 'action' | 'because' | 'depth'> & { through?: number },
): PreviewNode {
  const object = graph.object(node)
  if (!object) throw new Error('a preview needs an object')
  const { through, ...fate } = given
  const foreign = (object.metadata.finalizers ?? []).filter(
    (finalizer) => finalizer !== 'foregroundDeletion' && finalizer !== 'orphan',
  )
  return {
    uid: object.metadata.uid,
    ref: refOfNode(object),
    ...fate,
    waitsFor: foreign,
    ...(through === undefined ? {} : { through: graph.uidOf(through) }),
  }
}
