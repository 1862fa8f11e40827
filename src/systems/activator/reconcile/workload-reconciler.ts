import { keyToString, refFromKey, type Key } from '../../../kube/key.ts'
import type { Condition } from '../../../kube/conditions.ts'
import type { ObjectRef, StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatDuration } from '../../../kube/time.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import type { ScaleTarget } from '../cluster/act.ts'
import { probeActivity } from '../cluster/activity.ts'
import type { Core } from '../cluster/core.ts'
import type { SleepRules } from '../cluster/sleep-rules.ts'
import { annotation, onDemandLabel } from '../model/annotations.ts'
import { decide, leastOf, type Decision, type Workload } from '../decision/decide.ts'
import { notedReplicas, observeWorkload, persistedLastUsed, ruleOf } from '../cluster/observe.ts'
import type { Publisher } from '../feed/publisher.ts'
import { workloadId, type OnDemandService } from '../model/service-registry.ts'
import { afterWaking, wakeFailureOf, whileContended, type WakeFailure } from '../model/service-conditions.ts'
import { scaledText } from '../model/power-kinds.ts'
import { asleepSince } from '../model/sleep-annotations.ts'
import type { Governance, Governed } from './governance.ts'
import type { WorkQueues } from './work-queues.ts'
import type { TakeoverReconciler } from '../takeover/takeover-reconciler.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import { sleepWithoutLoss } from './two-phase-sleep.ts'

export interface WorkloadReconcilerParts extends Core {
  readonly publisher: Publisher
  readonly takeover: TakeoverReconciler
  readonly governance: Governance
  readonly rules: SleepRules
  readonly queues: WorkQueues
  /** Another process wakes, and learns from this one's counters that requests wait. */
  readonly isProxy: boolean
  readonly onDecision: (workload: string, decision: Decision) => void
  readonly onWoken: (routes: readonly OnDemandService[], tookMs: number) => void
}

const recheckMs = 5000
const retryMs = 1000
const minPersistMs = 30_000
/** How long to wait for surplus pods to be removed; after that, another controller keeps more than it should. */
const podRemovalTimeoutMs = 5000
const podRemovalPollMs = 50
/** How long pods must be ready until a workload counts as woken that failed before and has answered no request since. */
const steadyMs = 10_000

/** How much newer a last use must be before it is worth a write. */
export function persistEveryMs(ttlMs: number): number {
  return Math.max(minPersistMs, ttlMs / 4)
}

/** Carries out what `decide` says about a workload: wake it, put it to sleep or leave it. */
export class WorkloadReconciler {
  readonly #parts: WorkloadReconcilerParts
  /** Workloads that had no replicas when last looked at, and whether Sojourn kept them so. */
  readonly #resting = new Map<string, { readonly isSlept: boolean }>()
  /** Routes whose persisted last use has been taken into account. */
  readonly #recalled = new Set<string>()
  /** Workloads that are named and were not there when last looked at. */
  readonly #absent = new Set<string>()
  /** How long the last wake of each workload took. */
  readonly #wakeMs = new Map<string, number>()
  /** The last failure of each Service: how many answers had come by then, what failed, and since when pods have been ready again. */
  readonly #failures = new Map<
    string,
    { readonly answers: number; readonly message: string; readonly readySince?: number | undefined }
  >()

  constructor(parts: WorkloadReconcilerParts) {
    this.#parts = parts
  }

  async reconcile(key: Key): Promise<Outcome> {
    const { registry, workloads, governance, now } = this.#parts
    const id = keyToString(key)
    const routes = registry.ofWorkload(id)
    const ref = refOfWorkload(routes, id) ?? refFromKey(key, workloads.of(key)?.type.version ?? 'v1')
    const object = workloads.find(ref)
    const informer = workloads.of(key)
    this.#notePresence(id, object, routes)
    if (!informer) return routes.length > 0 ? wakeAt(now() + recheckMs) : settled
    // The first objects of a kind come before its cache is complete.
    if (object === 'unknown' && routes.length === 0) return wakeAt(now() + retryMs)
    const governed: Governed =
      typeof object === 'string'
        ? { power: undefined, users: routes }
        : governance.of(object, routes, (route) => this.#parts.takeover.isBypassed(route))
    if (routes.length === 0 && governed.power === undefined) return this.#leave(id, { type: informer.type, ref })
    const replicas = typeof object === 'string' ? undefined : workloads.replicas(object)
    if (typeof object !== 'string' && replicas !== undefined) this.#mergePersistedUse(id, { object, replicas }, routes)
    const workload = this.#observe(object, replicas)
    await this.#checkWakeTimeout(id, workload, routes)
    const decision = this.#decide(id, workload, { ...governed, routes })
    for (const route of routes) this.#parts.publisher.publish(route.id)
    if (typeof object === 'string' || replicas === undefined)
      return decision.do === 'stay' && decision.because === 'unknown' ? wakeAt(now() + recheckMs) : settled
    const subject = { key, id, object, target: { type: informer.type, ref }, routes, governed, informer }
    // A waiting request must not wait for a label to be written.
    const isChanged = decision.do !== 'wake' && (await this.#updateMarks(subject, replicas))
    // Only what was judged may sleep, and that has just changed.
    if (isChanged && decision.do === 'sleep') return wakeAt(now())
    return this.#carryOut(subject, decision)
  }

  /** Tells when a workload is missed for the first time, and when it has come. */
  #notePresence(id: string, object: StoredObject | 'unknown' | 'absent', routes: readonly OnDemandService[]): void {
    const { publisher, queues } = this.#parts
    if (object === 'unknown' || this.#absent.has(id) === (object === 'absent')) return
    if (object === 'absent') this.#absent.add(id)
    else this.#absent.delete(id)
    for (const route of routes) publisher.publish(route.id)
    queues.enqueueServices(routes.map((route) => route.id))
  }

  #observe(object: StoredObject | 'unknown' | 'absent', replicas: number | undefined): Workload | 'unknown' | 'absent' {
    if (typeof object === 'string') return object
    return replicas === undefined ? 'unknown' : observeWorkload(object, replicas, this.#parts.caches.autoscalers)
  }

  #decide(
    id: string,
    workload: Workload | 'unknown' | 'absent',
    { power, least, routes }: Governed & { readonly routes: readonly OnDemandService[] },
  ): Decision {
    const { usage, wakeAttempts, now, onDecision, takeover } = this.#parts
    const at = now()
    const decision = decide(
      {
        workload,
        rules: routes.map((route) => ruleOf(route, takeover.isBypassed(route))),
        usage: usage.of(routes, at),
        wake: { ...wakeAttempts.of(id), until: this.#wakingUntil(id, routes) },
        power,
        least,
      },
      at,
    )
    onDecision(id, decision)
    return decision
  }

  async #carryOut(subject: Subject, decision: Decision): Promise<Outcome> {
    const { governance, now } = this.#parts
    switch (decision.do) {
      case 'wake': {
        const turnAt = governance.turnAt(subject.object, 'wake')
        return turnAt === undefined ? this.#wake(subject, decision) : wakeAt(turnAt)
      }
      case 'sleep': {
        const turnAt = governance.turnAt(subject.object, 'sleep')
        return turnAt === undefined ? this.#sleep(subject, decision) : wakeAt(turnAt)
      }
      case 'refuse':
        return decision.until === undefined ? settled : wakeAt(decision.until)
      case 'stay': {
        const waking = this.#wakingUntil(subject.id, subject.routes)
        if (decision.because === 'bypassed' || decision.because === 'unknown') return wakeAt(now() + recheckMs)
        // Nothing tells when the last request has ended: look when it could have been idle for long enough.
        const ttlMs = Math.max(...subject.routes.map(({ settings }) => settings.scaling.ttlMs))
        const until = decision.because === 'in-use' ? Math.min(waking ?? Infinity, now() + ttlMs) : decision.until
        const { power, idleMs = Infinity } = subject.governed
        const isUsed = typeof power === 'object' && power.until === undefined && power.wants !== 'Asleep'
        const earliest = Math.min(until ?? Infinity, isUsed ? now() + idleMs : Infinity)
        return earliest === Infinity ? settled : wakeAt(earliest)
      }
    }
  }

  async #wake(subject: Subject, decision: Extract<Decision, { do: 'wake' }>): Promise<Outcome> {
    const { id, object, target, routes } = subject
    const { actions, wakeAttempts, publisher, events, log, now, dryRun } = this.#parts
    if (dryRun) {
      if (!this.#parts.isProxy) log.info('would wake', { workload: id, because: decision.because })
      return wakeAt(now() + recheckMs)
    }
    // The pods that its sleep ends are no pods to forward requests to, though they may be listed for a moment.
    const endsBy = this.#parts.workloads.replicas(object) === 0 ? (asleepSince(object) ?? 0) + podRemovalTimeoutMs : 0
    if (now() < endsBy && this.#isListed(subject, 0)) return wakeAt(now() + podRemovalPollMs)
    try {
      const usedAt = decision.because === 'requested' ? now() : undefined
      const version = await actions.wake(target, decision.replicas, decision.resourceVersion, usedAt)
      const since = wakeAttempts.began(id, now())
      if (version !== undefined) {
        this.#expect(subject, version)
        log.info('woke', { workload: id, because: decision.because, replicas: decision.replicas })
        const message = `${scaledText(target.type, decision.replicas)}: ${sentence[decision.because] ?? decision.because}.`
        events.record(object, { type: 'Normal', reason: 'Woken', message })
      }
      return routes.length === 0 ? settled : wakeAt(since + readinessTimeoutOf(routes))
    } catch (error) {
      if (!isDenial(error)) throw error
      const retryAt = wakeAttempts.failed(id, 'wake-denied', now())
      for (const route of routes) publisher.publish(route.id)
      log.error('could not wake', { workload: id, error })
      const message = `Could not be scaled up, retrying with backoff: ${(error as Error).message}`
      events.record(object, { type: 'Warning', reason: 'WakeDenied', message })
      await this.#tellFailure(routes, { reason: 'WakeDenied', message })
      return wakeAt(retryAt)
    }
  }

  /** Our own write: the cache must show it before we look again. */
  #expect({ key, informer }: Subject, version: string): void {
    this.#parts.queues.workloads.expect(key, version, informer)
  }

  /** Writes conditions of the Services that lead to a workload, where that is news. */
  async #tellServices(
    routes: readonly OnDemandService[],
    conditionsAfter: (service: StoredObject, now: number) => readonly Condition[] | undefined,
  ): Promise<void> {
    const { caches, actions, now, isProxy } = this.#parts
    if (isProxy) return
    for (const { namespace, name } of routes) {
      const service = caches.services.get(namespace, name)
      const conditions = service && conditionsAfter(service, now())
      if (service && conditions) await actions.report(service, conditions)
    }
  }

  #tellFailure(routes: readonly OnDemandService[], failure: WakeFailure): Promise<void> {
    const { usage } = this.#parts
    for (const { id } of routes) this.#failures.set(id, { answers: usage.answersOf(id), message: failure.message })
    return this.#tellServices(routes, (service, at) => afterWaking(service, failure, at))
  }

  async #sleep(subject: Subject, decision: Extract<Decision, { do: 'sleep' }>): Promise<Outcome> {
    const { peers, usage, log, now, dryRun } = this.#parts
    const { id, routes, governed } = subject
    const { users, power, idleMs = 0 } = governed
    if (!peers.leading) return wakeAt(now() + recheckMs)
    if (dryRun) {
      log.info('would sleep', { workload: id })
      return wakeAt(now() + recheckMs)
    }
    if (decision.because === 'idle' && !(await this.#podsAreIdle(routes))) return wakeAt(now() + retryMs)
    const { lastUsedAt } = usage.of(users, now())
    // A user who puts it to sleep by hand does not wait for it to become idle, only for requests under way.
    const ttls = users.map(({ settings }) => settings.scaling.ttlMs)
    const isRuled = typeof power === 'object' && power.wants === 'Asleep'
    const minIdleMs = decision.because === 'by-hand' ? 0 : isRuled ? idleMs : Math.max(0, ...ttls)
    try {
      const write = () => this.#writeSleep(subject, decision, lastUsedAt)
      const hasSlept = await sleepWithoutLoss(this.#parts, users, { lastUsedAt, minIdleMs }, write)
      return hasSlept ? settled : wakeAt(now() + retryMs)
    } catch (error) {
      // Changed since we looked: whatever it is now, the watch will say.
      if (isStatusError(error, 'Conflict', 'NotFound')) return wakeAt(now() + retryMs)
      throw error
    }
  }

  /** Only the pods know of connections that bypass the proxy. A pod that does not answer is not idle. */
  async #podsAreIdle(routes: readonly OnDemandService[]): Promise<boolean> {
    const { usage, caches, events, now } = this.#parts
    for (const route of routes) {
      if (!route.settings.activityProbe) continue
      const activity = await probeActivity(route, caches)
      if (activity.is === 'idle') continue
      usage.note(route.id, now(), now())
      const service = caches.services.get(route.namespace, route.name)
      if (service && activity.is === 'unknown') {
        const message = `${annotation.activityProbe}: ${activity.why}. It stays awake.`
        events.record(service, { type: 'Warning', reason: 'ActivityUnknown', message })
      }
      return false
    }
    return true
  }

  async #writeSleep(
    subject: Subject,
    decision: Extract<Decision, { do: 'sleep' }>,
    lastUsedAt: number,
  ): Promise<'asleep' | 'reduced'> {
    const { publisher, actions, events, log, now, wakeAttempts } = this.#parts
    const { id, object, target } = subject
    const { replicas, former, because } = decision
    const used = subject.governed.users.length === 0 ? undefined : lastUsedAt
    const wakeMs = this.#wakeMs.get(id)
    const version = await actions.sleep(target, { ...decision, lastUsedAt: used, wakeMs, now: now() })
    if (replicas === 0) publisher.noteAsleep(id, version)
    wakeAttempts.forget(id)
    if (replicas === 0) this.#resting.set(id, { isSlept: true })
    this.#expect(subject, version)
    const idle = `idle for ${formatDuration(Math.floor((now() - lastUsedAt) / 1000) * 1000)}`
    log.info('put to sleep', { workload: id, because, former })
    const message = `${scaledText(target.type, replicas, former)}: ${because === 'idle' ? idle : (sentence[because] ?? because)}.`
    events.record(object, { type: 'Normal', reason: 'Slept', message })
    if (replicas === 0) return 'asleep'
    await this.#untilGone(subject, replicas)
    return 'reduced'
  }

  /** Which pods stay is known once the others are no longer listed: until then no request is forwarded. */
  async #untilGone(subject: Subject, replicas: number): Promise<void> {
    const { now, clock } = this.#parts
    const until = now() + podRemovalTimeoutMs
    while (this.#isListed(subject, replicas) && now() < until) await sleep(clock, podRemovalPollMs)
  }

  /** Whether more pods than these are listed as ready. */
  #isListed({ id, routes }: Subject, replicas: number): boolean {
    return routes.some((route) => isMain(route, id) && this.#parts.publisher.readyPods(route) > replicas)
  }

  /** Merges the last use that other replicas wrote, and counts a scale-up by another writer as a use. */
  #mergePersistedUse(
    id: string,
    { object, replicas }: { readonly object: StoredObject; readonly replicas: number },
    routes: readonly OnDemandService[],
  ): void {
    const { usage, now } = this.#parts
    const at = now()
    const persisted = persistedLastUsed(object)
    const rested = this.#resting.get(id)
    const isSlept = asleepSince(object) !== undefined
    // A wake by any replica removes the mark of the sleep in the same write, and notes a request as the last use.
    const rose = replicas > 0 && rested !== undefined && (isSlept || !rested.isSlept)
    if (replicas > 0) this.#resting.delete(id)
    else this.#resting.set(id, { isSlept })
    for (const { id: route, settings } of routes) {
      if (persisted !== undefined) {
        // Uses since the last write were known only to a process that is gone: assume the latest possible one.
        if (!this.#recalled.has(`${id} ${route}`))
          usage.recall(route, Math.min(at, persisted + persistEveryMs(settings.scaling.ttlMs)))
        usage.note(route, persisted, at)
      }
      this.#recalled.add(`${id} ${route}`)
      if (rose) usage.note(route, at, at)
    }
  }

  /** Backs off from a workload that is scaled up but has had no ready pod for too long since it was woken. */
  async #checkWakeTimeout(
    id: string,
    workload: Workload | 'unknown' | 'absent',
    routes: readonly OnDemandService[],
  ): Promise<void> {
    const { wakeAttempts, publisher, usage, now, events, log, workloads, actions } = this.#parts
    if (typeof workload === 'string' || workload.replicas === 0) return
    const main = routes.filter((route) => isMain(route, id))
    if (main.length === 0 || main.some((route) => publisher.isReachable(route))) return this.#noteReady(id, main)
    const { waiting } = usage.of(main, now())
    if (now() < wakeAttempts.of(id).retryAt) return
    const since = waiting > 0 ? wakeAttempts.began(id, now()) : wakeAttempts.since(id)
    if (since === undefined || now() < since + readinessTimeoutOf(routes)) return
    wakeAttempts.failed(id, 'backoff', now())
    const object = workloads.lastSeen(refOfWorkload(routes, id)!)
    const { reason, message: why } = (object && (await actions.whyNotReady(object))) ?? {
      reason: 'NotReadyInTime',
      message: '',
    }
    const message = `No pod was ready within ${formatDuration(readinessTimeoutOf(routes))}.${why && ` ${why}`}`
    log.error('could not wake', { workload: id, reason, error: message })
    if (object) events.record(object, { type: 'Warning', reason: 'NotReadyInTime', message })
    await this.#tellFailure(main, { reason, message })
  }

  #noteReady(id: string, routes: readonly OnDemandService[]): void {
    const { wakeAttempts, isProxy, onWoken, now } = this.#parts
    const since = wakeAttempts.since(id)
    wakeAttempts.forget(id)
    if (since === undefined || isProxy || routes.length === 0) return
    const tookMs = Math.max(0, now() - since)
    this.#wakeMs.set(id, tookMs)
    onWoken(routes, tookMs)
  }

  /** Until when a workload that was woken may take to have a ready pod, or when a failing one is tried again. */
  #wakingUntil(id: string, routes: readonly OnDemandService[]): number | undefined {
    const { wakeAttempts, publisher, now } = this.#parts
    const { retryAt } = wakeAttempts.of(id)
    if (now() < retryAt) return retryAt
    const since = wakeAttempts.since(id)
    const main = routes.filter((route) => isMain(route, id))
    if (since === undefined || main.length === 0 || main.some((route) => publisher.isReachable(route))) return undefined
    return since + readinessTimeoutOf(routes)
  }

  /** Ready pods of a Service cannot be reached: a person has to correct that. Told once, until a pod is reached. */
  noteFault(id: string, fault: string): void {
    const { registry, caches, log } = this.#parts
    const route = registry.get(id)
    const service = route && caches.services.get(route.namespace, route.name)
    if (!route || !service) return
    const [what, hint] = fault.split('. ', 2)
    const port = route.port?.targetPort ?? route.port?.port
    const message = `A pod is ready, but: ${what} (targetPort ${port}).${hint === undefined ? '' : ` ${hint}`}`
    if (this.#failures.get(id)?.message === message) return
    this.#failures.set(id, { answers: 0, message })
    this.#tellFault(route, service, message).catch((error: unknown) => {
      this.#failures.delete(id)
      log.error('could not tell why pods cannot be reached', { service: id, error })
    })
  }

  /** A container that ends again and again is ready for moments: its pod says more than its port. */
  async #tellFault(route: OnDemandService, service: StoredObject, message: string): Promise<void> {
    const { workloads, actions, events, log } = this.#parts
    const object = route.settings.workloads.map((each) => workloads.lastSeen(each))[0]
    const why = object && (await actions.whyNotReady(object))
    const failure = why ?? { reason: 'ConnectionRefused', message }
    const known = wakeFailureOf(service)
    await this.#tellFailure([route], failure)
    this.#failures.set(route.id, { ...this.#failures.get(route.id)!, message })
    if (known?.reason === failure.reason && known.message === failure.message) return
    log.error('pods cannot be reached', { service: route.id, error: failure.message })
    events.record(service, { type: 'Warning', ...failure })
  }

  /** The label, and now and then the last use: what other replicas and people go by. Answers whether it wrote. */
  async #updateMarks(subject: Subject, replicas: number): Promise<boolean> {
    const { id, object, target, routes } = subject
    const { usage, actions, governance, peers, now, dryRun } = this.#parts
    if (dryRun) return false
    const rules = routes.map(({ settings }) => settings.scaling)
    const least = leastOf(rules, subject.governed.least)
    if (peers.leading && replicas > least && asleepSince(object) !== undefined) {
      const { version, contention } = await governance.noteRise(target, object)
      this.#expect(subject, version)
      await this.#tellServices(routes, (service, at) => whileContended(service, contention, at))
      return true
    }
    if (routes.length === 0) return false
    const isWoken = (route: OnDemandService) => isMain(route, id) && this.#isWoken(route, subject.key)
    if (routes.some(isWoken)) await this.#tellServices(routes, (service, at) => afterWaking(service, undefined, at))
    const contention = object.metadata.annotations?.[annotation.contended]
    await this.#tellServices(routes, (service, at) => whileContended(service, contention, at))
    const isUnmarked = peers.leading && object.metadata.labels?.[onDemandLabel.key] !== onDemandLabel.value
    const { lastUsedAt } = usage.of(routes, now())
    const ttlMs = Math.max(...routes.map(({ settings }) => settings.scaling.ttlMs))
    const persisted = persistedLastUsed(object) ?? 0
    const isNews = lastUsedAt - persisted >= persistEveryMs(ttlMs) && !this.#resting.has(id)
    if (!isUnmarked && !isNews) return false
    const version = await actions.mark(target, {
      ...(isUnmarked ? { onDemand: true } : {}),
      ...(isNews ? { lastUsed: { at: lastUsedAt, seen: object } } : {}),
    })
    if (version !== undefined) this.#expect(subject, version)
    return version !== undefined
  }

  /**
   * Whether a wake has succeeded since the last failure: a request was answered, or pods have been ready for a while. A refused
   * port shows only by requests, and a container that crashes is ready for a moment each time it is started.
   */
  #isWoken(route: OnDemandService, workload: Key): boolean {
    const { publisher, usage, caches, queues, now } = this.#parts
    const service = caches.services.get(route.namespace, route.name)
    const failure = service && wakeFailureOf(service)
    if (!failure) return false
    const known = this.#failures.get(route.id) ?? { answers: 0, message: failure.message }
    const isReady = publisher.isReachable(route) && usage.of([route], now()).waiting === 0
    const readySince = isReady ? (known.readySince ?? now()) : undefined
    this.#failures.set(route.id, { ...known, readySince })
    if (readySince === undefined) return false
    const steadyAt = failure.reason === 'ConnectionRefused' ? Infinity : readySince + steadyMs
    if (now() >= steadyAt || usage.answersOf(route.id) > known.answers) return this.#failures.delete(route.id)
    if (steadyAt < Infinity) queues.workloads.enqueueAt(workload, steadyAt)
    return false
  }

  /** Neither a Service nor a rule is about the workload any more: once that is certain, it is woken and our marks are removed. */
  async #leave(id: string, target: ScaleTarget): Promise<Outcome> {
    const { caches, queues, rules, workloads, wakeAttempts, governance, peers, now, dryRun } = this.#parts
    const object = workloads.lastSeen(target.ref)
    const isMarked = object?.metadata.labels?.[onDemandLabel.key] === onDemandLabel.value
    const isOurs = object && (isMarked || asleepSince(object) !== undefined)
    const areServicesKnown = caches.services.synced && queues.services.idle
    if (!areServicesKnown || !rules.areKnownIn(target.ref.namespace ?? ''))
      return isOurs ? wakeAt(now() + retryMs) : settled
    wakeAttempts.forget(id)
    governance.forget(id)
    this.#resting.delete(id)
    this.#absent.delete(id)
    this.#wakeMs.delete(id)
    if (!isOurs || dryRun) return settled
    if (!peers.leading) return wakeAt(now() + recheckMs)
    const replicas = workloads.replicas(object)
    if (replicas === undefined) return wakeAt(now() + retryMs)
    return this.#giveUp(id, target, { object, replicas })
  }

  async #giveUp(
    id: string,
    target: ScaleTarget,
    { object, replicas }: { readonly object: StoredObject; readonly replicas: number },
  ): Promise<Outcome> {
    const { actions, events, log, now } = this.#parts
    const former = notedReplicas(object) ?? 0
    const wakesTo = replicas < former && (replicas === 0 || asleepSince(object) !== undefined) ? former : undefined
    try {
      await actions.giveUp(target, wakesTo, object.metadata.resourceVersion)
    } catch (error) {
      if (isStatusError(error, 'Conflict', 'NotFound')) return wakeAt(now() + retryMs)
      throw error
    }
    if (wakesTo === undefined) return settled
    log.info('woke', { workload: id, because: 'no-rule', replicas: wakesTo })
    const message = `${scaledText(target.type, wakesTo)}, as before it slept: no Service and no sleep rule is about it any more.`
    events.record(object, { type: 'Normal', reason: 'Woken', message })
    return settled
  }
}

interface Subject {
  readonly key: Key
  readonly id: string
  readonly object: StoredObject
  readonly target: ScaleTarget
  /** The Services that lead to it. */
  readonly routes: readonly OnDemandService[]
  readonly governed: Governed
  readonly informer: Informer
}

const sentence: Partial<Record<Decision['because'], string>> = {
  requested: 'a request is waiting for it',
  'office-hours': 'its awake hours have begun',
  minimum: 'it has a minimum',
  'awake-hours': 'its awake hours have begun',
  'outside-awake-hours': 'its awake hours have ended',
  'by-hand': 'asked for by hand',
  'no-class': 'its EnvironmentClass does not exist',
  'no-such-schedule': 'its schedule does not exist',
  'no-sleep-rule': 'no rule lets it sleep any more',
}

/** The server said no, and saying it again will not help for a while. */
function isDenial(error: unknown): boolean {
  return (
    isStatusError(error) &&
    error.code >= 400 &&
    error.code < 500 &&
    !isStatusError(error, 'Conflict', 'NotFound', 'TooManyRequests', 'Unauthorized')
  )
}

function readinessTimeoutOf(routes: readonly OnDemandService[]): number {
  return Math.max(...routes.map(({ settings }) => settings.proxy.readinessTimeoutMs || 300_000))
}

function isMain({ settings }: OnDemandService, id: string): boolean {
  const [main] = settings.workloads
  return main !== undefined && workloadId(main) === id
}

function refOfWorkload(routes: readonly OnDemandService[], id: string): ObjectRef | undefined {
  return routes[0]?.settings.workloads.find((workload) => workloadId(workload) === id)
}
