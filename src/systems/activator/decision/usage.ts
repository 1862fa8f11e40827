import type { Usage } from './decide.ts'
import { cell, cellsPerSlot, inFlightOf, type Counters } from '../proxy/routing/counters.ts'

interface RouteUse {
  readonly slot: number
  /** What the slot had counted for the routes before. */
  readonly base: Int32Array
  started: number
  lastUsedAt: number
  /** Seen in use by this process. */
  used: boolean
}

/**
 * When routes were last used, derived from the counters of the data plane: in flight means in use now, and a counter
 * that moved means used since the last scan. It costs the data plane nothing.
 */
export class UsageTracker {
  readonly #counters: () => readonly Counters[]
  readonly #routes = new Map<string, RouteUse>()
  readonly #freeSlots: number[] = []
  #nextSlot = 0

  constructor(counters: () => readonly Counters[]) {
    this.#counters = counters
  }

  /** The slot in which a route is counted; a new route counts as used now. */
  slotOf(route: string, now: number): number {
    const known = this.#routes.get(route)
    if (known) return known.slot
    const slot = this.#freeSlots.pop() ?? this.#nextSlot++
    const base = this.#total(slot)
    this.#routes.set(route, { slot, base, started: this.#sum(slot, cell.started), lastUsedAt: now, used: false })
    return slot
  }

  forget(route: string): void {
    const known = this.#routes.get(route)
    if (!known) return
    this.#routes.delete(route)
    // A slot with requests in flight would pass its count on to the next route.
    if (this.#inFlight(known.slot) === 0) this.#freeSlots.push(known.slot)
  }

  /** Notes a use that was seen elsewhere. The newest counts; a time in the future counts as now. */
  note(route: string, usedAt: number, now: number): void {
    const known = this.#routes.get(route)
    if (known) known.lastUsedAt = Math.max(known.lastUsedAt, Math.min(usedAt, now))
  }

  /** Replaces what was assumed when the route was new by what is known, unless it has been used since. */
  recall(route: string, usedAt: number): void {
    const known = this.#routes.get(route)
    if (known && !known.used) known.lastUsedAt = usedAt
  }

  /** Looks at all routes; answers those used since the last look. */
  scan(now: number): string[] {
    const used: string[] = []
    for (const [route, use] of this.#routes) if (this.#look(use, now)) used.push(route)
    return used
  }

  /** How these routes are used, taken together, at this very moment. */
  of(routes: Iterable<{ readonly id: string }>, now: number): Usage {
    let [inFlight, waiting, lastUsedAt] = [0, 0, 0]
    for (const { id } of routes) {
      const use = this.#routes.get(id)
      if (!use) continue
      this.#look(use, now)
      inFlight += this.#inFlight(use.slot)
      waiting += this.#sum(use.slot, cell.waiting)
      lastUsedAt = Math.max(lastUsedAt, use.lastUsedAt)
    }
    return { inFlight: inFlight - waiting, waiting, lastUsedAt }
  }

  /** What a route has counted so far, over all threads. */
  cellsOf(route: string): Int32Array | undefined {
    const use = this.#routes.get(route)
    if (!use) return undefined
    return this.#total(use.slot).map((count, index) => count - use.base[index]!)
  }

  /** How many requests and tunnels of a route pods have answered, as far as that is told apart from answers of our own. */
  answersOf(route: string): number {
    const cells = this.cellsOf(route)
    const counted = [cell.informational, cell.success, cell.redirect, cell.clientError, cell.tunnels]
    return counted.reduce((sum, index) => sum + (cells?.[index] ?? 0), 0)
  }

  #total(slot: number): Int32Array {
    const total = new Int32Array(cellsPerSlot)
    for (const counters of this.#counters()) {
      const cells = counters.slot(slot)
      for (let i = 0; i < total.length; i++) total[i]! += cells[i]!
    }
    return total
  }

  #look(use: RouteUse, now: number): boolean {
    const started = this.#sum(use.slot, cell.started)
    const used = started !== use.started || this.#inFlight(use.slot) > 0
    use.started = started
    if (used) {
      use.lastUsedAt = Math.max(use.lastUsedAt, now)
      use.used = true
    }
    return used
  }

  #inFlight(slot: number): number {
    let total = 0
    for (const counters of this.#counters()) total += inFlightOf(counters.slot(slot))
    return Math.max(0, total)
  }

  #sum(slot: number, index: number): number {
    let total = 0
    for (const counters of this.#counters()) total = (total + counters.slot(slot)[index]!) | 0
    return total
  }
}
