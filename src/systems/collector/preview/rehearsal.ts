import { bondFinalizer, holdFinalizer, seedFinalizer } from '../../../apis/bond.ts'
import { isBond } from '../../../apis/bond-guard.ts'
import { describeRef, refOf, type ObjectMeta, type OwnerReference, type StoredObject } from '../../../kube/object.ts'
import { isForegroundDeletion } from '../../../kube/owner-rule.ts'
import { componentsOf } from '../graph/cycles.ts'
import { decide, type Decision, type OwnerFact } from '../owners/decide.ts'
import type { Graph } from '../graph/graph.ts'
import type { PreviewOptions } from './preview.ts'
import { foreignFinalizers, PreviewNodes, type Reason } from './preview-nodes.ts'
import { SimulatedCluster } from './simulated-cluster.ts'

/**
 * Simulates a cascade on a copy of the graph, with the collector's own decisions, until nothing changes any more. Slower than a walk, but exact where objects
 * wait for each other: Bonds, and dependents that stay under an owner in foreground deletion. Finalizers of other controllers are assumed to be removed.
 *
 * More than 20 methods, because each reconcile step of the collector and of Bonds is one here.
 */
export class Rehearsal {
  readonly nodes: PreviewNodes
  readonly #cluster: SimulatedCluster
  readonly #hasContents: boolean
  /** Nodes to reconcile, each at most once at a time, and how many of them are done. */
  readonly #queue: number[] = []
  #done = 0
  readonly #isQueued: Uint8Array
  /** Line + 1 of each node that was reached. */
  readonly #lines: Int32Array
  /** Nodes whose deletion was requested, in that order. */
  readonly #deleted = new Set<number>()
  /** Nodes that a Bond wants deleted, with the dependency that caused it. */
  readonly #causes = new Map<number, number>()
  /** Dependencies whose Bonds have to be reconciled, once owners and dependents are settled. */
  readonly #pendingBonds = new Set<number>()
  /** Which nodes to reconcile when a node changes. */
  readonly #listeners = new Map<number, Set<number>>()

  constructor(graph: Graph, root: number, options: PreviewOptions) {
    this.#cluster = new SimulatedCluster(graph, options)
    this.#hasContents = options.contents !== undefined
    this.nodes = new PreviewNodes(graph.snapshot())
    this.#isQueued = new Uint8Array(graph.capacity)
    this.#lines = new Int32Array(graph.capacity)
    this.#requestDelete(root, { through: -1, because: 'root', propagation: options.policy })
    do this.#drain()
    while (this.#reconcileBonds() || this.#resolveCycles() || this.#removeForeignFinalizers())
    this.#noteHeld()
  }

  #drain(): void {
    for (; this.#done < this.#queue.length; this.#done++) {
      const node = this.#queue[this.#done] ?? 0
      this.#isQueued[node] = 0
      this.#reconcile(node)
    }
  }

  /** Lets the members of closed cycles continue without waiting for each other. One search for all, once nothing else changes. */
  #resolveCycles(): boolean {
    const cluster = this.#cluster
    const awaited = new Map(this.#terminating().map((node) => [node, cluster.awaitedBy(node)] as const))
    const cycles = componentsOf(awaited.keys(), (node) => awaited.get(node) ?? cluster.awaitedBy(node))
    // A cycle that waits for an object outside of it waits as a whole.
    const waiting = new Set<number | undefined>()
    for (const [node, others] of awaited) {
      const cycle = cycles.get(node)
      if (others.length === 0 || others.some((other) => cycles.get(other) !== cycle)) waiting.add(cycle)
    }
    const closed = new Map([...cycles].filter(([, cycle]) => !waiting.has(cycle)))
    const before = this.#queue.length
    cluster.withCycles(closed, () => {
      for (const node of closed.keys()) this.#reconcile(node)
    })
    return this.#queue.length > before
  }

  /** Plays the controllers that put finalizers on objects which are being deleted now. */
  #removeForeignFinalizers(): boolean {
    const before = this.#queue.length
    for (const node of this.#terminating()) {
      const object = this.#cluster.object(node)
      if (object) this.#removeFinalizers(node, foreignFinalizers(object))
    }
    return this.#queue.length > before
  }

  #noteHeld(): void {
    for (const node of this.#terminating()) this.nodes.judge(this.#lineOf(node), 'hold', 'held', this.#obstacles(node))
  }

  #terminating(): readonly number[] {
    return [...this.#deleted].filter((node) => this.#cluster.object(node))
  }

  #reconcile(node: number): void {
    const cluster = this.#cluster
    const object = cluster.object(node)
    if (cluster.bondEdges.size > 0 && cluster.bondEdges.has(cluster.graph.uidOf(node)))
      this.#listenToBonds(node, object)
    if (!object) return
    if (this.#deleted.has(node)) return this.#reconcileDeleted(node, object)
    if (object.metadata.deletionTimestamp) return this.#join(node, object)
    const cause = this.#causes.get(node)
    if (cause !== undefined) {
      if (!cluster.isProtected(node) && !cluster.holdsOn(node).some(({ cascades }) => !cascades))
        return this.#requestDelete(node, {
          through: cause,
          because: 'requirement-gone',
          propagation: this.#propagationOf(cause),
        })
      this.#note(node, cause, 'keep', 'protected')
    }
    this.#reconcileOwned(node, object)
  }

  /** Reconciles a dependency again when one of its Bonds or their dependents changes. */
  #listenToBonds(node: number, object: StoredObject | undefined): void {
    for (const { uid, dependents } of this.#cluster.edgesOn(node))
      for (const other of [uid, ...dependents]) this.#listen(this.#cluster.graph.find(other), node)
    if (!object || object.metadata.deletionTimestamp) this.#pendingBonds.add(node)
  }

  /** Marks the dependents of Bonds whose dependency is being deleted, or gone, for deletion. A Bond that is itself being deleted has no effect. */
  #reconcileBonds(): boolean {
    const before = this.#queue.length
    for (const node of this.#pendingBonds)
      for (const { cascades, dependents, uid } of this.#cluster.edgesOn(node)) {
        if (!cascades || this.#cluster.isDeleted(uid)) continue
        for (const dependent of dependents.flatMap((each) => this.#cluster.graph.find(each) ?? [])) {
          if (this.#causes.has(dependent)) continue
          this.#causes.set(dependent, node)
          this.#enqueue(dependent)
        }
      }
    this.#pendingBonds.clear()
    return this.#queue.length > before
  }

  #reconcileOwned(node: number, object: StoredObject): void {
    const through = this.#deletedOwner(this.#cluster.ownersOf(object))
    if (through === undefined) return
    const decision = this.#decide(node, object)
    switch (decision.do) {
      case 'keep':
        if (decision.because === 'protected' || decision.because === 'owner-unknown')
          this.#note(node, through, 'keep', decision.because)
        return
      case 'drop-references':
        this.#note(node, through, 'drop-reference', 'owner-remains')
        return this.#dropReferences(node, object, (reference) => decision.references.includes(reference))
      case 'delete':
        return this.#requestDelete(node, { through, because: 'owners-gone', propagation: decision.propagation })
      case 'release':
      case 'orphan':
    }
  }

  /** Dependents by Bond are deleted with the propagation policy of their dependency. */
  #propagationOf(dependency: number): 'Background' | 'Foreground' {
    const finalizers = this.#cluster.object(dependency)?.metadata.finalizers
    return finalizers?.includes('foregroundDeletion') ? 'Foreground' : 'Background'
  }

  #decide(node: number, object: StoredObject): Decision {
    return decide({
      object,
      owners: this.#cluster.ownersOf(object),
      hasDependents: this.#cluster.dependentsOf(node).length > 0,
      blockingDependents: 0,
      isProtected: this.#cluster.isProtected(node),
    })
  }

  /** An object whose deletion was requested before becomes part of the cascade. */
  #join(node: number, object: StoredObject): void {
    const through = this.#causes.get(node) ?? this.#deletedOwner(this.#cluster.ownersOf(object))
    if (through !== undefined) this.#requestDelete(node, { through, because: 'owners-gone', propagation: 'Background' })
  }

  #reconcileDeleted(node: number, object: StoredObject): void {
    const cluster = this.#cluster
    const { members, isNew } = cluster.contentsOf(node)
    if (isNew)
      for (const member of members) {
        this.#listen(member, node)
        this.#requestDelete(member, { through: node, because: 'container-gone', propagation: 'Background' })
      }
    if (cluster.remainingContents(node).length === 0) this.#removeFinalizers(node, [contentsFinalizer])
    if (cluster.holdsOn(node).length === 0) this.#removeFinalizers(node, [holdFinalizer, seedFinalizer])
    if (isBond(object)) this.#reconcileDeletedBond(node, object)
    const isForeground = object.metadata.finalizers?.includes('foregroundDeletion')
    const blockingDependents = isForeground ? cluster.blockersOf(node).length || this.#pendingDependents(node) : 0
    const decision = decide({ object, owners: [], hasDependents: true, blockingDependents, isProtected: false })
    if (decision.do === 'release') this.#removeFinalizers(node, [decision.finalizer])
    if (decision.do === 'orphan') this.#orphan(node, object)
  }

  #orphan(node: number, { metadata }: StoredObject): void {
    for (const dependent of this.#cluster.dependentsOf(node)) {
      const orphan = this.#cluster.object(dependent)
      if (!orphan) continue
      this.#note(dependent, node, 'orphan', 'orphaned')
      this.#dropReferences(dependent, orphan, ({ uid }) => uid === metadata.uid)
    }
    this.#removeFinalizers(node, ['orphan'])
  }

  /** A Bond is removed once none of its dependents is being deleted. */
  #reconcileDeletedBond(node: number, { metadata }: StoredObject): void {
    const edge = this.#cluster.bondEdges.of(`${metadata.namespace}/${metadata.name}`)
    for (const dependent of edge?.dependents ?? []) this.#listen(this.#cluster.graph.find(dependent), node)
    if (!edge || this.#cluster.isOver(edge)) this.#removeFinalizers(node, [bondFinalizer])
  }

  /** Sets deletionTimestamp and finalizers as the API server does. */
  #requestDelete(node: number, { through, because, propagation }: DeleteRequest): void {
    const object = this.#cluster.object(node)
    if (!object || this.#deleted.has(node)) return
    this.#deleted.add(node)
    this.#note(node, through, 'delete', because)
    const { finalizers = [], deletionTimestamp = 'now' } = object.metadata
    const added = [
      ...(propagation === 'Background' ? [] : [propagation === 'Orphan' ? 'orphan' : 'foregroundDeletion']),
      ...(this.#cluster.holdsOn(node).length > 0 ? [holdFinalizer] : []),
      ...(this.#hasContents ? [contentsFinalizer] : []),
    ]
    this.#change(node, object, { deletionTimestamp, finalizers: [...new Set([...finalizers, ...added])] })
  }

  #removeFinalizers(node: number, removed: readonly string[]): void {
    const object = this.#cluster.object(node)
    const finalizers = object?.metadata.finalizers ?? []
    const kept = finalizers.filter((finalizer) => !removed.includes(finalizer))
    if (object && kept.length < finalizers.length) this.#change(node, object, { finalizers: kept })
  }

  #dropReferences(node: number, object: StoredObject, isDropped: (reference: OwnerReference) => boolean): void {
    const { ownerReferences = [] } = object.metadata
    this.#change(node, object, { ownerReferences: ownerReferences.filter((reference) => !isDropped(reference)) })
  }

  /** Writes an object and enqueues every node that the change may concern. */
  #change(node: number, object: StoredObject, change: Partial<ObjectMeta>): void {
    const changed = { ...object, metadata: { ...object.metadata, ...change } }
    this.#cluster.put(node, changed)
    this.#enqueue(node)
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owner = this.#cluster.nodeOf(uid)
      if (this.#deleted.has(owner)) this.#enqueue(owner)
    }
    for (const other of this.#listeners.get(node) ?? []) this.#enqueue(other)
    if (changed.metadata.deletionTimestamp)
      for (const dependent of this.#cluster.dependentsOf(node)) this.#enqueue(dependent)
  }

  /** Has the listener reconciled whenever the node changes. */
  #listen(node: number | undefined, listener: number): void {
    if (node !== undefined) this.#listeners.getOrInsertComputed(node, () => new Set()).add(listener)
  }

  #enqueue(node: number): void {
    if (this.#isQueued[node] === 1) return
    this.#isQueued[node] = 1
    this.#queue.push(node)
  }

  /** The first owner that does not keep the object any more because the cascade deletes it. */
  #deletedOwner(owners: readonly OwnerFact[]): number | undefined {
    return owners
      .filter(({ state }) => state !== 'solid')
      .map(({ reference }) => this.#cluster.nodeOf(reference.uid))
      .find((owner) => this.#deleted.has(owner))
  }

  /** 1 if a dependent still has to be deleted, or to drop its reference to this owner. */
  #pendingDependents(node: number): number {
    for (const dependent of this.#cluster.dependentsOf(node)) {
      const object = this.#cluster.object(dependent)
      if (object && !object.metadata.deletionTimestamp && this.#decide(dependent, object).do !== 'keep') return 1
    }
    return 0
  }

  /** What a held object waits for, the first few by name. */
  #obstacles(node: number): readonly string[] {
    const cluster = this.#cluster
    const object = cluster.object(node)
    const blockers = object && isForegroundDeletion(object) ? cluster.blockersOf(node) : []
    const named = [...blockers, ...cluster.remainingContents(node)]
      .slice(0, maxNamed)
      .flatMap((other) => cluster.graph.object(other) ?? [])
      .map((other) => describeRef(refOf(other)))
    return [...cluster.holdsOn(node).map(({ bond }) => `Bond ${bond}`), ...named]
  }

  #lineOf(node: number): number {
    return (this.#lines[node] ?? 0) - 1
  }

  /** Writes what happens to a node, as far as is known yet. */
  #note(node: number, through: number, action: 'delete' | 'orphan' | 'drop-reference' | 'keep', because: Reason): void {
    // An object that owns itself is its own orphan, and deleted all the same.
    if (action !== 'delete' && this.#deleted.has(node)) return
    const above = through < 0 ? -1 : this.#lineOf(through)
    const depth = above < 0 ? 0 : this.nodes.depthOf(above) + 1
    const known = this.#lineOf(node)
    if (known < 0) {
      this.#lines[node] = this.nodes.add({ node, action, because, through: above, depth }) + 1
      return
    }
    this.nodes.judge(known, action, because)
    if (action === 'delete') this.nodes.reach(known, above, depth)
  }
}

interface DeleteRequest {
  /** The node whose deletion is the cause; -1 for the root. */
  readonly through: number
  readonly because: Reason
  readonly propagation: 'Background' | 'Foreground' | 'Orphan'
}

/** Stands for what keeps a namespace or definition on a server while it has contents. */
const contentsFinalizer = 'sojourn.dev/rehearsal-contents'
const maxNamed = 10
