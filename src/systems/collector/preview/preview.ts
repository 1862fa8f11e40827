import { type OwnerReference, refOf, type ObjectRef } from '../../../kube/object.ts'
import { strongerOwner, type OwnerState } from '../../../kube/owner-rule.ts'
import type { Graph } from '../graph/graph.ts'
import { PreviewNodes, type Reason, foreignFinalizers } from './preview-nodes.ts'
import { Rehearsal } from './rehearsal.ts'
import { ownerStateFor, canBlock } from '../graph/cycles.ts'
import { BondEdges } from '../graph/bond-edges.ts'

export type { PreviewNode } from './preview-nodes.ts'

export interface Preview {
  readonly policy: 'Background' | 'Foreground' | 'Orphan'
  readonly nodes: PreviewNodes
  /** Whether everything that could depend on the root was known. */
  readonly complete: boolean
  readonly unknownKinds: readonly string[]
}

export interface PreviewOptions {
  readonly policy: Preview['policy']
  /** Why a dependent must stay, if it must. */
  readonly reasonToKeep: (node: number) => string | undefined
  /** Why the root cannot be deleted at all, if it cannot. */
  readonly reasonToRefuse?: (node: number) => string | undefined
  readonly bondEdges?: BondEdges
  /** The objects that the cluster deletes with an object: contents of a Namespace, instances of a CustomResourceDefinition. */
  readonly contents?: (node: number) => Iterable<number>
  /** Whether the absence of an owner can be told. Defaults to yes. */
  readonly isKnowable?: (reference: OwnerReference) => boolean
  readonly unknownKinds?: readonly string[]
}

/** What would happen if an object were deleted now, by the collector's own rules. Changes nothing. */
export function preview(graph: Graph, root: number, options: PreviewOptions): Preview {
  if (!graph.has(root)) throw new Error('a preview needs an object')
  const { policy, unknownKinds = [] } = options
  const walk = new Walk(graph, root, options)
  // One walk cannot tell what waits for what: that needs the whole cascade.
  const { nodes } = walk.mayWait ? new Rehearsal(graph, root, options) : walk
  return { policy, nodes, complete: unknownKinds.length === 0, unknownKinds }
}

/** Walks the graph breadth first: a dependent is deleted when the last owner that kept it is. */
class Walk {
  readonly nodes: PreviewNodes
  /** Whether the walk met an object that others may wait for, and stopped there. */
  mayWait = false
  readonly #graph: Graph
  readonly #options: PreviewOptions
  readonly #bondEdges: BondEdges
  readonly #isLeaving: Uint8Array
  /** Line + 1 of each node that was reached. */
  readonly #lines: Int32Array
  /** The nodes to delete, in the order in which they were found. */
  readonly #leaving: Int32Array
  #found = 0
  #depth = 1

  constructor(graph: Graph, root: number, options: PreviewOptions) {
    this.#graph = graph
    this.#options = options
    this.#bondEdges = options.bondEdges ?? new BondEdges()
    this.nodes = new PreviewNodes(graph.snapshot())
    this.#leaving = new Int32Array(graph.capacity)
    this.#isLeaving = new Uint8Array(graph.capacity)
    this.#lines = new Int32Array(graph.capacity)
    this.#begin(root)
  }

  #begin(root: number): void {
    const { reasonToRefuse, policy } = this.#options
    const refusal = reasonToRefuse?.(root)
    const line = this.nodes.add({ node: root, action: 'delete', because: 'root', through: -1, depth: 0 })
    this.#lines[root] = line + 1
    if (refusal !== undefined) return this.nodes.judge(line, 'refuse', 'denied', [refusal])
    this.#isLeaving[root] = 1
    this.#pass(root, line, policy === 'Orphan')
    for (let at = 0, layerEnd = this.#found; at < this.#found && !this.mayWait; layerEnd = this.#found) {
      this.#depth++
      for (; at < layerEnd && !this.mayWait; at++) {
        const node = this.#leaving[at] ?? 0
        this.#pass(node, (this.#lines[node] ?? 0) - 1, false)
      }
    }
  }

  /** Applies the deletion of a node to its contents and dependents. */
  #pass(node: number, line: number, isOrphaning: boolean): void {
    const { contents } = this.#options
    if (contents) for (const member of contents(node)) this.#condemn(member, line, 'container-gone')
    if (this.#bondEdges.size > 0 && this.#bondEdges.has(this.#graph.uidOf(node))) this.mayWait = true
    const graph = this.#graph
    const isInside = graph.isInNamespace(node)
    for (let edge = graph.firstEdge(node); edge >= 0; edge = graph.nextEdge(edge)) {
      const dependent = graph.dependentOf(edge)
      if (!graph.has(dependent) || this.#isLeaving[dependent] === 1) continue
      if (isInside && !graph.isInNamespace(dependent))
        this.#stay(dependent, { line, action: 'keep', because: 'owner-unknown' })
      else if (isOrphaning) this.#stay(dependent, { line, action: 'orphan', because: 'orphaned' })
      else this.#follow(dependent, line)
    }
  }

  #follow(dependent: number, line: number): void {
    const strongest = this.#strongestOwner(dependent)
    if (strongest === 'unknown') this.#stay(dependent, { line, action: 'keep', because: 'owner-unknown' })
    else if (strongest === 'solid') this.#stay(dependent, { line, action: 'drop-reference', because: 'owner-remains' })
    else if (this.#options.reasonToKeep(dependent) === undefined) this.#condemn(dependent, line, 'owners-gone')
    else this.#stay(dependent, { line, action: 'keep', because: 'protected' })
  }

  /** The strongest owner of a dependent; owners that the cascade deletes count as dangling. */
  #strongestOwner(dependent: number): OwnerState {
    const graph = this.#graph
    let strongest: OwnerState = 'dangling'
    for (let edge = graph.firstOwnerEdge(dependent); edge >= 0; edge = graph.nextOwnerEdge(edge)) {
      const owner = graph.ownerOf(edge)
      if (this.#isLeaving[owner] === 1) continue
      strongest = strongerOwner(strongest, this.#stateOf(dependent, owner))
      if (strongest === 'solid') return strongest
    }
    return strongest
  }

  #stateOf(dependent: number, owner: number): OwnerState {
    const uid = this.#graph.uidOf(owner)
    const object = this.#graph.object(dependent)
    const reference = object?.metadata.ownerReferences?.find((candidate) => candidate.uid === uid)
    if (!object || !reference) return 'dangling'
    const present = this.#graph.object(owner)
    const state = present ? ownerStateFor(object, reference, present) : 'mismatch'
    if (state !== 'mismatch') return state
    return (this.#options.isKnowable?.(reference) ?? true) ? 'dangling' : 'unknown'
  }

  #condemn(node: number, through: number, because: Reason): void {
    if (!this.#graph.has(node) || this.#isLeaving[node] === 1) return
    this.#isLeaving[node] = 1
    this.#leaving[this.#found++] = node
    this.#write(node, { line: through, action: 'delete', because })
  }

  #stay(node: number, fate: Fate): void {
    // A kept dependent blocks the foreground deletion of its owner; one that a Bond keeps may be deleted once the Bond's dependent is.
    if (fate.action === 'keep' && (this.#options.policy === 'Foreground' || this.#bondEdges.size > 0))
      this.mayWait = true
    if ((this.#lines[node] ?? 0) === 0) this.#write(node, fate)
    else this.nodes.judge((this.#lines[node] ?? 0) - 1, fate.action, fate.because)
  }

  #write(node: number, { line, action, because }: Fate): void {
    const known = (this.#lines[node] ?? 0) - 1
    if (known < 0) {
      this.#lines[node] = this.nodes.add({ node, action, because, through: line, depth: this.#depth }) + 1
      return
    }
    this.nodes.judge(known, action, because)
    this.nodes.reach(known, line, this.#depth)
  }
}

interface Fate {
  /** The line it is reached through. */
  readonly line: number
  readonly action: 'delete' | 'orphan' | 'drop-reference' | 'keep'
  readonly because: Reason
}

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
