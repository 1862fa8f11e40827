import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import type { CascadeRoot } from '../../../departures/records/cascade-recorder.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import type { ClusterWatch } from '../watch/cluster-watch.ts'

/** Knows which deletion started the cascade that deletes an object: its record lists the object. */
export class CascadeRoots {
  readonly #world: ClusterWatch
  /** By the uid of a deleted owner. Bounded: the oldest are forgotten first. */
  readonly #roots = new BoundedMap<string, CascadeRoot>(100_000)

  constructor(world: ClusterWatch) {
    this.#world = world
  }

  /** Notes a deleted owner as a root, unless a cascade deleted it. */
  remember(object: StoredObject): void {
    const { uid } = object.metadata
    if (!this.#roots.has(uid)) this.inherit(uid, rootOf(object, { isGone: true }))
  }

  /** Notes that the cascade of this root deletes an owner. */
  inherit(uid: string, root: CascadeRoot): void {
    this.#roots.set(uid, root)
  }

  ofOwner(uid: string): CascadeRoot | undefined {
    return this.#roots.get(uid)
  }

  /** The root of the cascade that deletes an object: the noted root of its owners; else its topmost owner that is being deleted; else the owner that it names, deleted while no collector ran. */
  of(object: StoredObject): CascadeRoot | undefined {
    const seen = new Set<string>()
    let at = object
    for (;;) {
      const owners = at.metadata.ownerReferences ?? []
      const known = owners.map(({ uid }) => this.#roots.get(uid)).find((root) => root !== undefined)
      if (known) return known
      const above = owners
        .map((owner) => this.#leaving(owner))
        .find((owner) => owner !== undefined && !seen.has(owner.metadata.uid))
      if (!above) return at === object ? this.#named(object) : rootOf(at, { isGone: false })
      seen.add(above.metadata.uid)
      at = above
    }
  }

  #leaving({ uid }: OwnerReference): StoredObject | undefined {
    const { graph } = this.#world
    const owner = graph.object(graph.find(uid) ?? -1)
    return owner?.metadata.deletionTimestamp ? owner : undefined
  }

  #named({ metadata }: StoredObject): CascadeRoot | undefined {
    const [reference] = metadata.ownerReferences ?? []
    if (!reference) return undefined
    const { apiVersion, kind, name, uid } = reference
    const isInside = this.#world.typeOf(reference)?.namespaced ?? true
    const place = isInside && metadata.namespace ? { namespace: metadata.namespace } : {}
    const object = { apiVersion, kind, metadata: { name, uid, ...place, resourceVersion: '', creationTimestamp: '' } }
    return { ...rootOf(object, { isGone: true }), mayHaveFollowed: true }
  }
}

/** A root by this object, deleted by a user as far as is known. With owners, another collector, or this one before a restart, may have deleted it in a cascade. */
function rootOf(object: StoredObject, { isGone }: { readonly isGone: boolean }): CascadeRoot {
  const mayHaveFollowed = (object.metadata.ownerReferences ?? []).length > 0
  return { object, by: { system: 'user' }, isGone, mayHaveFollowed }
}
