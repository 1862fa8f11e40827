import type { Statements } from './sqlite-statements.ts'
import type { Address, Change, Dependent, OwnerGraph } from './store.ts'

type DependentRow = [
  resource: number,
  namespace: string,
  name: string,
  uid: string,
  blocking: number,
  controller: number,
]

/** The owner graph of a SqliteStore, in a table that is written in the objects' transactions. */
export class SqliteOwners implements OwnerGraph {
  readonly #statements: Statements
  readonly #nameOf: (resource: number) => string

  constructor(statements: Statements, nameOf: (resource: number) => string) {
    this.#statements = statements
    this.#nameOf = nameOf
  }

  /** Replaces the owner edges of a changed object; call inside its transaction. */
  set({ namespace, name, uid, owners = [] }: Change, resource: number): void {
    this.#statements.dropOwners.run(uid)
    for (const { ownerUid, blocking, controller } of owners)
      this.#statements.addOwner.run(ownerUid, uid, resource, namespace, name, Number(blocking), Number(controller))
  }

  dependentsOf(ownerUid: string, limit: number): readonly Dependent[] {
    const found = this.#statements.dependentsOf.all(ownerUid, limit) as unknown as DependentRow[]
    return found.map(([resource, namespace, name, uid, blocking, controller]) => ({
      resource: this.#nameOf(resource),
      namespace,
      name,
      uid,
      ownerUid,
      blocking: blocking === 1,
      controller: controller === 1,
    }))
  }

  countBlocking(ownerUid: string): number {
    const [row] = this.#statements.countBlocking.all(ownerUid) as unknown as [number][]
    return row?.[0] ?? 0
  }

  danglingOwners(limit: number, after = ''): readonly string[] {
    const found = this.#statements.danglingOwners.all(after, limit) as unknown as [string][]
    return found.map(([uid]) => uid)
  }

  addressOf(uid: string): Address | undefined {
    const [row] = this.#statements.addressOf.all(uid) as unknown as [number, string, string][]
    return row && { resource: this.#nameOf(row[0]), namespace: row[1], name: row[2] }
  }
}
