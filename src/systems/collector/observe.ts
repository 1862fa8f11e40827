import type { Client } from '../../client/client.ts'
import type { OwnerReference, StoredObject } from '../../kube/object.ts'
import { parseApiVersion } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { componentOf } from './cycles.ts'
import type { Observed, OwnerFact } from './decide.ts'
import type { WorldWatch } from './world-watch.ts'

export interface ObservePorts {
  readonly client: Client
  readonly world: WorldWatch
  /** Whether an object with this uid exists anywhere, where that is certain; undefined where it must be asked for. */
  readonly exists?: (uid: string) => boolean
  readonly spares: (object: StoredObject) => string | undefined
}

/** Finds out what is true of one object and its owners. Owners that the graph does not have are looked for in the cluster itself. */
export class Observer {
  readonly #ports: ObservePorts
  /** Uids that were certainly absent lately: a uid never comes back. */
  readonly #absent = new Set<string>()

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
      blockingDependents: object.metadata.deletionTimestamp ? this.#blocking(node) : 0,
      isProtected: this.#ports.spares(object) !== undefined,
    }
  }

  async #stateOf(dependent: StoredObject, reference: OwnerReference): Promise<OwnerFact['state']> {
    const { world } = this.#ports
    const { graph } = world
    const node = graph.find(reference.uid)
    const owner = node === undefined ? undefined : graph.object(node)
    if (!owner) return this.#isAbsent(dependent, reference)
    const scope = scopeFault(dependent, owner)
    if (scope) return scope
    if (
      owner.kind !== reference.kind ||
      owner.metadata.name !== reference.name ||
      parseApiVersion(owner.apiVersion).group !== parseApiVersion(reference.apiVersion).group
    ) {
      // The right uid under another name or kind: nothing by that name owns it.
      return this.#isAbsent(dependent, reference)
    }
    const { deletionTimestamp, finalizers = [] } = owner.metadata
    return deletionTimestamp && finalizers.includes('foregroundDeletion') ? 'waiting' : 'solid'
  }

  /** Asks the cluster itself. Only a clear no, of a kind that is served, is absence. */
  async #isAbsent(dependent: StoredObject, reference: OwnerReference): Promise<'dangling' | 'unknown' | 'solid'> {
    const { client, world, exists } = this.#ports
    const { uid, name } = reference
    if (this.#absent.has(uid)) return 'dangling'
    if (exists && !exists(uid)) return this.#noteAbsent(uid)
    const type = world.typeOf(reference)
    if (!type) return 'unknown'
    const { namespace } = dependent.metadata
    if (type.namespaced && !namespace) return 'unknown'
    try {
      const found = await client.get<StoredObject>(
        type,
        { name, ...(type.namespaced && namespace ? { namespace } : {}) },
        { metadataOnly: true },
      )
      // There, and our watch has not shown it yet: it will.
      return found.metadata.uid === uid ? 'solid' : this.#noteAbsent(uid)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return this.#noteAbsent(uid)
      return 'unknown'
    }
  }

  #noteAbsent(uid: string): 'dangling' {
    if (this.#absent.size >= mostAbsent) this.#absent.clear()
    this.#absent.add(uid)
    return 'dangling'
  }

  /** How many dependents keep a foreground deletion waiting; its own cycle does not count, or none of it could ever go. */
  #blocking(node: number): number {
    const { graph } = this.#ports.world
    const blocking: number[] = []
    graph.eachDependent(node, (dependent, isBlocking) => {
      if (isBlocking && graph.object(dependent)) blocking.push(dependent)
    })
    if (blocking.length === 0) return 0
    const isLeaving = (candidate: number) => graph.object(candidate)?.metadata.deletionTimestamp !== undefined
    if (!blocking.every(isLeaving)) return blocking.length
    const component = componentOf(graph, node, isLeaving)
    return blocking.filter((dependent) => !component.has(dependent)).length
  }
}

const mostAbsent = 10_000

/** An owner in another namespace is no owner; a cluster-scoped object cannot belong to a namespaced one, and is left alone. */
function scopeFault(dependent: StoredObject, owner: StoredObject): 'dangling' | 'unknown' | undefined {
  const { namespace } = owner.metadata
  if (!namespace || namespace === dependent.metadata.namespace) return undefined
  return dependent.metadata.namespace ? 'dangling' : 'unknown'
}
