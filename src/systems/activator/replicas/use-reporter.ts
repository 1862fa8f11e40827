import type { Logger } from '../../../runtime/observability/log.ts'
import type { UsageTracker } from '../decision/usage.ts'
import { cell, cellsOfUse } from '../proxy/routing/counters.ts'
import type { ServiceRegistry } from '../model/service-registry.ts'
import type { Peers } from './peers.ts'
import type { UseAnswer } from './reported-use.ts'

export interface UseReporterParts {
  readonly peers: Peers
  readonly registry: ServiceRegistry
  readonly usage: UsageTracker
  readonly log: Logger
  /** The workload of a route with waiting requests could not be woken. */
  readonly onRefused: (route: string) => void
}

const routesPerReport = 500
const maxFault = 500

/** Reports what this proxy counted to the processes that scale: each learns what it has not acknowledged yet. */
export class UseReporter {
  readonly #parts: UseReporterParts
  /** The cells that each process has acknowledged, by route. */
  #told: ReadonlyMap<string, Map<string, string>> = new Map()
  readonly #faults = new Map<string, string>()
  #isBusy = false
  #isDue = false

  constructor(parts: UseReporterParts) {
    this.#parts = parts
  }

  /** Reports now; after the report under way, if there is one. `fault`: why ready pods of the route cannot be reached. */
  async report(route?: string, fault?: string): Promise<void> {
    this.#isDue = true
    if (route !== undefined && fault !== undefined) this.#faults.set(route, fault.slice(0, maxFault))
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      while (this.#isDue) {
        this.#isDue = false
        const { scalers } = this.#parts.peers
        this.#told = new Map(scalers.map((scaler) => [scaler, this.#told.get(scaler) ?? new Map<string, string>()]))
        const faults = Object.fromEntries(this.#faults)
        this.#faults.clear()
        await Promise.all([...this.#told].map(([scaler, told]) => this.#tell(scaler, { told, faults })))
      }
    } finally {
      this.#isBusy = false
    }
  }

  async #tell(
    scaler: string,
    { told, faults }: { readonly told: Map<string, string>; readonly faults: Readonly<Record<string, string>> },
  ): Promise<void> {
    const { peers, log, onRefused } = this.#parts
    const news = this.#newsFor(told)
    try {
      for (let start = 0; start < news.length; start += routesPerReport) {
        const part = news.slice(start, start + routesPerReport)
        const uses = Object.fromEntries(part.map(([route, cells]) => [route, [...cells]]))
        const { unknown, refused } = JSON.parse(await peers.reportUse(scaler, { uses, faults })) as UseAnswer
        for (const [route, cells] of part) if (!unknown.includes(route)) told.set(route, cells.join())
        for (const route of refused) onRefused(route)
      }
    } catch (error) {
      // The next report tells it all again.
      log.debug('use could not be reported', { scaler, error: (error as Error).message })
    }
  }

  #newsFor(told: Map<string, string>): (readonly [string, Int32Array])[] {
    const { registry, usage } = this.#parts
    return [...registry.all()].flatMap(({ id }) => {
      const cells = usage.cellsOf(id)?.subarray(0, cellsOfUse)
      // While requests wait, each report asks whether the workload can be woken.
      const isNews = cells && (cells[cell.waiting]! > 0 || (told.get(id) ?? unused) !== cells.join())
      return isNews ? [[id, cells] as const] : []
    })
  }
}

const unused = new Int32Array(cellsOfUse).join()
