import type { StoredObject } from '../../kube/object.ts'

/** The values under which an object is found in an index. */
export type IndexFunction<T extends StoredObject = StoredObject> = (object: T) => readonly string[]

interface Index {
  users: number
  /** Objects by value; no set is empty. */
  readonly byValue: Map<string, Set<StoredObject>>
}

/** Objects by namespace and name, and by the values of indexes. Holds each object once and never changes one. */
export class ObjectCache {
  /** No namespace is empty. */
  readonly #namespaces = new Map<string, Map<string, StoredObject>>()
  /** Each holds exactly the objects above, under what its function says of them. */
  readonly #indexes = new Map<IndexFunction, Index>()
  #size = 0
  /** What was listed since the last change, by namespace; everything is under undefined. */
  readonly #snapshots = new Map<string | undefined, readonly StoredObject[]>()

  get size(): number {
    return this.#size
  }

  get(namespace: string, name: string): StoredObject | undefined {
    return this.#namespaces.get(namespace)?.get(name)
  }

  /** All objects, or those of one namespace: the very same array until one of them changes. */
  all(namespace?: string): readonly StoredObject[] {
    return this.#snapshots.getOrInsertComputed(namespace, () =>
      namespace === undefined ? this.#everything() : [...(this.#namespaces.get(namespace)?.values() ?? [])],
    )
  }

  #everything(): readonly StoredObject[] {
    const objects: StoredObject[] = []
    for (const each of this.#namespaces.values()) for (const object of each.values()) objects.push(object)
    return objects
  }

  byIndex(index: IndexFunction, value: string): Iterable<StoredObject> {
    return this.#indexes.get(index)?.byValue.get(value) ?? []
  }

  put(object: StoredObject): void {
    const { namespace = '', name } = object.metadata
    const former = this.get(namespace, name)
    if (former) this.#unindex(former)
    else this.#size++
    this.#namespaces.getOrInsertComputed(namespace, () => new Map()).set(name, object)
    this.#snapshots.clear()
    for (const [valuesOf, index] of this.#indexes) insert(index, valuesOf, object)
  }

  delete(object: StoredObject): void {
    const { namespace = '', name } = object.metadata
    const objects = this.#namespaces.get(namespace)
    if (!objects?.delete(name)) return
    this.#size--
    this.#snapshots.clear()
    if (objects.size === 0) this.#namespaces.delete(namespace)
    this.#unindex(object)
  }

  /** Starts an index, or takes one more use of it. */
  addIndex(valuesOf: IndexFunction): void {
    const existing = this.#indexes.get(valuesOf)
    if (existing) {
      existing.users++
      return
    }
    const index: Index = { users: 1, byValue: new Map() }
    this.#indexes.set(valuesOf, index)
    for (const object of this.all()) insert(index, valuesOf, object)
  }

  /** Gives one use of an index back; it goes with the last. */
  removeIndex(valuesOf: IndexFunction): void {
    const index = this.#indexes.get(valuesOf)
    if (index && --index.users === 0) this.#indexes.delete(valuesOf)
  }

  #unindex(object: StoredObject): void {
    for (const [valuesOf, { byValue }] of this.#indexes) {
      for (const value of valuesOrNone(valuesOf, object)) {
        const objects = byValue.get(value)
        if (objects?.delete(object) && objects.size === 0) byValue.delete(value)
      }
    }
  }
}

function insert({ byValue }: Index, valuesOf: IndexFunction, object: StoredObject): void {
  for (const value of valuesOrNone(valuesOf, object)) {
    byValue.getOrInsertComputed(value, () => new Set()).add(object)
  }
}

/** An object so malformed that an index cannot read it is found by name only; the others are not its business. */
function valuesOrNone(valuesOf: IndexFunction, object: StoredObject): readonly string[] {
  try {
    return valuesOf(object)
  } catch {
    return []
  }
}
