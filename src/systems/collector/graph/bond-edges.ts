/** A Bond as an edge of the graph: who needs what, by uid. */
export interface BondEdge {
  /** `namespace/name` of the Bond. */
  readonly bond: string
  /** The uid of the Bond itself. */
  readonly uid: string
  readonly dependency: string
  readonly dependents: readonly string[]
  /** Whether the dependents go when the dependency does. */
  readonly cascades: boolean
  /** Whether the dependency waits for the dependents. */
  readonly holds: boolean
  /** Whether the dependency must not be deleted while a dependent is there. */
  readonly denies: boolean
}

/** All Bonds as edges, found by what they need. There are few of them next to owner references, so they are kept apart. */
export class BondEdges {
  readonly #byBond = new Map<string, BondEdge>()
  readonly #byDependency = new Map<string, Set<BondEdge>>()

  get size(): number {
    return this.#byBond.size
  }

  /** Adds a Bond, or replaces what was known of it. */
  bind(tie: BondEdge): void {
    this.unbind(tie.bond)
    this.#byBond.set(tie.bond, tie)
    const others = this.#byDependency.get(tie.dependency)
    if (others) others.add(tie)
    else this.#byDependency.set(tie.dependency, new Set([tie]))
  }

  unbind(bond: string): void {
    const tie = this.#byBond.get(bond)
    if (!tie) return
    this.#byBond.delete(bond)
    const others = this.#byDependency.get(tie.dependency)
    others?.delete(tie)
    if (others?.size === 0) this.#byDependency.delete(tie.dependency)
  }

  /** What is known of a Bond, by `namespace/name`. */
  of(bond: string): BondEdge | undefined {
    return this.#byBond.get(bond)
  }

  /** Whether a Bond needs this uid. */
  has(dependency: string): boolean {
    return this.#byDependency.has(dependency)
  }

  /** The Bonds that need this uid. */
  on(dependency: string): Iterable<BondEdge> {
    return this.#byDependency.get(dependency) ?? none
  }
}

const none: readonly BondEdge[] = []
