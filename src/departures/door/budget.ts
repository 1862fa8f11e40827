/** How many deletions are allowed before the circuit breaker opens and a user must look. */
export interface BudgetLimits {
  /** Deletions of all kinds in a minute. Defaults to 1000. */
  readonly maxPerMinute: number
  /** Deletions of one kind in an hour. Defaults to 5000. */
  readonly maxPerHourOfKind: number
  /** The share of all objects of one kind that may be deleted in an hour, in percent. Defaults to 50. */
  readonly maxPercentOfKind: number
  /** Below this many deletions of a kind the percentage does not apply: half of four is no accident. Defaults to 100. */
  readonly freeOfPercent: number
}

export const defaultLimits: BudgetLimits & { readonly namespaceShare: number } = {
  /** How much of the global limits one namespace may use, in percent. */
  namespaceShare: 10,
  maxPerMinute: 1000,
  maxPerHourOfKind: 5000,
  maxPercentOfKind: 50,
  freeOfPercent: 100,
}

/** Counts deletions in the last minute and hour. A record counts once, however often informers deliver it. */
export class Budget {
  readonly #limits: BudgetLimits
  /** Names of counted records, with their times. Dropped after an hour, together with their second. */
  readonly #counted = new Map<string, number>()
  /** Deletions by second, then by kind, of the last hour. */
  readonly #seconds = new Map<number, Map<string, number>>()
  /** How many objects of a kind there were an hour ago. Counted again when the number is old, and always before a refusal. */
  readonly #known = new Map<string, { readonly before: number; readonly lastHour: number; readonly at: number }>()
  #since = 0

  constructor(limits: BudgetLimits) {
    this.#limits = limits
  }

  /** Counts a record that was written at this time. Answers whether it was new. */
  count(record: string, kind: string, at: number): boolean {
    if (at < this.#since || this.#counted.has(record)) return false
    this.#counted.set(record, at)
    const kinds = this.#seconds.getOrInsertComputed(Math.floor(at / 1000), () => new Map<string, number>())
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    return true
  }

  /** Whether nothing was deleted in the last hour. */
  isIdle(now: number): boolean {
    this.#dropBefore(now - hourMs)
    return this.#seconds.size === 0
  }

  /** Forgets deletions up to the end of this second: a user has closed the breaker in it. */
  forgive(closedAt: number): void {
    this.#since = Math.max(this.#since, (Math.floor(closedAt / 1000) + 1) * 1000)
    this.#known.clear()
    for (const [record, at] of this.#counted) if (at < this.#since) this.#counted.delete(record)
    for (const second of this.#seconds.keys()) if ((second + 1) * 1000 <= this.#since) this.#seconds.delete(second)
  }

  /** Why one more deletion of this kind would be too many; undefined if it would not. `ofKind` counts the objects that exist; called only when needed. */
  async exceeded(
    kind: string,
    now: number,
    ofKind: () => Promise<number>,
  ): Promise<{ readonly because: string; readonly isPace: boolean } | undefined> {
    this.#dropBefore(now - hourMs)
    const { maxPerMinute, maxPerHourOfKind, maxPercentOfKind, freeOfPercent } = this.#limits
    const lastMinute = this.#leftSince(now - 60_000)
    if (lastMinute >= maxPerMinute)
      return pace(`${lastMinute} objects were deleted within a minute; the limit is ${maxPerMinute}`)
    const lastHour = this.#leftOfKind(kind)
    const name = kind.slice(kind.indexOf('/') + 1)
    if (lastHour >= maxPerHourOfKind)
      return pace(`${lastHour} ${name} were deleted within an hour; the limit is ${maxPerHourOfKind}`)
    if (lastHour < freeOfPercent) return undefined
    const isTooMany = (before: number) => ((lastHour + 1) / before) * 100 > maxPercentOfKind
    const known = this.#knownOf(kind, lastHour, now)
    if (known !== undefined && !isTooMany(known)) return undefined
    const before = (await ofKind()) + lastHour
    this.#known.set(kind, { before, lastHour, at: now })
    if (!isTooMany(before)) return undefined
    const because = `${lastHour} of ${before} ${name} were deleted within an hour; the limit is ${maxPercentOfKind} %`
    return { because, isPace: false }
  }

  /** The known number, unless it is older than a second or more than a hundredth was deleted since. */
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

function pace(because: string) {
  return { because, isPace: true }
}

/** One deletion, as budgets count it. */
export interface Booking {
  readonly kind: string
  /** The scope of its namespace; undefined for cluster-scoped objects and cloud resources. */
  readonly scope: string | undefined
}

/** Which budget is used up, and why. Without a scope it is the global one. */
export interface Overrun {
  readonly because: string
  /** Whether waiting helps: a limit by time, not by the share of a kind. */
  readonly isPace: boolean
  readonly scope?: string
}

/** Below this many deletions no limit of a namespace applies, unless the global one is lower. */
const freeInNamespace = 20

/**
 * The global budget, and under it one for each namespace, so that the deletions of one tenant never use up what others need. A namespace may use
 * `namespaceShare` percent of the global limits, and the same share of each kind.
 */
export class Budgets {
  readonly #global: Budget
  readonly #namespaceLimits: BudgetLimits | undefined
  readonly #namespaces = new Map<string, Budget>()
  #sweepAt = 0

  constructor(limits: BudgetLimits & { readonly namespaceShare: number }) {
    this.#global = new Budget(limits)
    const part = (limit: number) =>
      Math.min(limit, Math.max(freeInNamespace, Math.ceil((limit * limits.namespaceShare) / 100)))
    if (limits.namespaceShare >= 100) return
    this.#namespaceLimits = {
      ...limits,
      maxPerMinute: part(limits.maxPerMinute),
      maxPerHourOfKind: part(limits.maxPerHourOfKind),
      freeOfPercent: freeInNamespace,
    }
  }

  count(record: string, { kind, scope }: Booking, at: number): void {
    const limits = this.#namespaceLimits
    if (!this.#global.count(record, kind, at) || scope === undefined || !limits) return
    this.#namespaces.getOrInsertComputed(scope, () => new Budget(limits)).count(record, kind, at)
  }

  forgive(before: number): void {
    this.#global.forgive(before)
    for (const budget of this.#namespaces.values()) budget.forgive(before)
  }

  /** Which budget one more deletion would overrun. `ofKind` counts the objects that exist, in the namespace or in all. */
  async exceeded(
    { kind, scope }: Booking,
    now: number,
    ofKind: (where: 'namespace' | 'cluster') => Promise<number>,
  ): Promise<Overrun | undefined> {
    this.#dropIdle(now)
    const overrun = await this.#global.exceeded(kind, now, () => ofKind('cluster'))
    if (overrun) return overrun
    if (scope === undefined) return undefined
    const inNamespace = await this.#namespaces.get(scope)?.exceeded(kind, now, () => ofKind('namespace'))
    return inNamespace && { ...inNamespace, because: `in namespace ${scope}, ${inNamespace.because}`, scope }
  }

  #dropIdle(now: number): void {
    if (now < this.#sweepAt) return
    this.#sweepAt = now + 60_000
    for (const [scope, budget] of this.#namespaces) if (budget.isIdle(now)) this.#namespaces.delete(scope)
  }
}

/** By which a namespace's budget and circuit are named, also as part of a ConfigMap's key. A namespace's name has no dot. */
export function scopeOf(cluster: string, namespace: string | undefined): string | undefined {
  if (!namespace) return undefined
  return cluster === '' ? namespace : `${cluster.replaceAll(/[^-.a-zA-Z0-9]/g, '_')}.${namespace}`.slice(-240)
}
