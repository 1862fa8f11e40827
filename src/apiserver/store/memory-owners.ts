import type { Address, Change, Dependent, OwnerGraph } from './store.ts'

/** The owner graph of a MemoryStore. */
export class MemoryOwners implements OwnerGraph {
  /** Existing objects by uid. */
  readonly #addresses = new Map<string, Address>()
  readonly #dependents = new Map<string, Map<string, Dependent>>()
  readonly #ownersOf = new Map<string, readonly string[]>()

  apply({ type, resource, namespace, name, uid, owners }: Change): void {
    if (type === 'delete') this.#addresses.delete(uid)
    else this.#addresses.set(uid, { resource, namespace, name })
    if (!owners) return
    for (const owner of this.#ownersOf.get(uid) ?? []) this.#drop(owner, uid)
    this.#ownersOf.delete(uid)
    if (owners.length > 0)
      this.#ownersOf.set(
        uid,
        owners.map(({ ownerUid }) => ownerUid),
      )
    for (const edge of owners) {
      const dependents = this.#dependents.get(edge.ownerUid) ?? new Map<string, Dependent>()
      this.#dependents.set(edge.ownerUid, dependents.set(uid, { ...edge, uid, resource, namespace, name }))
    }
  }

  dependentsOf(ownerUid: string, limit: number): readonly Dependent[] {
    const all = [...(this.#dependents.get(ownerUid)?.values() ?? [])]
    return all.sort((left, right) => (left.uid < right.uid ? -1 : 1)).slice(0, limit)
  }

  countBlocking(ownerUid: string): number {
    return [...(this.#dependents.get(ownerUid)?.values() ?? [])].filter(({ blocking }) => blocking).length
  }

  danglingOwners(limit: number, after = ''): readonly string[] {
    const dangling = [...this.#dependents.keys()].filter((uid) => uid > after && !this.#addresses.has(uid))
    return dangling.sort().slice(0, limit)
  }

  addressOf(uid: string): Address | undefined {
    return this.#addresses.get(uid)
  }

  #drop(ownerUid: string, uid: string): void {
    const dependents = this.#dependents.get(ownerUid)
    dependents?.delete(uid)
    if (dependents?.size === 0) this.#dependents.delete(ownerUid)
  }
}
