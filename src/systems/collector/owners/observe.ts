import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import type { Client } from '../../../client/client.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { componentOf, canBlock, ownerStateFor } from '../graph/cycles.ts'
import { isForegroundDeletion, type OwnerState } from '../../../kube/owner-rule.ts'
import { decide, type Observed } from './decide.ts'
import type { BondEdges } from '../graph/bond-edges.ts'
import type { ClusterWatch } from '../watch/cluster-watch.ts'

export interface ObservePorts {
  readonly client: Client
  readonly world: ClusterWatch
  readonly bondEdges: BondEdges
  /** Whether an object with this uid exists, answered by the store itself; absent where only the API can be asked. */
  readonly exists?: (uid: string) => boolean
  readonly reasonToKeep: (object: StoredObject) => string | undefined
}

const maxLookups = 20

/** Collects the facts about one object and its owners. Owners that the graph does not have are read from the API. */
export class Observer {
  readonly #ports: ObservePorts
  /** References found to be dangling recently, keyed by every field: a wrong name with the uid of a living owner must not affect correct references. */
  readonly #absent = new BoundedMap<string, true>(10_000)
  /** Uids of objects deleted recently: a uid never returns. */
  readonly #gone = new BoundedMap<string, true>(10_000)

  constructor(ports: ObservePorts) {
    this.#ports = ports
  }

  async observe(node: number, object: StoredObject): Promise<Observed> {
    const { graph } = this.#ports.world
    const owners = await this.#ownersOf(object)
    return {
      object,
      owners,
      hasDependents: graph.hasDependents(node),
      blockingDependents: isForegroundDeletion(object)
        ? this.blocking(node) || (await this.#pendingDependents(node))
        : 0,
      isProtected: this.#ports.reasonToKeep(object) !== undefined,
    }
  }

  /** The state of every owner; a few at a time, because each may cost a request. */
  async #ownersOf(object: StoredObject): Promise<Observed['owners']> {
    const { ownerReferences = [] } = object.metadata
    const owners: Observed['owners'][number][] = []
    for (let start = 0; start < ownerReferences.length; start += maxLookups) {
      const some = ownerReferences.slice(start, start + maxLookups)
      const states = await Promise.all(some.map((reference) => this.#stateOf(object, reference)))
      owners.push(...some.map((reference, index) => ({ reference, state: states[index]! })))
    }
    return owners
  }

  /** Remembers that an object was deleted. */
  noteGone(uid: string): void {
    this.#gone.set(uid, true)
  }

  async #stateOf(dependent: StoredObject, reference: OwnerReference): Promise<OwnerState> {
    const { world } = this.#ports
    const { graph } = world
    const node = graph.find(reference.uid)
    const owner = node === undefined ? undefined : graph.object(node)
    if (!owner) return this.#lookUp(dependent, reference)
    const state = ownerStateFor(dependent, reference, owner)
    // The reference has the uid of one object and the name of another: ask for the one it names.
    return state === 'mismatch' ? this.#lookUp(dependent, reference) : state
  }

  /** Asks the API for an owner. Only NotFound for a kind that is served means dangling; every other failure means unknown. */
  async #lookUp(dependent: StoredObject, reference: OwnerReference): Promise<'dangling' | 'unknown' | 'solid'> {
    const { client, world, exists } = this.#ports
    const { uid, name, apiVersion, kind } = reference
    const coordinates = `${uid} ${apiVersion} ${kind} ${name} ${dependent.metadata.namespace ?? ''}`
    const type = world.typeOf(reference)
    const { namespace } = dependent.metadata
    // A cluster-scoped object cannot be owned by a namespaced one, and there is no namespace to look in.
    if (type?.namespaced && !namespace) return 'unknown'
    if (this.#absent.has(coordinates) || this.#gone.has(uid)) return 'dangling'
    if (exists && !exists(uid)) return this.#noteAbsent(coordinates)
    if (!type) return 'unknown'
    try {
      const found = await client.get<StoredObject>(
        type,
        { name, ...(type.namespaced && namespace ? { namespace } : {}) },
        { metadataOnly: true },
      )
      // It exists; the watch has not delivered it yet.
      return found.metadata.uid === uid ? 'solid' : this.#noteAbsent(coordinates)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return this.#noteAbsent(coordinates)
      return 'unknown'
    }
  }

  #noteAbsent(coordinates: string): 'dangling' {
    this.#absent.set(coordinates, true)
    return 'dangling'
  }

  /** 1 if a dependent still has to be deleted or to drop its reference to this owner: finished first, the owner's deletion would change what happens to it. */
  async #pendingDependents(node: number): Promise<number> {
    const { graph } = this.#ports.world
    for (const dependent of graph.dependents(node)) {
      const object = graph.object(dependent)
      if (!object || object.metadata.deletionTimestamp) continue
      const decision = decide(await this.observe(dependent, object))
      if (decision.do !== 'keep') return 1
    }
    return 0
  }

  /** How many dependents block a foreground deletion. Members of its own cycle do not count: they would wait for each other forever. */
  blocking(node: number): number {
    const { graph } = this.#ports.world
    const blocking: number[] = []
    graph.eachDependent(node, (dependent, isBlocking) => {
      if (isBlocking && canBlock(graph.object(dependent))) blocking.push(dependent)
    })
    if (blocking.length === 0) return 0
    const isDeleted = (candidate: number) => graph.object(candidate)?.metadata.deletionTimestamp !== undefined
    if (!blocking.every(isDeleted)) return blocking.length
    const component = componentOf(graph, node, this.#ports.bondEdges)
    return blocking.filter((dependent) => !component.has(dependent)).length
  }
}
