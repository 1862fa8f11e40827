import { bondFinalizer, holdFinalizer, seedFinalizer } from '../../../apis/bond.ts'
import { isBond } from '../../../apis/bond-guard.ts'
import { describeRef, refOf, type ObjectMeta, type OwnerReference, type StoredObject } from '../../../kube/object.ts'
import { componentsOf } from '../graph/cycles.ts'
import { decide, type Decision, type OwnerFact } from '../owners/decide.ts'
import type { Graph } from '../graph/graph.ts'
import type { PreviewOptions } from './preview.ts'
import { foreignFinalizers, PreviewNodes, type Reason } from './preview-nodes.ts'
import { canBlock, ownerStateFor } from '../graph/owner-state.ts'
import { BondEdges, type BondEdge } from '../graph/bond-edges.ts'

/**
 * Plays a cascade through on a copy, step by step and by the collector's own decisions, until nothing moves any more. Slower than a walk, but right where
 * objects wait for each other: Bonds, and dependents that stay under an owner that goes in the foreground. Finalizers of others are taken to come off.
 */
export class Rehearsal {
  readonly nodes: PreviewNodes
  readonly #graph: Graph
  readonly #options: PreviewOptions
  readonly #bondEdges: BondEdges
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
  /** Nodes whose Bonds have to be looked at: that is done when owners and dependents are at rest. */
  readonly #tied = new Set<number>()
  /** Who has to be looked at when a node that needs it changes. */
  readonly #needed = new Map<number, Set<number>>()
  /** What is inside of those told to go. */
  readonly #contents = new Map<number, readonly number[]>()
  /** The circle each of those who leave is in, while circles are being opened. */
  #rings: ReadonlyMap<number, number> | undefined

  constructor(graph: Graph, root: number, options: PreviewOptions) {
    this.#graph = graph
    this.#options = options
    this.#bondEdges = options.bondEdges ?? new BondEdges()
    this.nodes = new PreviewNodes(graph.snapshot())
    this.#objects = [...graph.snapshot()]
    this.#isQueued = new Uint8Array(graph.capacity)
    this.#lines = new Int32Array(graph.capacity)
    this.#tell(root, { through: -1, because: 'root', propagation: options.policy })
    do this.#drain()
    while (this.#lookAtTies() || this.#openRings() || this.#finalize())
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
    const awaited = new Map(this.#leaving().map((node) => [node, this.#awaitedBy(node)] as const))
    const rings = componentsOf(awaited.keys(), (node) => awaited.get(node) ?? this.#awaitedBy(node))
    // A circle that waits for somebody outside waits whole.
    const waiting = new Set<number | undefined>()
    for (const [node, others] of awaited) {
      const ring = rings.get(node)
      if (others.length === 0 || others.some((other) => rings.get(other) !== ring)) waiting.add(ring)
    }
    this.#rings = new Map([...rings].filter(([, ring]) => !waiting.has(ring)))
    const before = this.#queue.length
    for (const node of this.#rings.keys()) this.#look(node)
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
    if (this.#bondEdges.size > 0 && this.#bondEdges.has(this.#graph.uidOf(node))) this.#follow(node, object)
    if (!object) return
    if (this.#told.has(node)) return this.#lookAtLeaving(node, object)
    if (object.metadata.deletionTimestamp) return this.#join(node, object)
    const needed = this.#wanted.get(node)
    if (needed !== undefined) {
      if (!this.#isProtected(node) && !this.#holds(node).some(({ cascades }) => !cascades))
        return this.#tell(node, { through: needed, because: 'requirement-gone', propagation: this.#mannerOf(needed) })
      this.#note(node, needed, 'keep', 'protected')
    }
    this.#lookAtOwned(node, object)
  }

  /** Whoever waits for others, or for the end of a Bond, hears of them; what needs it hears of it when all else is at rest. */
  #follow(node: number, object: StoredObject | undefined): void {
    for (const { uid, dependents } of this.#bondEdges.on(this.#graph.uidOf(node)))
      for (const other of [uid, ...dependents]) this.#hear(this.#graph.find(other), node)
    if (!object || object.metadata.deletionTimestamp) this.#tied.add(node)
  }

  /** What needs something that goes, or is gone, is wanted gone, too. A Bond that is itself on its way out takes nobody along. */
  #lookAtTies(): boolean {
    const before = this.#queue.length
    for (const node of this.#tied)
      for (const { cascades, dependents, uid } of this.#bondEdges.on(this.#graph.uidOf(node))) {
        if (!cascades || this.#isLeaving(uid)) continue
        for (const dependent of dependents.flatMap((each) => this.#graph.find(each) ?? [])) {
          if (this.#wanted.has(dependent)) continue
          this.#wanted.set(dependent, node)
          this.#enqueue(dependent)
        }
      }
    this.#tied.clear()
    return this.#queue.length > before
  }

  #lookAtOwned(node: number, object: StoredObject): void {
    const owners = this.#ownersOf(object)
    const through = this.#throughOf(owners)
    if (through === undefined) return
    const decision = this.#decide(node, object)
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

  /** Those who need something go in the same manner. */
  #mannerOf(needed: number): 'Background' | 'Foreground' {
    return this.#objects[needed]?.metadata.finalizers?.includes('foregroundDeletion') ? 'Foreground' : 'Background'
  }

  #decide(node: number, object: StoredObject): Decision {
    return decide({
      object,
      owners: this.#ownersOf(object),
      hasDependents: this.#dependentsOf(node).length > 0,
      blockingDependents: 0,
      isProtected: this.#isProtected(node),
    })
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
        this.#hear(member, node)
        this.#tell(member, { through: node, because: 'container-gone', propagation: 'Background' })
      }
    }
    if (!this.#isFull(node)) this.#release(node, [full])
    if (this.#holds(node).length === 0) this.#release(node, [holdFinalizer, seedFinalizer])
    if (isBond(object)) this.#lookAtBond(node, object)
    const isWaiting = object.metadata.finalizers?.includes('foregroundDeletion')
    const blockingDependents = isWaiting ? this.#blockers(node).length || this.#untold(node) : 0
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

  /** A Bond goes once nobody it speaks for is on the way out. */
  #lookAtBond(node: number, { metadata }: StoredObject): void {
    const tie = this.#bondEdges.of(`${metadata.namespace}/${metadata.name}`)
    for (const dependent of tie?.dependents ?? []) this.#hear(this.#graph.find(dependent), node)
    if (!tie || this.#isOver(tie)) this.#release(node, [bondFinalizer])
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

  /** Has one looked at whenever the other changes. */
  #hear(node: number | undefined, listener: number): void {
    if (node !== undefined) this.#needed.set(node, (this.#needed.get(node) ?? new Set()).add(listener))
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
    const state = owner ? ownerStateFor(object, reference, owner) : 'mismatch'
    if (state === 'mismatch') return (this.#options.isKnowable?.(reference) ?? true) ? 'dangling' : 'unknown'
    return present || state === 'unknown' ? state : 'dangling'
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
    const because = this.#options.reasonToKeep(node)
    if (because !== 'bond-denies') return because !== undefined
    const denying = [...this.#bondEdges.on(this.#graph.uidOf(node))].filter(({ denies }) => denies)
    return denying.length === 0 || denying.some((tie) => this.#inTheWay(tie, node).length > 0)
  }

  /** The Bonds that hold a node by now. */
  #holds(node: number): readonly BondEdge[] {
    if (this.#bondEdges.size === 0) return []
    return [...this.#bondEdges.on(this.#graph.uidOf(node))].filter(
      (tie) => tie.holds && this.#inTheWay(tie, node).length > 0,
    )
  }

  /** Those who need a node and are there, but for those that leave in a circle with it. */
  #inTheWay(tie: BondEdge, node: number): readonly number[] {
    if (this.#isOver(tie)) return []
    return tie.dependents
      .map((uid) => this.#graph.find(uid) ?? -1)
      .filter((dependent) => this.#objects[dependent] && !this.#isInRing(dependent, node))
  }

  /** A Bond that is on its way out is in force only for those it speaks for that are, too. */
  #isOver({ uid, dependents }: BondEdge): boolean {
    return (
      this.#isLeaving(uid) &&
      !dependents.some((dependent) => this.#objects[this.#graph.find(dependent) ?? -1]?.metadata.deletionTimestamp)
    )
  }

  /** Whether something that was there is marked, or gone. */
  #isLeaving(uid: string): boolean {
    const node = this.#graph.find(uid) ?? -1
    const object = this.#objects[node]
    return object ? object.metadata.deletionTimestamp !== undefined : this.#graph.has(node)
  }

  /** 1 when a dependent is to go, or to forget a node, and has not been told. */
  #untold(node: number): number {
    for (const dependent of this.#dependentsOf(node)) {
      const object = this.#objects[dependent]
      if (object && !object.metadata.deletionTimestamp && this.#decide(dependent, object).do !== 'keep') return 1
    }
    return 0
  }

  /** The dependents for which a node that goes in the foreground waits. */
  #blockers(node: number): readonly number[] {
    const found: number[] = []
    this.#graph.eachDependent(node, (dependent, isBlocking) => {
      if (!isBlocking || !canBlock(this.#objects[dependent]) || this.#isInRing(dependent, node)) return
      if (this.#isDependent(dependent, node)) found.push(dependent)
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

  /** For whom a node has to wait if it leaves. */
  #awaitedBy(node: number): readonly number[] {
    if (!this.#objects[node]?.metadata.deletionTimestamp) return []
    const isWaiting = this.#objects[node]?.metadata.finalizers?.includes('foregroundDeletion')
    const needing = [...this.#bondEdges.on(this.#graph.uidOf(node))]
      .filter((tie) => tie.holds && !this.#isOver(tie))
      .flatMap(({ dependents }) => dependents.map((uid) => this.#graph.find(uid) ?? -1))
    return [...(isWaiting ? this.#blockers(node) : []), ...needing].filter((other) => this.#objects[other])
  }

  #obstacles(node: number): readonly string[] {
    const isWaiting = this.#objects[node]?.metadata.finalizers?.includes('foregroundDeletion')
    const inside = (this.#contents.get(node) ?? []).filter((member) => this.#objects[member])
    const waited = [...(isWaiting ? this.#blockers(node) : []), ...inside].slice(0, maxNamed)
    const named = waited.flatMap((other) => this.#graph.object(other) ?? []).map((other) => describeRef(refOf(other)))
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
const maxNamed = 10
