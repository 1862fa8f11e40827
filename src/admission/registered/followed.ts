import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { Store } from '../../apiserver/store/store.ts'

/** The stored objects of a few resources, kept current: a write that was answered is already in here. */
export class Followed {
  readonly #objects: ReadonlyMap<string, Map<string, StoredObject>>
  #relevant = new WeakMap<ServedKind, Map<string, readonly StoredObject[]>>()

  /** `resources` with the objects that count beside the stored ones. */
  constructor(store: Pick<Store, 'scan' | 'subscribe'>, resources: ReadonlyMap<string, readonly KubeObject[]>) {
    const own = (objects: readonly KubeObject[]) =>
      new Map(objects.map((each) => [`own ${each.metadata.name}`, each as StoredObject]))
    this.#objects = new Map([...resources].map(([resource, objects]) => [resource, own(objects)]))
    for (const resource of resources.keys())
      for (const { namespace, name, document } of store.scan({ resource, limit: Number.MAX_SAFE_INTEGER }))
        this.#objects.get(resource)?.set(`${namespace}/${name}`, document.value)
    store.subscribe((events) => {
      for (const { resource, type, namespace, name, document } of events) {
        const objects = this.#objects.get(resource)
        if (!objects) continue
        if (type === 'delete') objects.delete(`${namespace}/${name}`)
        else objects.set(`${namespace}/${name}`, document.value)
        this.#relevant = new WeakMap()
      }
    })
  }

  /** All objects of a resource, ordered by name. */
  of<T extends StoredObject>(resource: string): readonly T[] {
    const found = [...(this.#objects.get(resource)?.values() ?? [])] as unknown as readonly T[]
    return found.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  /** Whether there is any object of a resource. */
  has(resource: string): boolean {
    return (this.#objects.get(resource)?.size ?? 0) > 0
  }

  /** Those of a resource that may concern a kind; asked of each object once per kind and change. */
  relevantTo<T extends StoredObject>(
    type: ServedKind,
    resource: string,
    concerns: (object: T) => boolean,
  ): readonly T[] {
    const known = this.#relevant.get(type) ?? new Map<string, readonly StoredObject[]>()
    const found = known.get(resource) ?? this.of<T>(resource).filter(concerns)
    this.#relevant.set(type, known.set(resource, found))
    return found as readonly T[]
  }
}
