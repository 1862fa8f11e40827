import { idOf } from '../model/scales.ts'
import { decidePower, type PowerDecision } from '../../../apis/environment-sleep.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { ScaleTarget } from '../cluster/act.ts'
import type { Core } from '../cluster/core.ts'
import { persistedLastUsed } from '../cluster/observe.ts'
import type { AppliedRule, SleepRules } from '../cluster/sleep-rules.ts'
import { wakesAfter } from '../decision/wake-order.ts'
import { annotation } from '../model/annotations.ts'
import { isReady, targetOf } from '../model/power-kinds.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import { asleepSince } from '../model/sleep-annotations.ts'
import type { WorkQueues } from './work-queues.ts'

export interface GovernanceParts extends Core {
  readonly rules: SleepRules
  readonly queues: WorkQueues
}

/** What the sleep rule of a workload wants, and whose requests are its use. */
export interface Governed {
  readonly power: PowerDecision | 'unknown' | undefined
  /** The Services whose requests wake it and keep it awake. */
  readonly users: readonly OnDemandService[]
  /** How long the rule lets it be idle before it sleeps. */
  readonly idleMs?: number
  /** How many replicas the rule leaves it asleep. */
  readonly least?: number | undefined
}

/** The longest that a workload waits for those that wake before it, or sleep before it. */
const orderMs = 60_000
const defaultIdleMs = 1_800_000
const contentionMs = 600_000
const maxRises = 3
/** They write what Git says, over what any other writer set: that is no use of the workload. */
const gitOpsManagers = /^(?:argocd|kustomize-controller|helm|flux|fleet)/

/** Applies sleep rules: from Environments and annotations to what each workload should do. */
export class Governance {
  readonly #parts: GovernanceParts
  /** When a request last had to wait for anything in a namespace that sleeps as a whole. */
  readonly #requestedAt = new Map<string, number>()
  /** When other writers scaled up workloads that slept, by workload. */
  readonly #rises = new Map<string, number[]>()
  /** Since when workloads wait for their turn. */
  readonly #waitingSince = new Map<string, number>()
  /** Faults of rules that have been reported. */
  readonly #told = new Set<string>()
  #areServicesRead = false

  constructor(parts: GovernanceParts) {
    this.#parts = parts
  }

  /** A request waits: everything in the namespace wakes if the namespace has a rule of its own. Returns what to reconcile. */
  requested(namespace: string): readonly StoredObject[] {
    const { rules, workloads, now } = this.#parts
    if (!rules.isGroup(namespace)) return []
    this.#requestedAt.set(namespace, now())
    return workloads.inNamespace(namespace)
  }

  /** `isBypassed`: whether callers may reach the pods of a Service unseen. */
  of(
    object: StoredObject,
    routes: readonly OnDemandService[],
    isBypassed: (service: OnDemandService) => boolean,
  ): Governed {
    const { rules, registry, usage, now } = this.#parts
    const { namespace = '' } = object.metadata
    const applied = this.#isOwned(object) ? undefined : rules.of(object)
    const isKnown = rules.areKnownIn(namespace)
    if (!applied) return { power: isKnown ? undefined : 'unknown', users: routes }
    const users = applied.isGroup ? registry.ofNamespace(namespace) : routes
    const at = now()
    const used = usage.of(users, at)
    const isRequested = applied.isGroup && (this.#requestedAt.get(namespace) ?? 0) > (asleepSince(object) ?? Infinity)
    // A scale-up by hand is noted there, too.
    const usedAt = Math.max(used.lastUsedAt, Math.min(persistedLastUsed(object) ?? 0, at))
    const window = rules.windowOf(applied, at)
    const least = 'replicas' in ((object.spec ?? {}) as object) ? applied.foreign?.least : undefined
    if (isKnown) this.#reportFault(object, applied, window === 'missing')
    if (typeof window === 'object' && 'asIs' in window)
      return { power: { wants: 'AsIs', because: 'outside-awake-hours', until: window.until }, users, least }
    const facts = {
      waiting: used.waiting + (isRequested ? 1 : 0),
      inFlight: used.inFlight,
      lastRequestAt: usedAt === 0 ? undefined : usedAt,
      window,
      isUseVisible: users.length > 0 && !users.some(isBypassed),
    }
    const power = isKnown && this.#areUsesKnown() ? decidePower(applied.rule, facts, at) : 'unknown'
    return { power, users, least, idleMs: applied.rule.idleAfterMs ?? defaultIdleMs }
  }

  /** When to look again, if others must wake or sleep before this workload. */
  turnAt(object: StoredObject, what: 'wake' | 'sleep'): number | undefined {
    const { now } = this.#parts
    const id = idOf(object)
    const since = this.#waitingSince.get(id) ?? now()
    if (now() - since >= orderMs || !this.#mustWait(object, what)) {
      this.#waitingSince.delete(id)
      return undefined
    }
    this.#waitingSince.set(id, since)
    return Math.min(now() + 1000, since + orderMs)
  }

  /**
   * Another writer scaled up a workload that slept. A person's change is a use; what a GitOps tool writes is not. A writer that does
   * it three times in ten minutes is given way to. Returns the version written.
   */
  async noteRise(target: ScaleTarget, object: StoredObject): Promise<{ version: string; contention?: string }> {
    const { actions, events, now } = this.#parts
    const id = idOf(object)
    const manager = (await actions.scaledBy(target)) ?? 'an unknown field manager'
    const isOurs = manager === 'sojourn-awake' || manager === 'sojourn'
    const usedAt = isOurs || gitOpsManagers.test(manager) ? undefined : now()
    const rises = [...(this.#rises.get(id) ?? []), now()].filter((at) => at > now() - contentionMs)
    if (!isOurs) this.#rises.set(id, rises)
    if (isOurs || rises.length < maxRises) return { version: await actions.noteRise(target, { usedAt }) }
    this.#rises.delete(id)
    const message = `${manager} scaled it up ${maxRises} times within 10 minutes after Sojourn put it to sleep. It stays awake: have ${manager} ignore spec.replicas, then remove the annotation ${annotation.contended}.`
    const version = await actions.noteRise(target, { usedAt, contended: message })
    events.record(object, { type: 'Warning', reason: 'Contended', message })
    return { version, contention: message }
  }

  forget(id: string): void {
    for (const map of [this.#rises, this.#waitingSince]) map.delete(id)
  }

  /** After a start no request is known of a Service that was not read yet. */
  #areUsesKnown(): boolean {
    const { caches, queues } = this.#parts
    return (this.#areServicesRead ||= caches.services.synced && queues.services.idle)
  }

  #mustWait(object: StoredObject, what: 'wake' | 'sleep'): boolean {
    const { workloads, rules } = this.#parts
    const others = workloads
      .inNamespace(object.metadata.namespace)
      .filter((other) => other !== object && rules.of(other))
    if (what === 'wake')
      return others.some((other) => wakesAfter(object, other) && asleepUnlessReady(other, workloads.replicas(other)))
    return others.some(
      (other) => wakesAfter(other, object) && !this.#isOwned(other) && (workloads.replicas(other) ?? 0) > 0,
    )
  }

  /** What another object manages is scaled by that one. */
  #isOwned({ kind, metadata }: StoredObject): boolean {
    const { namespace, name, ownerReferences = [] } = metadata
    if (ownerReferences.some(({ controller }) => controller)) return true
    if (kind !== 'Deployment') return false
    const rollouts = this.#parts.workloads.of({ kind: 'Rollout.argoproj.io' })?.list(namespace) ?? []
    return rollouts.some((rollout) => targetOf(rollout) === `Deployment/${name}`)
  }

  #reportFault(object: StoredObject, { rule: { awake }, foreign }: AppliedRule, isMissing: boolean): void {
    const name = awake && 'schedule' in awake ? awake.schedule : ''
    const missing = `"${name}" is neither the name of a WorkSchedule nor like "Mon-Fri 08:00-18:00 Europe/Berlin"`
    const fault = foreign?.fault ?? (isMissing ? missing : undefined)
    const id = `${idOf(object)} ${fault}`
    if (fault === undefined || this.#told.has(id)) return
    this.#told.add(id)
    const reason = isMissing ? 'NoSuchSchedule' : 'RuleRefused'
    this.#parts.events.record(object, { type: 'Warning', reason, message: `It stays awake: ${fault}.` })
  }
}

function asleepUnlessReady(object: StoredObject, replicas: number | undefined): boolean {
  if (replicas === 0) return asleepSince(object) !== undefined
  return !isReady(object)
}
