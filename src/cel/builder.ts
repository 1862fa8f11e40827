import { childrenOf, type Expr } from './ast.ts'
import { SourceFault } from './errors.ts'

/** What keeps a hostile source from exhausting memory or the stack. */
export interface Limits {
  /** Brackets, arguments and branches inside each other; default 100. */
  readonly depth: number
  /** Nodes of the syntax tree; default 20 000. */
  readonly nodes: number
  /** Length of a chain such as `a.b.c` or `a + b + c`; default 500. */
  readonly chain: number
  /** Bytes of source; default 16 384. */
  readonly source: number
}

export const defaultLimits: Limits = { depth: 100, nodes: 20_000, chain: 500, source: 16_384 }

type Draft<E extends Expr> = E extends Expr ? Omit<E, 'height'> : never

/** Makes nodes, measuring them against the limits. */
export class Builder {
  readonly #limits: Limits
  #nodes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  node(draft: Draft<Expr>): Expr {
    this.#nodes += 1
    if (this.#nodes > this.#limits.nodes) {
      throw new SourceFault(`expression has more than ${this.#limits.nodes} nodes`, draft.at)
    }
    const height = childrenOf(draft as Expr).reduce((most, child) => Math.max(most, child.height), 0) + 1
    if (height > this.#limits.chain) {
      throw new SourceFault(`expression chains more than ${this.#limits.chain} operations`, draft.at)
    }
    return { ...draft, height } as Expr
  }
}
