const stepMs = 300_000
const steps = 288
const maxRoutes = 5000

/** One step of a route's last day. */
export interface HistoryStep {
  /** When it began. */
  readonly at: number
  readonly requests: number
  readonly coldStarts: number
  readonly awakeSeconds: number
}

interface Ring {
  readonly stamps: Float64Array
  readonly requests: Uint32Array
  readonly coldStarts: Uint32Array
  readonly awake: Uint16Array
}

/** The last day of each route in steps of five minutes, for charts. Kept in memory only, for `maxRoutes` routes. */
export class History {
  readonly #rings = new Map<string, Ring>()

  add(route: string, now: number, { requests, coldStarts, awakeSeconds }: Omit<HistoryStep, 'at'>): void {
    const ring = this.#ring(route)
    if (!ring) return
    const began = Math.floor(now / stepMs) * stepMs
    const index = Math.floor(now / stepMs) % steps
    if (ring.stamps[index] !== began) {
      ring.stamps[index] = began
      ring.requests[index] = ring.coldStarts[index] = ring.awake[index] = 0
    }
    ring.requests[index]! += requests
    ring.coldStarts[index]! += coldStarts
    ring.awake[index]! += awakeSeconds
  }

  /** The steps of the last day in which anything was noted, oldest first. */
  of(route: string, now: number): HistoryStep[] {
    const ring = this.#rings.get(route)
    if (!ring) return []
    const since = now - steps * stepMs
    return Array.from(ring.stamps, (at, index) => ({
      at,
      requests: ring.requests[index]!,
      coldStarts: ring.coldStarts[index]!,
      awakeSeconds: ring.awake[index]!,
    }))
      .filter(({ at }) => at > since)
      .toSorted((a, b) => a.at - b.at)
  }

  #ring(route: string): Ring | undefined {
    const known = this.#rings.get(route)
    if (known || this.#rings.size >= maxRoutes) return known
    const ring = {
      stamps: new Float64Array(steps),
      requests: new Uint32Array(steps),
      coldStarts: new Uint32Array(steps),
      awake: new Uint16Array(steps),
    }
    this.#rings.set(route, ring)
    return ring
  }
}
