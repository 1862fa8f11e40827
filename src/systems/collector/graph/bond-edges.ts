/** A Bond as an edge of the graph, between uids. */
export interface BondEdge {
  /** `namespace/name` of the Bond. */
  readonly bond: string
  /** The uid of the Bond itself. */
  readonly uid: string
  readonly dependency: string
  readonly dependents: readonly string[]
  /** Whether the dependents are deleted with the dependency. */
  readonly cascades: boolean
  /** Whether the deletion of the dependency waits for the dependents. */
  readonly holds: boolean
  /** Whether the dependency must not be deleted while a dependent exists. */
  readonly denies: boolean
}

/** All Bonds as edges, indexed by dependency. They are few compared to owner references, so a map outside the graph's arrays is enough. */
export class BondEdges {
  readonly #byBond = new Map<string, BondEdge>()
  readonly #byDependency = new Map<string, Set<BondEdge>>()

  get size(): number {
    return this.#byBond.size
  }

  /** Adds or replaces the edge of a Bond. */
  set(edge: BondEdge): void {
    this.delete(edge.bond)
    this.#byBond.set(edge.bond, edge)
    this.#byDependency.getOrInsertComputed(edge.dependency, () => new Set()).add(edge)
  }

  delete(bond: string): void {
    const edge = this.#byBond.get(bond)
    if (!edge) return
    this.#byBond.delete(bond)
    const others = this.#byDependency.get(edge.dependency)
    others?.delete(edge)
    if (others?.size === 0) this.#byDependency.delete(edge.dependency)
  }

  /** The edge of a Bond, by `namespace/name`. */
  of(bond: string): BondEdge | undefined {
    return this.#byBond.get(bond)
  }

  /** Whether this uid is the dependency of a Bond. */
  has(dependency: string): boolean {
    return this.#byDependency.has(dependency)
  }

  /** The Bonds whose dependency this uid is. */
  on(dependency: string): Iterable<BondEdge> {
    return this.#byDependency.get(dependency) ?? none
  }
}

const none: readonly BondEdge[] = []
