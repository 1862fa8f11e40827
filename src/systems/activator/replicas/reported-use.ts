import { cell, cellsOfUse, cellsPerSlot, Counters } from '../proxy/routing/counters.ts'

/** What a proxy in another process has counted of its routes since it started: cells by route. */
export interface UseReport {
  readonly from: string
  readonly uses: Readonly<Record<string, readonly number[]>>
  /** Why ready pods of a route cannot be reached. */
  readonly faults: Readonly<Record<string, string>>
}

/** The answer to a report. */
export interface UseAnswer {
  /** Routes that are not known here yet: report them again. */
  readonly unknown: readonly string[]
  /** Routes with waiting requests whose workload could not be woken. */
  readonly refused: readonly string[]
}

interface ReportingProxy {
  readonly counters: Counters
  readonly last: Map<string, readonly number[]>
}

const maxProxies = 256

/** The counters of proxies in other processes, beside those of this one: what they report counts as if it were counted here. */
export class ReportedUse {
  readonly #counters: Counters[]
  readonly #proxies = new Map<string, ReportingProxy>()

  /** `counters`: those that use is derived from. The first keeps what proxies counted that are gone. */
  constructor(counters: Counters[]) {
    this.#counters = counters
  }

  /** Takes over what a proxy counted of a route; `slot` is where the route is counted here. */
  take(
    from: string,
    route: string,
    { slot, cells }: { readonly slot: number; readonly cells: readonly number[] },
  ): void {
    const proxy = this.#proxyOf(from)
    if (!proxy || cells.length !== cellsOfUse || !cells.every(Number.isInteger)) return
    const known = proxy.last.get(route)
    // Fewer than before: the proxy has dropped the route and found it again.
    const before = known && cells[cell.started]! - known[cell.started]! >= 0 ? known : undefined
    const here = proxy.counters.slot(slot)
    for (let index = 0; index < cellsOfUse; index++) here[index]! += cells[index]! - (before?.[index] ?? 0)
    proxy.last.set(route, cells)
  }

  /** Proxies that are gone have nothing under way any more. */
  keepOnly(members: readonly string[]): void {
    for (const [name, { counters }] of this.#proxies) {
      if (members.includes(name)) continue
      counters.forget()
      this.#add(counters)
      this.#counters.splice(this.#counters.indexOf(counters), 1)
      this.#proxies.delete(name)
    }
  }

  #add({ pages }: Counters): void {
    const [kept] = this.#counters
    pages.forEach((page, number) => {
      const cells = new Int32Array(page)
      for (let from = 0; from < cells.length; from += cellsPerSlot) {
        const here = kept!.slot((number * cells.length + from) / cellsPerSlot)
        for (let index = 0; index < cellsPerSlot; index++) here[index]! += cells[from + index]!
      }
    })
  }

  #proxyOf(from: string): ReportingProxy | undefined {
    const known = this.#proxies.get(from)
    if (known || this.#proxies.size >= maxProxies) return known
    const proxy = { counters: new Counters(), last: new Map<string, readonly number[]>() }
    this.#proxies.set(from, proxy)
    this.#counters.push(proxy.counters)
    return proxy
  }
}
