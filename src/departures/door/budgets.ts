import { Budget, type BudgetLimits } from './budget.ts'

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
    if (!this.#global.count(record, kind, at) || scope === undefined || !this.#namespaceLimits) return
    const budget = this.#namespaces.get(scope) ?? new Budget(this.#namespaceLimits)
    budget.count(record, kind, at)
    this.#namespaces.set(scope, budget)
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
