/** How much may leave before somebody should look. */
export interface BudgetLimits {
  /** Of all kinds together, in a minute. Defaults to 1000. */
  readonly maxPerMinute: number
  /** Of one kind, in an hour. Defaults to 5000. */
  readonly maxPerHourOfKind: number
  /** Of all there were of one kind, in an hour, in percent. Defaults to 50. */
  readonly maxPercentOfKind: number
  /** The percentage does not count for this many: half of four is not an accident. Defaults to 100. */
  readonly freeOfPercent: number
}

export const defaultLimits: BudgetLimits = {
  maxPerMinute: 1000,
  maxPerHourOfKind: 5000,
  maxPercentOfKind: 50,
  freeOfPercent: 100,
}

/** Counts what left in the last minute and hour, each record once however often it is told of. */
export class Budget {
  readonly #limits: BudgetLimits
  /** Records counted, by name; those older than an hour are dropped as their second leaves. */
  readonly #counted = new Map<string, number>()
  /** Departures by second, then kind. Seconds older than an hour are gone. */
  readonly #seconds = new Map<number, Map<string, number>>()
  /** How many of a kind there were, what left within the hour included: asked for again when it is old, or before it refuses. */
  readonly #known = new Map<string, { readonly before: number; readonly lastHour: number; readonly at: number }>()
  #since = 0

  constructor(limits: BudgetLimits) {
    this.#limits = limits
  }

  /** A record was written at this time. */
  count(record: string, kind: string, at: number): void {
    if (at < this.#since || this.#counted.has(record)) return
    this.#counted.set(record, at)
    const second = Math.floor(at / 1000)
    const kinds = this.#seconds.get(second) ?? new Map<string, number>()
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    this.#seconds.set(second, kinds)
  }

  /** Forgets what left before this time: a human has looked at it. */
  forgive(before: number): void {
    this.#since = Math.max(this.#since, before)
    this.#known.clear()
    for (const [record, at] of this.#counted) if (at < this.#since) this.#counted.delete(record)
    for (const second of this.#seconds.keys()) if ((second + 1) * 1000 <= this.#since) this.#seconds.delete(second)
  }

  /** Why one more of this kind would be too many; undefined when it would not. `ofKind` is how many there are, asked only when it matters. */
  async exceeded(kind: string, now: number, ofKind: () => Promise<number>): Promise<string | undefined> {
    this.#dropBefore(now - hourMs)
    const { maxPerMinute, maxPerHourOfKind, maxPercentOfKind, freeOfPercent } = this.#limits
    const lastMinute = this.#leftSince(now - 60_000)
    if (lastMinute >= maxPerMinute) return `${lastMinute} objects left within a minute; at most ${maxPerMinute} may`
    const lastHour = this.#leftOfKind(kind)
    const name = kind.slice(kind.indexOf('/') + 1)
    if (lastHour >= maxPerHourOfKind) return `${lastHour} ${name} left within an hour; at most ${maxPerHourOfKind} may`
    if (lastHour < freeOfPercent) return undefined
    const isTooMany = (before: number) => ((lastHour + 1) / before) * 100 > maxPercentOfKind
    const known = this.#knownOf(kind, lastHour, now)
    if (known !== undefined && !isTooMany(known)) return undefined
    const before = (await ofKind()) + lastHour
    this.#known.set(kind, { before, lastHour, at: now })
    return isTooMany(before)
      ? `${lastHour} of ${before} ${name} left within an hour; at most ${maxPercentOfKind} % may`
      : undefined
  }

  /** A number that is hardly a second old and of which hardly a hundredth has left since. */
  #knownOf(kind: string, lastHour: number, now: number): number | undefined {
    const known = this.#known.get(kind)
    if (!known || Math.abs(now - known.at) >= 1000) return undefined
    return lastHour - known.lastHour <= known.before / 100 ? known.before : undefined
  }

  #leftSince(at: number): number {
    let sum = 0
    for (const [second, kinds] of this.#seconds) {
      if ((second + 1) * 1000 <= at) continue
      for (const count of kinds.values()) sum += count
    }
    return sum
  }

  #leftOfKind(kind: string): number {
    let sum = 0
    for (const kinds of this.#seconds.values()) sum += kinds.get(kind) ?? 0
    return sum
  }

  #dropBefore(at: number): void {
    const oldest = Math.floor(at / 1000)
    let dropped = false
    for (const second of this.#seconds.keys()) if (second < oldest) dropped = this.#seconds.delete(second) || dropped
    if (dropped) for (const [record, countedAt] of this.#counted) if (countedAt < at) this.#counted.delete(record)
  }
}

const hourMs = 3_600_000
