import { holdFinalizer, seedFinalizer } from '../../apis/bond.ts'
import { describeRef, type ObjectMeta, type OwnerReference, type StoredObject } from '../../kube/object.ts'
import { componentsOf } from './cycles.ts'
import { decide, type OwnerFact } from './decide.ts'
import { refOfNode, type Graph } from './graph.ts'
import type { PreviewOptions } from './preview.ts'
import { foreignFinalizers, PreviewNodes, type Reason } from './preview-nodes.ts'
import { standingOf } from './standing.ts'
import { Ties, type Tie } from './ties.ts'

/**
 * Plays a cascade through on a copy, step by step and by the collector's own decisions, until nothing moves any more. Slower than a walk, but right where
 * objects wait for each other: Bonds, and dependents that stay under an owner that goes in the foreground. Finalizers of others are taken to come off.
 */
export class Rehearsal {
  readonly nodes: PreviewNodes
  readonly #graph: Graph
  readonly #options: PreviewOptions
  readonly #ties: Ties
  /** Every object as it is by now; undefined when it is gone. */
  readonly #objects: (StoredObject | undefined)[]
  /** Nodes to look at, each once at a time, and how many of them were. */
  readonly #queue: number[] = []
  #looked = 0
  readonly #isQueued: Uint8Array
  /** Line + 1 of each node that was reached. */
  readonly #lines: Int32Array
  /** Those that were told to go, in that order. */
  readonly #told = new Set<number>()
  /** What a Bond wants gone, with what it needed. */
  readonly #wanted = new Map<number, number>()
  /** Who has to be looked at when a node that needs it changes. */
  readonly #needed = new Map<number, Set<number>>()
  /** What is inside of those told to go. */
  readonly #contents = new Map<number, readonly number[]>()
  /** The circle each of those who leave is in, while circles are being opened. */
  #rings: ReadonlyMap<number, number> | undefined

  constructor(graph: Graph, root: number, options: PreviewOptions) {
    this.#graph = graph
    this.#options = options
    this.#ties = options.ties ?? new Ties()
    this.nodes = new PreviewNodes(graph.snapshot())
    this.#objects = [...graph.snapshot()]
    this.#isQueued = new Uint8Array(graph.capacity)
    this.#lines = new Int32Array(graph.capacity)
    this.#tell(root, { through: -1, because: 'root', propagation: options.policy })
    do this.#drain()
    while (this.#openRings() || this.#finalize())
    this.#judgeHeld()
  }

  #drain(): void {
    for (; this.#looked < this.#queue.length; this.#looked++) {
      const node = this.#queue[this.#looked] ?? 0
      this.#isQueued[node] = 0
      this.#look(node)
    }
  }

  /** Those in a circle do not wait for each other. Seen only when nothing else moves: one search for all of them. */
  #openRings(): boolean {
    const leaving = this.#leaving()
    const before = this.#queue.length
    this.#rings = componentsOf(leaving, (node) => this.#childrenOf(node))
    for (const node of leaving) this.#look(node)
    this.#rings = undefined
    return this.#queue.length > before
  }

  /** Whoever put finalizers on what leaves takes them off. */
  #finalize(): boolean {
    const before = this.#queue.length
    for (const node of this.#leaving()) {
      const object = this.#objects[node]
      if (object) this.#release(node, foreignFinalizers(object))
    }
    return this.#queue.length > before
  }

  #judgeHeld(): void {
    for (const node of this.#leaving()) this.nodes.judge(this.#lineOf(node), 'hold', 'held', this.#obstacles(node))
  }

  #leaving(): readonly number[] {
    return [...this.#told].filter((node) => this.#objects[node])
  }

  #look(node: number): void {
    const object = this.#objects[node]
    this.#lookAtTies(node, object)
    if (!object) return
    if (this.#told.has(node)) return this.#lookAtLeaving(node, object)
    if (object.metadata.deletionTimestamp) return this.#join(node, object)
    const needed = this.#wanted.get(node)
    if (needed !== undefined) {
      if (!this.#isProtected(node) && !this.#holds(node).some(({ cascades }) => !cascades))
        return this.#tell(node, { through: needed, because: 'requirement-gone', propagation: 'Background' })
      this.#note(node, needed, 'keep', 'protected')
    }
    this.#lookAtOwned(node, object)
  }

  /** What needs something that goes, or is gone, is wanted gone, too; and whoever waits for others hears of them. */
  #lookAtTies(node: number, object: StoredObject | undefined): void {
    if (this.#ties.size === 0) return
    for (const { cascades, dependents } of this.#ties.on(this.#graph.uidOf(node)))
      for (const uid of dependents) {
        const dependent = this.#graph.find(uid)
        if (dependent === undefined) continue
        const others = this.#needed.get(dependent) ?? new Set()
        this.#needed.set(dependent, others.add(node))
        if (!cascades || (object && !object.metadata.deletionTimestamp) || this.#wanted.has(dependent)) continue
        this.#wanted.set(dependent, node)
        this.#enqueue(dependent)
      }
  }

  #lookAtOwned(node: number, object: StoredObject): void {
    const owners = this.#ownersOf(object)
    const through = this.#throughOf(owners)
    if (through === undefined) return
    const decision = decide({
      object,
      owners,
      hasDependents: this.#dependentsOf(node).length > 0,
      blockingDependents: 0,
      isProtected: this.#isProtected(node),
    })
    switch (decision.do) {
      case 'keep':
        if (decision.because === 'protected' || decision.because === 'owner-unknown')
          this.#note(node, through, 'keep', decision.because)
        return
      case 'drop-references':
        this.#note(node, through, 'drop-reference', 'owner-remains')
        return this.#dropReferences(node, object, decision.uids)
      case 'delete':
        return this.#tell(node, { through, because: 'owners-gone', propagation: decision.propagation })
      case 'release':
      case 'orphan':
    }
  }

  /** What was on its way out before goes along. */
  #join(node: number, object: StoredObject): void {
    const through = this.#wanted.get(node) ?? this.#throughOf(this.#ownersOf(object))
    if (through !== undefined) this.#tell(node, { through, because: 'owners-gone', propagation: 'Background' })
  }

  #lookAtLeaving(node: number, object: StoredObject): void {
    if (!this.#contents.has(node)) {
      const inside = [...(this.#options.contents?.(node) ?? [])]
      this.#contents.set(node, inside)
      for (const member of inside) {
        this.#needed.set(member, (this.#needed.get(member) ?? new Set()).add(node))
        this.#tell(member, { through: node, because: 'container-gone', propagation: 'Background' })
      }
    }
    if (!this.#isFull(node)) this.#release(node, [full])
    if (this.#holds(node).length === 0) this.#release(node, [holdFinalizer, seedFinalizer])
    const blockingDependents = this.#blockers(node).length
    const decision = decide({ object, owners: [], hasDependents: true, blockingDependents, isProtected: false })
    if (decision.do === 'release') this.#release(node, [decision.finalizer])
    if (decision.do !== 'orphan') return
    for (const dependent of this.#dependentsOf(node)) {
      const orphan = this.#objects[dependent]
      if (!orphan) continue
      this.#note(dependent, node, 'orphan', 'orphaned')
      this.#dropReferences(dependent, orphan, [object.metadata.uid])
    }
    this.#release(node, ['orphan'])
  }

  /** Marks an object to be deleted, as the server does. */
  #tell(node: number, { through, because, propagation }: Order): void {
    const object = this.#objects[node]
    if (!object || this.#told.has(node)) return
    this.#told.add(node)
    this.#note(node, through, 'delete', because)
    const { finalizers = [], deletionTimestamp = 'now' } = object.metadata
    const added = [
      ...(propagation === 'Background' ? [] : [propagation === 'Orphan' ? 'orphan' : 'foregroundDeletion']),
      ...(this.#holds(node).length > 0 ? [holdFinalizer] : []),
      ...(this.#options.contents ? [full] : []),
    ]
    this.#change(node, object, { deletionTimestamp, finalizers: [...new Set([...finalizers, ...added])] })
  }

  #release(node: number, released: readonly string[]): void {
    const object = this.#objects[node]
    const finalizers = object?.metadata.finalizers ?? []
    const kept = finalizers.filter((finalizer) => !released.includes(finalizer))
    if (object && kept.length < finalizers.length) this.#change(node, object, { finalizers: kept })
  }

  #dropReferences(node: number, object: StoredObject, uids: readonly string[]): void {
    const { ownerReferences = [] } = object.metadata
    this.#change(node, object, { ownerReferences: ownerReferences.filter(({ uid }) => !uids.includes(uid)) })
  }

  /** Writes an object, or lets it go when it is marked and nothing holds it; whom that concerns is looked at. */
  #change(node: number, object: StoredObject, change: Partial<ObjectMeta>): void {
    const changed = { ...object, metadata: { ...object.metadata, ...change } }
    const { deletionTimestamp, finalizers = [] } = changed.metadata
    this.#objects[node] = deletionTimestamp && finalizers.length === 0 ? undefined : changed
    this.#enqueue(node)
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owner = this.#graph.find(uid) ?? -1
      if (this.#told.has(owner)) this.#enqueue(owner)
    }
    for (const other of this.#needed.get(node) ?? []) this.#enqueue(other)
    if (deletionTimestamp) for (const dependent of this.#dependentsOf(node)) this.#enqueue(dependent)
  }

  #enqueue(node: number): void {
    if (this.#isQueued[node] === 1) return
    this.#isQueued[node] = 1
    this.#queue.push(node)
  }

  #ownersOf(object: StoredObject): readonly OwnerFact[] {
    const references = object.metadata.ownerReferences ?? []
    return references.map((reference) => ({ reference, state: this.#stateOf(object, reference) }))
  }

  #stateOf(object: StoredObject, reference: OwnerReference): OwnerFact['state'] {
    const node = this.#graph.find(reference.uid) ?? -1
    const present = this.#objects[node]
    const owner = present ?? this.#graph.object(node)
    const standing = owner ? standingOf(object, reference, owner) : 'elsewhere'
    if (standing === 'elsewhere') return (this.#options.isKnowable?.(reference) ?? true) ? 'dangling' : 'unknown'
    return present || standing === 'unknown' ? standing : 'dangling'
  }

  /** The owner by whose leaving an object is concerned, if one leaves. */
  #throughOf(owners: readonly OwnerFact[]): number | undefined {
    return owners
      .filter(({ state }) => state !== 'solid')
      .map(({ reference }) => this.#graph.find(reference.uid) ?? -1)
      .find((owner) => this.#told.has(owner))
  }

  /** A Bond that denies does so while somebody is there who needs it. */
  #isProtected(node: number): boolean {
    const because = this.#options.spares(node)
    if (because !== 'bond-denies') return because !== undefined
    const denying = [...this.#ties.on(this.#graph.uidOf(node))].filter(({ denies }) => denies)
    return denying.length === 0 || denying.some((tie) => this.#inTheWay(tie, node).length > 0)
  }

  /** The Bonds that hold a node by now. */
  #holds(node: number): readonly Tie[] {
    if (this.#ties.size === 0) return []
    return [...this.#ties.on(this.#graph.uidOf(node))].filter(
      (tie) => tie.holds && this.#inTheWay(tie, node).length > 0,
    )
  }

  /** Those who need a node and are there, but for those that leave in a circle with it. */
  #inTheWay({ dependents }: Tie, node: number): readonly number[] {
    return dependents
      .map((uid) => this.#graph.find(uid) ?? -1)
      .filter((dependent) => this.#objects[dependent] && !this.#isInRing(dependent, node))
  }

  /** The dependents for which a node that goes in the foreground waits. */
  #blockers(node: number): readonly number[] {
    const found: number[] = []
    this.#graph.eachDependent(node, (dependent, isBlocking) => {
      if (isBlocking && this.#isDependent(dependent, node) && !this.#isInRing(dependent, node)) found.push(dependent)
    })
    return found
  }

  #isInRing(one: number, other: number): boolean {
    const ring = this.#rings?.get(one)
    return ring !== undefined && ring === this.#rings?.get(other)
  }

  #isFull(node: number): boolean {
    return (this.#contents.get(node) ?? []).some((member) => this.#objects[member])
  }

  #dependentsOf(node: number): readonly number[] {
    return this.#graph.dependents(node).filter((dependent) => this.#isDependent(dependent, node))
  }

  /** Whether an object is there and still names an owner. */
  #isDependent(dependent: number, owner: number): boolean {
    const references = this.#objects[dependent]?.metadata.ownerReferences
    return references?.some(({ uid }) => this.#graph.find(uid) === owner) ?? false
  }

  /** Who leaves before a node: those it owns and those who need it. */
  #childrenOf(node: number): readonly number[] {
    const needing = [...this.#ties.on(this.#graph.uidOf(node))].flatMap(({ dependents }) =>
      dependents.map((uid) => this.#graph.find(uid) ?? -1),
    )
    return [...this.#dependentsOf(node), ...needing].filter((child) => this.#objects[child]?.metadata.deletionTimestamp)
  }

  #obstacles(node: number): readonly string[] {
    const isWaiting = this.#objects[node]?.metadata.finalizers?.includes('foregroundDeletion')
    const inside = (this.#contents.get(node) ?? []).filter((member) => this.#objects[member])
    const waited = [...(isWaiting ? this.#blockers(node) : []), ...inside].slice(0, mostNamed)
    const named = waited
      .flatMap((other) => this.#graph.object(other) ?? [])
      .map((other) => describeRef(refOfNode(other)))
    return [...this.#holds(node).map(({ bond }) => `Bond ${bond}`), ...named]
  }

  #lineOf(node: number): number {
    return (this.#lines[node] ?? 0) - 1
  }

  /** Writes what becomes of a node, as far as is known by now. */
  #note(node: number, through: number, action: 'delete' | 'orphan' | 'drop-reference' | 'keep', because: Reason): void {
    // One that owns itself is its own orphan, and goes all the same.
    if (action !== 'delete' && this.#told.has(node)) return
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

/** Somebody's word that an object shall go. */
interface Order {
  /** The node whose leaving is the cause; -1 for none. */
  readonly through: number
  readonly because: Reason
  readonly propagation: 'Background' | 'Foreground' | 'Orphan'
}

/** Stands for what a server keeps a namespace or a definition for while something is in it. */
const full = 'sojourn.dev/rehearsal-contents'
const mostNamed = 10
