import { bond, type Bond } from '../../apis/bond.ts'
import type { SystemPorts } from '../../departures/door/door.ts'
import type { Key } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { isForegroundDeletion } from '../../kube/owner-rule.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import type { Change } from '../../runtime/cache/informer.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { parseTime } from '../../kube/time.ts'
import { DependentDeleter, type InProcessDeleter } from './owners/dependent-deleter.ts'
import { unanchoredNodes, unanchoredWith, componentOf } from './graph/cycles.ts'
import { contentsOf } from './graph/graph.ts'
import { decide, type Decision } from './owners/decide.ts'
import { Observer } from './owners/observe.ts'
import { preview, type Preview } from './preview/preview.ts'
import { Reports } from './reports.ts'
import { CascadeRoots } from './owners/cascade-roots.ts'
import { Sweep } from './owners/sweep.ts'
import { BondEdges } from './graph/bond-edges.ts'
import { ClusterWatch, type ClusterChange } from './watch/cluster-watch.ts'

export interface CollectorOptions extends SystemPorts {
  /** Whether this collector acts on owner references: on the embedded server it does; on a real cluster Kubernetes' garbage collector does. */
  readonly ownsReferences: boolean
  /** Whether an object with this uid exists, answered by the embedded server's store. */
  readonly exists?: (uid: string) => boolean
  /** Access to the embedded server's store, where it runs in this process: cascades are then deleted in sweeps. */
  readonly inProcessDeleter?: InProcessDeleter
  /** Whether to delete cycles of owners that nothing outside keeps. Defaults to false: they are only reported. */
  readonly collectCycles?: boolean
  /** How many dependents go on one page of a record. */
  readonly batchSize?: number
}

/** Deletes dependents whose owners are gone, and finishes foreground and orphaning deletions. */
export class Collector {
  readonly controller: Controller
  /** Bonds as edges of the graph; the Bond controller maintains them. */
  readonly bondEdges = new BondEdges()
  readonly world: ClusterWatch
  readonly #options: CollectorOptions
  readonly #reports: Reports
  readonly #observer: Observer
  readonly #deleter: DependentDeleter
  /** For cycles, whose members still have owners: the in-process deleter would refuse to delete those. */
  readonly #cycleDeleter: DependentDeleter
  readonly #roots: CascadeRoots
  /** Undefined where each delete is an API request. */
  readonly #sweep: Sweep | undefined
  /** Uids whose protection by a Bond has ended: on a real cluster the only owned objects that this collector deletes. */
  readonly #released = new Set<string>()
  /** Uids of objects that only the door's rules keep: they are reconciled again when those change. */
  readonly #protected = new Set<string>()
  /** Uids whose owners may be a cycle that nothing outside keeps. */
  readonly #cycleSuspects = new Set<string>()
  #isReady = false

  constructor(options: CollectorOptions) {
    const { client, informers, ports, door, exists } = options
    this.#options = options
    this.controller = new Controller({
      name: 'collector',
      reconcile: (key) => this.#reconcile(key),
      ports,
      // They are deleted in batches.
      concurrency: 256,
    })
    this.world = new ClusterWatch({ client, informers, clock: ports.clock, log: ports.log })
    this.world.subscribe((change, node, owners) => this.#onChange(change, node, owners))
    this.#roots = new CascadeRoots(this.world)
    this.#reports = new Reports({ events: options.events, graph: this.world.graph, bondEdges: this.bondEdges })
    informers.open<Bond>(client, bond.type).subscribe((change) => this.#onBondChange(change))
    this.#observer = new Observer({
      client,
      world: this.world,
      bondEdges: this.bondEdges,
      reasonToKeep: (object) => door.reasonToKeep(object),
      ...(exists ? { exists } : {}),
    })
    door.onChange(() => this.#enqueueProtected())
    const { inProcessDeleter, batchSize } = options
    const { keys } = door
    this.#deleter = new DependentDeleter(client, ports.clock, { inProcessDeleter, keys, batchSize })
    this.#cycleDeleter = new DependentDeleter(client, ports.clock, { keys, batchSize })
    this.#sweep = this.#createSweep()
  }

  #createSweep(): Sweep | undefined {
    const { door, exists, inProcessDeleter, batchSize } = this.#options
    if (!inProcessDeleter || !exists) return undefined
    return new Sweep({
      graph: this.world.graph,
      recorder: this.#deleter.recorder,
      deleter: inProcessDeleter,
      typeOf: (object) => this.world.typeOf(object),
      exists,
      reasonToKeep: (object) => door.reasonToKeep(object),
      onOwner: (uid, root) => this.#roots.inherit(uid, root),
      onDoubt: (object) => this.#enqueue(object, 'change'),
      batchSize,
    })
  }

  /** Reads the whole cluster before the first decision: an owner that has not been read yet must not count as absent. */
  async start(signal: AbortSignal): Promise<void> {
    await this.world.ready(signal)
    this.#isReady = true
    const { graph } = this.world
    for (let node = 0; node < graph.capacity; node++) {
      const object = graph.object(node)
      if (object) this.#enqueue(object, 'initial')
    }
    for (const node of unanchoredNodes(graph)) this.#cycleSuspects.add(graph.uidOf(node))
    await this.controller.start(signal)
    this.world.close()
  }

  /** What a deletion of an object would delete; undefined when there is none with this uid. */
  preview(uid: string, policy: Preview['policy']): Preview | undefined {
    const { graph } = this.world
    const root = graph.find(uid)
    if (root === undefined || !graph.object(root)) return undefined
    const { door, exists } = this.#options
    const keepCheck = door.keepCheck()
    const { hasOnlyOwnMarks } = door
    return preview(graph, root, {
      policy,
      reasonToKeep(node) {
        const object = hasOnlyOwnMarks && !graph.isMarked(node) ? undefined : graph.object(node)
        return object && keepCheck(object)
      },
      reasonToRefuse(node) {
        const object = graph.object(node)
        return object && door.denyingBonds(object)
      },
      bondEdges: this.bondEdges,
      contents: (node) => contentsOf(graph, node, this.world.types),
      isKnowable: (reference) => exists !== undefined || this.world.typeOf(reference) !== undefined,
      unknownKinds: this.world.unknownKinds,
    })
  }

  /** The uids that wait for each other in a cycle with an object that is being deleted, itself included. */
  cycleOf(uid: string): ReadonlySet<string> {
    const { graph } = this.world
    const node = graph.find(uid)
    if (node === undefined) return new Set()
    const members = componentOf(graph, node, this.bondEdges)
    return new Set([...members].map((member) => graph.uidOf(member)))
  }

  /** How many objects the graph holds, and how many bytes it takes. */
  get size(): { readonly objects: number; readonly bytes: number } {
    return { objects: this.world.graph.size, bytes: this.world.graph.bytes }
  }

  #onChange(
    { type, object, previous, initial, isOutOfSight }: ClusterChange,
    node: number,
    owners: readonly number[],
  ): void {
    if (!this.#isReady) return
    const { graph } = this.world
    if (type === 'deleted') {
      this.#protected.delete(object.metadata.uid)
      // Its owners may have waited for it; its dependents may have to follow it.
      for (const owner of owners) this.#enqueueNode(owner)
      if (node < 0 || !graph.hasDependents(node)) return
      if (isOutOfSight) graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
      else this.#onOwnerDeleted(object, node)
      return
    }
    this.#enqueue(object, initial ? 'initial' : 'change')
    if (object.metadata.deletionTimestamp) this.#onDeletionRequested(node)
    this.#enqueueFormerOwners(previous, object)
    if (type === 'modified' && graph.hasOwners(node) && graph.hasDependents(node))
      this.#cycleSuspects.add(object.metadata.uid)
  }

  /** An owner in foreground deletion may have waited for this request; dependents of a foreground deletion are deleted now. */
  #onDeletionRequested(node: number): void {
    const { graph } = this.world
    for (const { owner } of graph.owners(node)) this.#enqueueNode(owner)
    graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
  }

  /** An owner in foreground deletion need not wait for an object that no longer names it. */
  #enqueueFormerOwners(previous: StoredObject | undefined, { metadata }: StoredObject): void {
    const owners = new Set(metadata.ownerReferences?.map(({ uid }) => uid))
    for (const { uid } of previous?.metadata.ownerReferences ?? [])
      if (!owners.has(uid)) this.#enqueueNode(this.world.graph.find(uid) ?? -1)
  }

  /** Enqueues the owner for a sweep of all its dependents where that is possible, otherwise each dependent. */
  #onOwnerDeleted(object: StoredObject, node: number): void {
    const { uid } = object.metadata
    this.#observer.noteGone(uid)
    this.#roots.remember(object)
    if (this.#sweep && this.#options.ownsReferences) {
      if (!this.#sweep.isDeleting(uid))
        this.controller.enqueue({ cluster: '', kind: 'owner', namespace: '', name: uid })
    } else this.world.graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
  }

  /** An object that a Bond protected may have lost its owners meanwhile. */
  #onBondChange({ object: { status }, initial }: Change<Bond>): void {
    const uid = status?.dependencyUid
    if (!this.#isReady || initial || uid === undefined) return
    this.#released.add(uid)
    this.#enqueueNode(this.world.graph.find(uid) ?? -1)
  }

  #enqueueProtected(): void {
    const { graph } = this.world
    const uids = [...this.#protected]
    this.#protected.clear()
    for (const uid of uids) this.#enqueueNode(graph.find(uid) ?? -1)
  }

  async #reconcile({ kind, name: uid }: Key): Promise<Outcome> {
    const { graph } = this.world
    const node = graph.find(uid)
    if (kind === 'owner' && node !== undefined && !graph.object(node)) {
      await this.#sweep?.dependentsOf(node, this.#roots.ofOwner(uid))
      return settled
    }
    const object = node === undefined ? undefined : graph.object(node)
    if (node === undefined || !object) return settled
    if (!isCollectable(object) || this.#sweep?.isDeleting(uid)) return settled
    if (!this.#options.ownsReferences && !this.#released.has(uid)) return settled
    const type = this.world.typeOf(object)
    if (!type) return settled
    const observed = await this.#observer.observe(node, object)
    // The object may have changed while its owners were read: the change enqueued it again.
    if (graph.object(node) !== object) return settled
    const decision = decide(observed)
    const isOurs = this.#options.ownsReferences || decision.do === 'delete'
    const outcome = isOurs ? await this.#carryOut(type, object, decision, node) : settled
    // Not before: a delete that fails because the Bond's mark was still on the object, or had just been taken off, is retried.
    if (outcome === settled) this.#released.delete(uid)
    return outcome
  }

  async #carryOut(type: ResourceType, object: StoredObject, decision: Decision, node: number): Promise<Outcome> {
    switch (decision.do) {
      case 'keep':
        return this.#keep(object, decision.because, node)
      case 'drop-references':
        await this.#deleter.dropReferences(type, object, decision.references)
        return settled
      case 'delete':
        return this.#delete(type, object, decision.propagation, node)
      case 'release':
        // Asked again without a pause: what the graph holds in this moment need not be waited for, and the transaction looks for anything else.
        if (this.#observer.blocking(node) === 0)
          await this.#deleter.endForeground(type, object, this.#dependentUids(node))
        return settled
      case 'orphan':
        return this.#orphan(type, object, node)
    }
  }

  async #keep(
    object: StoredObject,
    because: Extract<Decision, { do: 'keep' }>['because'],
    node: number,
  ): Promise<Outcome> {
    switch (because) {
      case 'owner-unknown':
        // An owner in another namespace is reported once: only a change of either object can resolve it.
        return this.#reports.foreignOwners(object) ? settled : wakeAt(this.#now() + askAgainMs)
      case 'protected':
        this.#protected.add(object.metadata.uid)
        this.#reports.kept(object, this.#options.door.reasonToKeep(object) ?? 'protected')
        return wakeAt(this.#now() + remindMs)
      case 'dependents-remain':
      case 'bond-holds':
        return this.#waitForDependents(object, node)
      case 'owner-solid':
        if (this.#cycleSuspects.delete(object.metadata.uid)) await this.#checkForCycle(object, node)
        return settled
      case 'no-owners':
      case 'being-deleted':
        return settled
    }
  }

  /** Reports what blocks a foreground deletion that takes longer than `patienceMs`. */
  async #waitForDependents(object: StoredObject, node: number): Promise<Outcome> {
    const since = parseTime(object.metadata.deletionTimestamp) ?? this.#now()
    if (this.#now() < since + patienceMs) return wakeAt(since + patienceMs)
    const message = this.#reports.waiting(object, node)
    if (message !== undefined) await this.#deleter.recorder.setMessage(object, message)
    return wakeAt(this.#now() + remindMs)
  }

  /** Reports a cycle of owners that nothing outside keeps, and deletes it where `collectCycles` is set. */
  async #checkForCycle(object: StoredObject, node: number): Promise<void> {
    const { graph } = this.world
    const members = unanchoredWith(graph, node)
    if (members.length === 0) return
    this.#reports.unanchored(object, members)
    if (!this.#options.collectCycles) return
    const root = { object, by: { system: 'collector' as const }, isGone: false, mayHaveFollowed: false }
    const outcomes = members.map(async (member) => {
      const found = graph.object(member)
      const type = found && this.world.typeOf(found)
      if (!found || !type || this.#options.door.reasonToKeep(found) !== undefined) return 'gone'
      return this.#cycleDeleter.delete({ type, object: found, propagation: 'Background', root, isOwner: true })
    })
    if ((await Promise.all(outcomes)).includes('changed')) this.#cycleSuspects.add(object.metadata.uid)
  }

  async #delete(
    type: ResourceType,
    object: StoredObject,
    propagation: 'Background' | 'Foreground',
    node: number,
  ): Promise<Outcome> {
    this.#reports.foreignOwners(object)
    const root = this.#roots.of(object)
    if (root) this.#roots.inherit(object.metadata.uid, root)
    const isOwner = this.world.graph.hasDependents(node)
    // An object without dependents shares a page with others like it instead.
    if (this.#sweep && isOwner && propagation === 'Background') {
      await this.#sweep.from(node, root)
      return settled
    }
    const outcome = await this.#deleter.delete({ type, object, propagation, root, isOwner })
    // The watch delivers the new state and enqueues it; this is the fallback.
    return outcome === 'changed' ? wakeAt(this.#now() + askAgainMs) : settled
  }

  /** Removes the owner from all its dependents, then its `orphan` finalizer. The server does the same for dependents that are created in between. */
  async #orphan(type: ResourceType, object: StoredObject, node: number): Promise<Outcome> {
    const { graph } = this.world
    const dependents = graph.dependents(node).flatMap((dependent) => graph.object(dependent) ?? [])
    const orphaned = await Promise.all(
      dependents.map(async (dependent) => {
        const itsType = this.world.typeOf(dependent)
        const references = dependent.metadata.ownerReferences?.filter(({ uid }) => uid === object.metadata.uid) ?? []
        return itsType ? this.#deleter.dropReferences(itsType, dependent, references) : undefined
      }),
    )
    if (orphaned.some((result) => result === undefined)) return wakeAt(this.#now() + retryMs)
    const released = await this.#deleter.removeFinalizer(type, object, 'orphan')
    return released ? settled : wakeAt(this.#now() + retryMs)
  }

  #dependentUids(node: number): ReadonlySet<string> {
    const { graph } = this.world
    return new Set(graph.dependents(node).map((dependent) => graph.uidOf(dependent)))
  }

  #enqueueNode(node: number): void {
    const object = this.world.graph.object(node)
    if (object) this.#enqueue(object, 'change')
  }

  #enqueue(object: StoredObject, priority: 'change' | 'initial'): void {
    if (!isCollectable(object)) return
    // Keyed by uid: a new object under the same name is another object.
    this.controller.enqueue({ cluster: '', kind: 'uid', namespace: '', name: object.metadata.uid }, priority)
  }

  #now(): number {
    return this.#options.ports.clock.now()
  }
}

const retryMs = 100
const askAgainMs = 30_000
/** How long a foreground deletion may take before its obstacles are reported. */
const patienceMs = 60_000
const remindMs = 10 * 60_000

/** Whether the collector has anything to do with an object: it has owners, or its deletion concerns its dependents. */
function isCollectable(object: StoredObject): boolean {
  const { ownerReferences = [], deletionTimestamp, finalizers = [] } = object.metadata
  if (ownerReferences.length > 0 || isForegroundDeletion(object)) return true
  return deletionTimestamp !== undefined && finalizers.includes('orphan')
}
