import { bond, type Bond } from '../../apis/bond.ts'
import type { Client } from '../../client/client.ts'
import type { Door } from '../../departures/door/door.ts'
import type { Key } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Change } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { parseTime } from '../../kube/time.ts'
import { DependentDeleter, type InProcessDeleter } from './owners/dependent-deleter.ts'
import { unanchoredNodes, unanchoredWith } from './graph/anchors.ts'
import { contentsOf } from './graph/contents.ts'
import { componentOf } from './graph/cycles.ts'
import { decide, type Decision } from './owners/decide.ts'
import { Observer } from './owners/observe.ts'
import { preview, type Preview } from './preview/preview.ts'
import { Reports } from './reports.ts'
import { CascadeRoots } from './owners/cascade-roots.ts'
import { Sweep } from './owners/sweep.ts'
import { BondEdges } from './graph/bond-edges.ts'
import { ClusterWatch, type ClusterChange } from './watch/cluster-watch.ts'

export interface CollectorOptions {
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** Whether owner references are ours to act on: on the embedded server they are, elsewhere Kubernetes does it. */
  readonly ownsReferences: boolean
  /** Whether an object with this uid exists, where the server itself can be asked for certain. */
  readonly exists?: (uid: string) => boolean
  /** The server's own inProcessDeleter, where it is in reach: then whole trees go at once. */
  readonly inProcessDeleter?: InProcessDeleter
  /** Whether circles of owners that nothing else keeps are collected, too. Defaults to false: they are only reported. */
  readonly collectCycles?: boolean
  /** How many objects are judged at once. Defaults to 256: they go in batches. */
  readonly concurrency?: number
  /** How many dependents go on one page of a record. */
  readonly batchSize?: number
}

/** Lets dependents follow their owners. */
export class Collector {
  readonly controller: Controller
  /** Bonds as edges; whoever looks after them keeps them here. */
  readonly bondEdges = new BondEdges()
  readonly world: ClusterWatch
  readonly #options: CollectorOptions
  readonly #reports: Reports
  readonly #observer: Observer
  readonly #act: DependentDeleter
  /** For what has owners that keep it: the server's own inProcessDeleter would refuse. */
  readonly #circles: DependentDeleter
  readonly #roots: CascadeRoots
  /** Undefined where each delete has to be asked for over the API. */
  readonly #sweep: Sweep | undefined
  /** Uids whose protection by a Bond has ended: on a real cluster the one case in which an owned object is ours to delete. */
  readonly #freed = new Set<string>()
  /** Uids of what only the door keeps: its switches may let them go. */
  readonly #spared = new Set<string>()
  /** Uids whose owners may be nothing but a circle. */
  readonly #suspects = new Set<string>()
  #isReady = false

  constructor(options: CollectorOptions) {
    const { client, informers, ports, door, exists, concurrency = 256 } = options
    this.#options = options
    this.controller = new Controller({
      name: 'collector',
      reconcile: (key) => this.#reconcile(key),
      ports,
      concurrency,
    })
    this.world = new ClusterWatch({ client, informers, clock: ports.clock, log: ports.log })
    this.world.subscribe((change, node, owners) => this.#notice(change, node, owners))
    this.#roots = new CascadeRoots(this.world)
    this.#reports = new Reports({ events: options.events, graph: this.world.graph, bondEdges: this.bondEdges })
    informers.open<Bond>(client, bond.type).subscribe((change) => this.#noticeBond(change))
    this.#observer = new Observer({
      client,
      world: this.world,
      bondEdges: this.bondEdges,
      reasonToKeep: (object) => door.reasonToKeep(object),
      ...(exists ? { exists } : {}),
    })
    door.onChange(() => this.#lookAtSpared())
    const { inProcessDeleter, batchSize } = options
    this.#act = new DependentDeleter(client, ports.clock, { inProcessDeleter, batchSize })
    this.#circles = new DependentDeleter(client, ports.clock, { batchSize })
    if (inProcessDeleter && exists)
      this.#sweep = new Sweep({
        graph: this.world.graph,
        act: this.#act,
        typeOf: (object) => this.world.typeOf(object),
        exists,
        reasonToKeep: (object) => door.reasonToKeep(object),
        onOwner: (uid, root) => this.#roots.inherit(uid, root),
        onDoubt: (object) => this.#enqueue(object, 'change'),
        batchSize,
      })
  }

  /** Watches everything, then begins to act: before all is seen, nothing is condemned. */
  async start(signal: AbortSignal): Promise<void> {
    await this.world.ready(signal)
    this.#isReady = true
    const { graph } = this.world
    for (let node = 0; node < graph.capacity; node++) {
      const object = graph.object(node)
      if (object) this.#enqueue(object, 'initial')
    }
    for (const node of unanchoredNodes(graph)) this.#suspects.add(graph.uidOf(node))
    await this.controller.start(signal)
    this.world.close()
  }

  /** What would leave with an object; undefined when there is none with this uid. */
  preview(uid: string, policy: Preview['policy']): Preview | undefined {
    const { graph } = this.world
    const node = graph.find(uid)
    if (node === undefined || !graph.object(node)) return undefined
    const { door, exists } = this.#options
    const reasonToKeep = door.keepCheck()
    const onlyMarked = door.hasOnlyOwnMarks
    return preview(graph, node, {
      policy,
      reasonToKeep: (candidate) =>
        onlyMarked && !graph.isMarked(candidate) ? undefined : ofObject(graph.object(candidate), reasonToKeep),
      reasonToRefuse: (root) => ofObject(graph.object(root), (object) => door.denyingBonds(object)),
      bondEdges: this.bondEdges,
      contents: (candidate) => contentsOf(graph, candidate, this.world.types),
      isKnowable: (reference) => exists !== undefined || this.world.typeOf(reference) !== undefined,
      unknownKinds: this.world.unknownKinds,
    })
  }

  /** The uids that go in a circle with one that leaves, itself included. */
  cycleOf(uid: string): ReadonlySet<string> {
    const { graph } = this.world
    const node = graph.find(uid)
    if (node === undefined) return new Set()
    const ring = componentOf(graph, node, this.bondEdges)
    return new Set([...ring].map((member) => graph.uidOf(member)))
  }

  /** How many objects are known, and what the graph takes. */
  get size(): { readonly objects: number; readonly bytes: number } {
    return { objects: this.world.graph.size, bytes: this.world.graph.bytes }
  }

  #notice(
    { type, object, previous, initial, isOutOfSight }: ClusterChange,
    node: number,
    owners: readonly number[],
  ): void {
    if (!this.#isReady) return
    const { graph } = this.world
    if (type === 'deleted') {
      this.#spared.delete(object.metadata.uid)
      // Those who waited for it may go on; those who lived by it must be looked at.
      for (const owner of owners) this.#enqueueNode(owner)
      if (node < 0 || !graph.hasDependents(node)) return
      if (isOutOfSight) graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
      else this.#noticeGone(object, node)
      return
    }
    this.#enqueue(object, initial ? 'initial' : 'change')
    // An owner that goes in the foreground may have waited for it to be told.
    if (object.metadata.deletionTimestamp) for (const { owner } of graph.owners(node)) this.#enqueueNode(owner)
    // An owner that waited for it need not any more when it is no longer its dependent.
    for (const { uid } of previous?.metadata.ownerReferences ?? [])
      if (!object.metadata.ownerReferences?.some((owner) => owner.uid === uid)) this.#enqueueNode(graph.find(uid) ?? -1)
    if (type === 'modified' && graph.hasOwners(node) && graph.hasDependents(node))
      this.#suspects.add(object.metadata.uid)
    if (object.metadata.deletionTimestamp) graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
  }

  /** An owner is gone. Where the server's own inProcessDeleter is in reach, its dependents are swept as one. */
  #noticeGone(object: StoredObject, node: number): void {
    const { uid } = object.metadata
    this.#observer.noteGone(uid)
    this.#roots.remember(object)
    if (this.#sweep && this.#options.ownsReferences) {
      if (!this.#sweep.isGoing(uid)) this.controller.enqueue({ cluster: '', kind: 'owner', namespace: '', name: uid })
    } else this.world.graph.eachDependent(node, (dependent) => this.#enqueueNode(dependent))
  }

  /** What a Bond protected may be without owners by now: nobody else would ask for it again. */
  #noticeBond({ object: { status }, initial }: Change<Bond>): void {
    const uid = status?.dependencyUid
    if (!this.#isReady || initial || uid === undefined) return
    this.#freed.add(uid)
    this.#enqueueNode(this.world.graph.find(uid) ?? -1)
  }

  /** A switch of the door was turned. */
  #lookAtSpared(): void {
    const { graph } = this.world
    const spared = [...this.#spared]
    this.#spared.clear()
    for (const uid of spared) this.#enqueueNode(graph.find(uid) ?? -1)
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
    if (!needsLook(object) || this.#sweep?.isGoing(uid)) return settled
    if (!this.#options.ownsReferences && !this.#freed.has(uid)) return settled
    const type = this.world.typeOf(object)
    if (!type) return settled
    const observed = await this.#observer.observe(node, object)
    // The world may have moved while owners were asked for.
    if (graph.object(node) !== object) return settled
    const decision = decide(observed)
    const isOurs = this.#options.ownsReferences || decision.do === 'delete'
    const outcome = isOurs ? await this.#carryOut(type, object, decision, node) : settled
    // Only now: a delete that was refused, because the mark of the Bond is still on it, or that came too late, because it was just taken off, is tried again.
    if (outcome === settled) this.#freed.delete(uid)
    return outcome
  }

  async #carryOut(type: ResourceType, object: StoredObject, decision: Decision, node: number): Promise<Outcome> {
    switch (decision.do) {
      case 'keep':
        return this.#keep(object, decision.because, node)
      case 'drop-references':
        await this.#act.dropReferences(type, object, decision.uids)
        return settled
      case 'delete':
        return this.#remove(type, object, decision.propagation, node)
      case 'release':
        await this.#act.release(type, object, decision.finalizer)
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
        // What no question can answer is told once; a change of either of them brings it back.
        return this.#reports.foreignOwners(object) ? settled : wakeAt(this.#now() + askAgainMs)
      case 'protected':
        this.#spared.add(object.metadata.uid)
        this.#reports.spared(object, this.#options.door.reasonToKeep(object) ?? 'protected')
        return wakeAt(this.#now() + remindMs)
      case 'dependents-remain':
      case 'bond-holds':
        return this.#waitFor(object, node)
      case 'owner-solid':
        if (this.#suspects.delete(object.metadata.uid)) await this.#lookForCircle(object, node)
        return settled
      case 'no-owners':
      case 'being-deleted':
        return settled
    }
  }

  /** A foreground deletion that takes long says what it waits for. */
  async #waitFor(object: StoredObject, node: number): Promise<Outcome> {
    const since = parseTime(object.metadata.deletionTimestamp) ?? this.#now()
    if (this.#now() < since + patienceMs) return wakeAt(since + patienceMs)
    const message = this.#reports.waiting(object, node)
    if (message !== undefined) await this.#act.tell(object, message)
    return wakeAt(this.#now() + remindMs)
  }

  /** A circle that nothing else keeps is reported and, where that was asked for, collected. */
  async #lookForCircle(object: StoredObject, node: number): Promise<void> {
    const { graph } = this.world
    const members = unanchoredWith(graph, node)
    if (members.length === 0) return
    this.#reports.unanchored(object, members)
    if (!this.#options.collectCycles) return
    const root = { object, by: { system: 'collector' as const }, isGone: false, mayHaveFollowed: false }
    const results = members.map(async (member) => {
      const found = graph.object(member)
      const type = found && this.world.typeOf(found)
      if (!found || !type || this.#options.door.reasonToKeep(found) !== undefined) return 'gone'
      return this.#circles.remove({ type, object: found, propagation: 'Background', root, isOwner: true })
    })
    if ((await Promise.all(results)).includes('changed')) this.#suspects.add(object.metadata.uid)
  }

  async #remove(
    type: ResourceType,
    object: StoredObject,
    propagation: 'Background' | 'Foreground',
    node: number,
  ): Promise<Outcome> {
    this.#reports.foreignOwners(object)
    const root = this.#roots.of(object)
    if (root && propagation === 'Background') this.#roots.inherit(object.metadata.uid, root)
    const isOwner = this.world.graph.hasDependents(node)
    // What owns nothing goes in the company of others that do not, on one page.
    if (this.#sweep && isOwner && propagation === 'Background') {
      await this.#sweep.from(node, root)
      return settled
    }
    const result = await this.#act.remove({ type, object, propagation, root, isOwner })
    // Changed since: the watch brings the new state. Should it not, look again.
    return result === 'changed' ? wakeAt(this.#now() + askAgainMs) : settled
  }

  /** Frees every dependent, then lets the owner go; until all are free, it stays. Those that come meanwhile the server frees as it lets the owner go. */
  async #orphan(type: ResourceType, object: StoredObject, node: number): Promise<Outcome> {
    const { graph } = this.world
    const dependents = graph.dependents(node).flatMap((dependent) => graph.object(dependent) ?? [])
    const freed = await Promise.all(
      dependents.map(async (dependent) => {
        const itsType = this.world.typeOf(dependent)
        return itsType ? this.#act.dropReferences(itsType, dependent, [object.metadata.uid]) : undefined
      }),
    )
    if (freed.some((result) => result === undefined)) return wakeAt(this.#now() + 100)
    const released = await this.#act.release(type, object, 'orphan')
    return released ? settled : wakeAt(this.#now() + 100)
  }

  #enqueueNode(node: number): void {
    const object = this.world.graph.object(node)
    if (object) this.#enqueue(object, 'change')
  }

  #enqueue(object: StoredObject, priority: 'change' | 'initial'): void {
    if (!needsLook(object)) return
    // By uid: another object under the same name is another case.
    this.controller.enqueue({ cluster: '', kind: 'uid', namespace: '', name: object.metadata.uid }, priority)
  }

  #now(): number {
    return this.#options.ports.clock.now()
  }
}

const askAgainMs = 30_000
/** How long a foreground deletion may take before its obstacles are named. */
const patienceMs = 60_000
const remindMs = 10 * 60_000

/** Whether an object is in the collector's care at all: owned, or leaving in a way that concerns its dependents. */
function needsLook({ metadata }: StoredObject): boolean {
  const { ownerReferences = [], deletionTimestamp, finalizers = [] } = metadata
  return (
    ownerReferences.length > 0 ||
    (deletionTimestamp !== undefined && (finalizers.includes('foregroundDeletion') || finalizers.includes('orphan')))
  )
}

function ofObject(
  object: StoredObject | undefined,
  ask: (object: StoredObject) => string | undefined,
): string | undefined {
  return object && ask(object)
}
