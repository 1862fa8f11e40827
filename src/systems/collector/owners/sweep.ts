import type {
  CascadeRecorder,
  CascadeRoot,
  Follower,
  RecordedBatch,
} from '../../../departures/records/cascade-recorder.ts'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { keepsDependent, strongerOwner, type OwnerState } from '../../../kube/owner-rule.ts'
import type { InProcessDeleter } from './dependent-deleter.ts'
import type { Graph } from '../graph/graph.ts'

export interface SweepPorts {
  readonly graph: Graph
  readonly recorder: Pick<CascadeRecorder, 'record'>
  readonly deleter: Pick<InProcessDeleter, 'remove'>
  readonly typeOf: (object: StoredObject) => ResourceType | undefined
  /** Whether an object with this uid exists, answered by the store itself. */
  readonly exists: (uid: string) => boolean
  readonly reasonToKeep: (object: StoredObject) => string | undefined
  /** Called with owners that a root's cascade deletes: dependents of theirs that appear later belong to the same cascade. */
  readonly onOwner: (uid: string, root: CascadeRoot) => void
  /** Called with a dependent that must be judged on its own, because something else may keep it. */
  readonly onDoubt: (object: StoredObject) => void
  /** How many dependents go on one page. Defaults to 250. */
  readonly batchSize?: number | undefined
}

/**
 * Deletes all transitive dependents of a deleted owner in batches, owners before their dependents. Only for a server that repeats the owner check in the
 * transaction of each delete: the graph may be out of date by then.
 */
export class Sweep {
  readonly #ports: SweepPorts
  /** Uids that a running sweep is about to delete. */
  readonly #inFlight = new Set<string>()

  constructor(ports: SweepPorts) {
    this.#ports = ports
  }

  isDeleting(uid: string): boolean {
    return this.#inFlight.has(uid)
  }

  /** Deletes the dependents of an owner that is gone. */
  dependentsOf(owner: number, root: CascadeRoot | undefined): Promise<void> {
    return this.#run(this.#unowned([owner], new Set([owner])), root)
  }

  /** Deletes an object whose owners are gone, and its dependents. */
  from(node: number, root: CascadeRoot | undefined): Promise<void> {
    return this.#run(this.#withDependents(node), root)
  }

  /** Pipelined: one batch is recorded while the batch before it is deleted. */
  async #run(unowned: Iterator<number>, root: CascadeRoot | undefined): Promise<void> {
    const { recorder } = this.#ports
    let before: Promise<unknown> = Promise.resolve()
    for (let batch = this.#take(unowned, root); batch.length > 0; batch = this.#take(unowned, root)) {
      let recorded: RecordedBatch
      try {
        recorded = await recorder.record(batch, root)
        await before
      } catch (error) {
        this.#finish(batch)
        await before
        throw error
      }
      before = Promise.all([this.#deleteBatch(batch, recorded), recorded.counted])
      // Awaited after the next batch is recorded; until then a rejection must not count as unhandled.
      before.catch(() => {})
    }
    await before
  }

  async #deleteBatch(batch: readonly Follower[], { cascadeRecord }: RecordedBatch): Promise<void> {
    const { deleter, onDoubt } = this.#ports
    const options = { propagation: 'Background', cascadeRecord } as const
    try {
      const outcomes = await Promise.all(batch.map(({ type, object }) => deleter.remove(type, object, options)))
      this.#finish(batch)
      // Their change events were ignored while they were in flight.
      for (const [index, { object }] of batch.entries()) if (outcomes[index] === 'changed') onDoubt(object)
    } catch (error) {
      this.#finish(batch)
      throw error
    }
  }

  #finish(batch: readonly Follower[]): void {
    for (const { object } of batch) this.#inFlight.delete(object.metadata.uid)
  }

  #take(unowned: Iterator<number>, root: CascadeRoot | undefined): Follower[] {
    const { graph, typeOf, onOwner, batchSize = 250 } = this.#ports
    const batch: Follower[] = []
    while (batch.length < batchSize) {
      const { value, done } = unowned.next()
      if (done) break
      const object = graph.object(value)
      const type = object && typeOf(object)
      if (!object || !type || this.#inFlight.has(object.metadata.uid)) continue
      this.#inFlight.add(object.metadata.uid)
      const isOwner = graph.hasDependents(value)
      if (root && isOwner) onOwner(object.metadata.uid, root)
      batch.push({ type, object, isOwner })
    }
    return batch
  }

  *#withDependents(node: number): Generator<number, void, undefined> {
    yield node
    yield* this.#unowned([node], new Set([node]))
  }

  /** Every node that no owner keeps once these owners are gone, breadth first. */
  *#unowned(owners: number[], gone: Set<number>): Generator<number, void, undefined> {
    const { graph, reasonToKeep, onDoubt } = this.#ports
    for (const owner of owners) {
      // A copy of the list: the graph changes while batches are deleted.
      for (const dependent of graph.dependents(owner)) {
        const object = graph.object(dependent)
        if (!object || gone.has(dependent) || object.metadata.deletionTimestamp) continue
        // A cluster-scoped dependent may name a namespaced owner, which cannot own it.
        if (!object.metadata.namespace || this.#isKept(dependent, gone) || reasonToKeep(object) !== undefined) {
          onDoubt(object)
          continue
        }
        gone.add(dependent)
        if (graph.hasDependents(dependent)) owners.push(dependent)
        yield dependent
      }
    }
  }

  /** The owner rule, from the graph alone: an owner that exists is `unknown` here, and the dependent is judged on its own. */
  #isKept(node: number, gone: Set<number>): boolean {
    const { graph, exists } = this.#ports
    let strongest: OwnerState = 'dangling'
    for (
      let edge = graph.firstOwnerEdge(node);
      edge >= 0 && !keepsDependent(strongest);
      edge = graph.nextOwnerEdge(edge)
    ) {
      const owner = graph.ownerOf(edge)
      if (gone.has(owner)) continue
      const isPresent = graph.object(owner) !== undefined || exists(graph.uidOf(owner))
      strongest = strongerOwner(strongest, isPresent ? 'unknown' : 'dangling')
      if (!isPresent) gone.add(owner)
    }
    return keepsDependent(strongest)
  }
}
