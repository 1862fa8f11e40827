import type { CascadeRoot } from '../../../departures/records/cascade-recorder.ts'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import type { DependentDeleter, Recorded } from './dependent-deleter.ts'
import type { Graph } from '../graph/graph.ts'

export interface SweepPorts {
  readonly graph: Graph
  readonly act: DependentDeleter
  readonly typeOf: (object: StoredObject) => ResourceType | undefined
  /** Whether an object with this uid exists, for certain. */
  readonly exists: (uid: string) => boolean
  readonly reasonToKeep: (object: StoredObject) => string | undefined
  /** Told of owners that go with a root: what lived by them and comes to light later goes with it, too. */
  readonly onOwner: (uid: string, root: CascadeRoot) => void
  /** Told of what has to be judged by itself: something else may keep it. */
  readonly onDoubt: (object: StoredObject) => void
  /** How many go on one page. Defaults to 250. */
  readonly batchSize?: number | undefined
}

/**
 * Lets everything go that lived by an owner which is gone, and all that lived by that, in one sweep: owners before dependents, as many at once as make a
 * good batch. Only for a server that checks each delete in the same moment: what is decided here may be old by then.
 */
export class Sweep {
  readonly #ports: SweepPorts
  /** Uids that are on their way with a sweep. */
  readonly #going = new Set<string>()

  constructor(ports: SweepPorts) {
    this.#ports = ports
  }

  isGoing(uid: string): boolean {
    return this.#going.has(uid)
  }

  /** Sweeps what an owner that is gone leaves behind. */
  dependentsOf(owner: number, root: CascadeRoot | undefined): Promise<void> {
    return this.#run(this.#doomed([owner], new Set([owner])), root)
  }

  /** Sweeps an object whose owners are gone, with all that goes with it. */
  from(node: number, root: CascadeRoot | undefined): Promise<void> {
    return this.#run(this.#withItself(node), root)
  }

  /** One batch is recorded while the one before it is deleted, and spoken of while it is itself. */
  async #run(doomed: Iterator<number>, root: CascadeRoot | undefined): Promise<void> {
    const { act } = this.#ports
    let before: Promise<unknown> = Promise.resolve()
    for (let batch = this.#take(doomed, root); batch.length > 0; batch = this.#take(doomed, root)) {
      let recorded: Recorded
      try {
        recorded = await act.record(batch, root)
        await before
      } catch (error) {
        this.#arrive(batch)
        await before
        throw error
      }
      before = Promise.all([this.#remove(batch, recorded), recorded.told])
      // Heard of when the next batch is recorded; until then a failure is nobody's yet.
      before.catch(() => {})
    }
    await before
  }

  async #remove(batch: readonly Doomed[], recorded: Recorded): Promise<void> {
    try {
      const results = await this.#ports.act.deleteAll(batch, recorded)
      this.#arrive(batch)
      // What changed meanwhile told so while nobody listened: it is judged again.
      for (const [index, { object }] of batch.entries()) if (results[index] === 'changed') this.#ports.onDoubt(object)
    } catch (error) {
      this.#arrive(batch)
      throw error
    }
  }

  #arrive(batch: readonly Doomed[]): void {
    for (const { object } of batch) this.#going.delete(object.metadata.uid)
  }

  #take(doomed: Iterator<number>, root: CascadeRoot | undefined): Doomed[] {
    const { graph, typeOf, onOwner, batchSize = 250 } = this.#ports
    const batch: Doomed[] = []
    while (batch.length < batchSize) {
      const { value, done } = doomed.next()
      if (done) break
      const object = graph.object(value)
      const type = object && typeOf(object)
      if (!object || !type || this.#going.has(object.metadata.uid)) continue
      this.#going.add(object.metadata.uid)
      const isOwner = graph.hasDependents(value)
      if (root && isOwner) onOwner(object.metadata.uid, root)
      batch.push({ type, object, isOwner })
    }
    return batch
  }

  *#withItself(node: number): Generator<number, void, undefined> {
    yield node
    yield* this.#doomed([node], new Set([node]))
  }

  /** Every node that nothing keeps once these are gone, breadth first. */
  *#doomed(owners: number[], gone: Set<number>): Generator<number, void, undefined> {
    const { graph, reasonToKeep, onDoubt } = this.#ports
    for (const owner of owners) {
      // The list changes under our hands while batches go: it is taken as it was.
      for (const dependent of graph.dependents(owner)) {
        const object = graph.object(dependent)
        if (!object || gone.has(dependent) || object.metadata.deletionTimestamp) continue
        // What has no namespace may have been given an owner that cannot be one.
        if (!object.metadata.namespace || !this.#areGone(dependent, gone) || reasonToKeep(object) !== undefined) {
          onDoubt(object)
          continue
        }
        gone.add(dependent)
        if (graph.hasDependents(dependent)) owners.push(dependent)
        yield dependent
      }
    }
  }

  /** Whether every owner of a node is gone, or on its way with this sweep. */
  #areGone(node: number, gone: Set<number>): boolean {
    const { graph, exists } = this.#ports
    for (let edge = graph.firstOwnerEdge(node); edge >= 0; edge = graph.nextOwnerEdge(edge)) {
      const owner = graph.ownerOf(edge)
      if (gone.has(owner)) continue
      if (graph.object(owner) || exists(graph.uidOf(owner))) return false
      gone.add(owner)
    }
    return true
  }
}

interface Doomed {
  readonly type: ResourceType
  readonly object: StoredObject
  readonly isOwner: boolean
}
