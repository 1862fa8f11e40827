import type { Graph } from './graph.ts'
import { refOfNode } from './graph.ts'
import type { ObjectRef, StoredObject } from '../../kube/object.ts'

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

/** Breadth first: a dependent goes when the last owner that kept it goes. A million of them must not take long: no allocation but the lines. */
function walk(graph: Graph, root: number, spares: (node: number) => string | undefined, nodes: PreviewNode[]): void {
  const isLeaving = new Uint8Array(graph.capacity)
  isLeaving[root] = 1
  /** Where the line of a node is that was reached and does not leave, as far as is known. */
  const lines = new Map<number, number>()
  const keeps = (owner: number) => isLeaving[owner] === 0 && graph.object(owner) !== undefined
  let layer = [root]
  for (let depth = 1; layer.length > 0; depth++) {
    const next: number[] = []
    for (const owner of layer) {
      const through = graph.uidOf(owner)
      graph.eachDependent(owner, (dependent) => {
        const object = graph.object(dependent)
        if (isLeaving[dependent] === 1 || !object) return
        const isKept = graph.someOwner(dependent, keeps)
        const leaves = !isKept && spares(dependent) === undefined
        const node: PreviewNode = {
          uid: object.metadata.uid,
          ref: refOfNode(object),
          action: leaves ? 'delete' : isKept ? 'drop-reference' : 'keep',
          because: leaves ? 'owners-gone' : isKept ? 'owner-remains' : 'protected',
          through,
          depth,
          waitsFor: foreignFinalizers(object),
        }
        const line = lines.get(dependent)
        if (line === undefined) nodes.push(node)
        else nodes[line] = node
        if (leaves) {
          isLeaving[dependent] = 1
          next.push(dependent)
        } else if (line === undefined) lines.set(dependent, nodes.length - 1)
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
  return {
    uid: object.metadata.uid,
    ref: refOfNode(object),
    ...fate,
    waitsFor: foreignFinalizers(object),
    ...(through === undefined ? {} : { through: graph.uidOf(through) }),
  }
}

const none: readonly string[] = []

/** Finalizers that are not the collector's own. */
function foreignFinalizers({ metadata }: StoredObject): readonly string[] {
  if (!metadata.finalizers) return none
  return metadata.finalizers.filter((finalizer) => finalizer !== 'foregroundDeletion' && finalizer !== 'orphan')
}
