import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import type { Client } from '../../../client/client.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { componentOf } from '../graph/cycles.ts'
import { decide, type Observed, type OwnerFact } from './decide.ts'
import { canBlock, ownerStateOf } from '../graph/owner-state.ts'
import type { BondEdges } from '../graph/bond-edges.ts'
import type { ClusterWatch } from '../watch/cluster-watch.ts'

export interface ObservePorts {
  readonly client: Client
  readonly world: ClusterWatch
  readonly bondEdges: BondEdges
  /** Whether an object with this uid exists anywhere, where that is certain; undefined where it must be asked for. */
  readonly exists?: (uid: string) => boolean
  readonly reasonToKeep: (object: StoredObject) => string | undefined
}

/** Finds out what is true of one object and its owners. Owners that the graph does not have are looked for in the cluster itself. */
export class Observer {
  readonly #ports: ObservePorts
  /** References to what was certainly absent lately, by all they say: a wrong name for a living uid must not condemn those who name it right. */
  readonly #absent = new BoundedMap<string, true>(10_000)
  /** Uids that were seen to go lately: whatever else is said of one, it does not come back. */
  readonly #gone = new BoundedMap<string, true>(10_000)

  constructor(ports: ObservePorts) {
    this.#ports = ports
  }

  async observe(node: number, object: StoredObject): Promise<Observed> {
    const { graph } = this.#ports.world
    const owners = await Promise.all(
      (object.metadata.ownerReferences ?? []).map(async (reference) => ({
        reference,
        state: await this.#stateOf(object, reference),
      })),
    )
    return {
      object,
      owners,
      hasDependents: graph.hasDependents(node),
      blockingDependents: isWaiting(object) ? this.#blocking(node) || (await this.#untold(node)) : 0,
      isProtected: this.#ports.reasonToKeep(object) !== undefined,
    }
  }

  /** An object was seen to go. */
  noteGone(uid: string): void {
    this.#gone.set(uid, true)
  }

  async #stateOf(dependent: StoredObject, reference: OwnerReference): Promise<OwnerFact['state']> {
    const { world } = this.#ports
    const { graph } = world
    const node = graph.find(reference.uid)
    const owner = node === undefined ? undefined : graph.object(node)
    if (!owner) return this.#isAbsent(dependent, reference)
    const standing = ownerStateOf(dependent, reference, owner)
    // The right uid under another name or kind: nothing by that name owns it.
    return standing === 'elsewhere' ? this.#isAbsent(dependent, reference) : standing
  }

  /** Asks the cluster itself. Only a clear no, of a kind that is served, is absence. */
  async #isAbsent(dependent: StoredObject, reference: OwnerReference): Promise<'dangling' | 'unknown' | 'solid'> {
    const { client, world, exists } = this.#ports
    const { uid, name, apiVersion, kind } = reference
    const coordinates = `${uid} ${apiVersion} ${kind} ${name} ${dependent.metadata.namespace ?? ''}`
    const type = world.typeOf(reference)
    const { namespace } = dependent.metadata
    // A cluster-scoped object cannot belong to a namespaced one: in which namespace would that be looked for?
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
      // There, and our watch has not shown it yet: it will.
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

  /** Whether there is a dependent that is to go, or to forget this owner, and has not been told: 1 if so. An owner that went before would decide how it goes. */
  async #untold(node: number): Promise<number> {
    const { graph } = this.#ports.world
    for (const dependent of graph.dependents(node)) {
      const object = graph.object(dependent)
      if (!object || object.metadata.deletionTimestamp) continue
      const decision = decide(await this.observe(dependent, object))
      if (decision.do !== 'keep') return 1
    }
    return 0
  }

  /** How many dependents keep a foreground deletion waiting; its own cycle does not count, or none of it could ever go. */
  #blocking(node: number): number {
    const { graph } = this.#ports.world
    const blocking: number[] = []
    graph.eachDependent(node, (dependent, isBlocking) => {
      if (isBlocking && canBlock(graph.object(dependent))) blocking.push(dependent)
    })
    if (blocking.length === 0) return 0
    const isLeaving = (candidate: number) => graph.object(candidate)?.metadata.deletionTimestamp !== undefined
    if (!blocking.every(isLeaving)) return blocking.length
    const component = componentOf(graph, node, this.#ports.bondEdges)
    return blocking.filter((dependent) => !component.has(dependent)).length
  }
}

/** Whether an object goes in the foreground. */
function isWaiting({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes('foregroundDeletion') ?? false)
}
