import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { isForegroundDeletion } from '../../../kube/owner-rule.ts'
import { BondEdges, type BondEdge } from '../graph/bond-edges.ts'
import type { Graph } from '../graph/graph.ts'
import { canBlock, ownerStateFor } from '../graph/cycles.ts'
import type { OwnerFact } from '../owners/decide.ts'
import type { PreviewOptions } from './preview.ts'

/** The objects of a graph as a rehearsal has changed them so far, and the questions that its decisions ask about them. The graph itself does not change. */
export class SimulatedCluster {
  readonly graph: Graph
  readonly bondEdges: BondEdges
  readonly #options: PreviewOptions
  /** By node; undefined when the object is gone. */
  readonly #objects: (StoredObject | undefined)[]
  /** The contents of namespaces and definitions whose deletion was requested. */
  readonly #contents = new Map<number, readonly number[]>()
  /** The cycle that a node belongs to, while cycles are being resolved. */
  #cycles: ReadonlyMap<number, number> | undefined

  constructor(graph: Graph, options: PreviewOptions) {
    this.graph = graph
    this.bondEdges = options.bondEdges ?? new BondEdges()
    this.#options = options
    this.#objects = [...graph.snapshot()]
  }

  object(node: number): StoredObject | undefined {
    return this.#objects[node]
  }

  /** Replaces an object; one that is being deleted and has no finalizers left is gone. */
  put(node: number, object: StoredObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata
    this.#objects[node] = deletionTimestamp && finalizers.length === 0 ? undefined : object
  }

  /** Resolves cycles while `work` runs: members of one cycle do not wait for each other. */
  withCycles(cycles: ReadonlyMap<number, number>, work: () => void): void {
    this.#cycles = cycles
    work()
    this.#cycles = undefined
  }

  /** What a namespace or definition contains; read once, when its deletion is requested. */
  contentsOf(node: number): { readonly members: readonly number[]; readonly isNew: boolean } {
    const known = this.#contents.get(node)
    if (known) return { members: known, isNew: false }
    const members = [...(this.#options.contents?.(node) ?? [])]
    this.#contents.set(node, members)
    return { members, isNew: true }
  }

  /** Those of its contents that still exist. */
  remainingContents(node: number): readonly number[] {
    return (this.#contents.get(node) ?? []).filter((member) => this.#objects[member])
  }

  ownersOf(object: StoredObject): readonly OwnerFact[] {
    const references = object.metadata.ownerReferences ?? []
    return references.map((reference) => ({ reference, state: this.#stateOf(object, reference) }))
  }

  #stateOf(object: StoredObject, reference: OwnerReference): OwnerFact['state'] {
    const node = this.nodeOf(reference.uid)
    const present = this.#objects[node]
    const owner = present ?? this.graph.object(node)
    const state = owner ? ownerStateFor(object, reference, owner) : 'mismatch'
    if (state === 'mismatch') return (this.#options.isKnowable?.(reference) ?? true) ? 'dangling' : 'unknown'
    return present || state === 'unknown' ? state : 'dangling'
  }

  dependentsOf(node: number): readonly number[] {
    return this.graph.dependents(node).filter((dependent) => this.#isDependent(dependent, node))
  }

  #isDependent(dependent: number, owner: number): boolean {
    const references = this.#objects[dependent]?.metadata.ownerReferences
    return references?.some(({ uid }) => this.graph.find(uid) === owner) ?? false
  }

  /** The dependents that block a foreground deletion. */
  blockersOf(node: number): readonly number[] {
    const found: number[] = []
    this.graph.eachDependent(node, (dependent, isBlocking) => {
      if (!isBlocking || !canBlock(this.#objects[dependent]) || this.#isInSameCycle(dependent, node)) return
      if (this.#isDependent(dependent, node)) found.push(dependent)
    })
    return found
  }

  /** Whether a protection of the real cluster still applies. A Bond denies only while a dependent of it exists. */
  isProtected(node: number): boolean {
    const because = this.#options.reasonToKeep(node)
    if (because !== 'bond-denies') return because !== undefined
    const denying = [...this.edgesOn(node)].filter(({ denies }) => denies)
    return denying.length === 0 || denying.some((edge) => this.#waitingDependents(edge, node).length > 0)
  }

  edgesOn(node: number): Iterable<BondEdge> {
    return this.bondEdges.on(this.graph.uidOf(node))
  }

  /** The Bonds that hold a node now. */
  holdsOn(node: number): readonly BondEdge[] {
    if (this.bondEdges.size === 0) return []
    return [...this.edgesOn(node)].filter((edge) => edge.holds && this.#waitingDependents(edge, node).length > 0)
  }

  /** The dependents of a Bond that exist, except those in a cycle with its dependency. */
  #waitingDependents(edge: BondEdge, node: number): readonly number[] {
    if (this.isOver(edge)) return []
    return edge.dependents
      .map((uid) => this.nodeOf(uid))
      .filter((dependent) => this.#objects[dependent] && !this.#isInSameCycle(dependent, node))
  }

  /** Whether a Bond is being deleted and none of its dependents is: otherwise it still protects for those. */
  isOver({ uid, dependents }: BondEdge): boolean {
    return (
      this.isDeleted(uid) &&
      !dependents.some((dependent) => this.#objects[this.nodeOf(dependent)]?.metadata.deletionTimestamp)
    )
  }

  /** Whether an object that existed is being deleted, or gone. */
  isDeleted(uid: string): boolean {
    const node = this.nodeOf(uid)
    const object = this.#objects[node]
    return object ? object.metadata.deletionTimestamp !== undefined : this.graph.has(node)
  }

  /** The objects that the deletion of a node waits for: blocking dependents, and dependents of Bonds that hold it. */
  awaitedBy(node: number): readonly number[] {
    const object = this.#objects[node]
    if (!object?.metadata.deletionTimestamp) return []
    const needing = [...this.edgesOn(node)]
      .filter((edge) => edge.holds && !this.isOver(edge))
      .flatMap(({ dependents }) => dependents.map((uid) => this.nodeOf(uid)))
    const blockers = isForegroundDeletion(object) ? this.blockersOf(node) : []
    return [...blockers, ...needing].filter((other) => this.#objects[other])
  }

  /** -1 for a uid that the graph does not know. */
  nodeOf(uid: string): number {
    return this.graph.find(uid) ?? -1
  }

  #isInSameCycle(one: number, other: number): boolean {
    const cycle = this.#cycles?.get(one)
    return cycle !== undefined && cycle === this.#cycles?.get(other)
  }
}
