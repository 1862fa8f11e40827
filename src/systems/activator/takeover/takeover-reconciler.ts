import { sleep } from '../../../runtime/time/clock.ts'
import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { ConditionClaim } from '../../../kube/conditions.ts'
import { isOurs } from '../cluster/act.ts'
import { probeActivity, type Activity } from '../cluster/activity.ts'
import type { Core } from '../cluster/core.ts'
import { annotation } from '../model/annotations.ts'
import { portsOf, type EndpointSlice } from '../model/endpoints.ts'
import { companionBase } from '../model/host-claims.ts'
import type { PortListeners } from './port-listeners.ts'
import type { OnDemandService, TakenPort } from '../model/service-registry.ts'
import { takenOverCondition } from '../model/service-conditions.ts'
import type { Publisher } from '../feed/publisher.ts'
import { eventFor, TakeoverActions } from '../cluster/takeover-actions.ts'
import {
  decideDestination,
  decideTakeover,
  isBypassed,
  isInFront,
  isOurSlice,
  sliceOwnerLabel,
  type Destination,
  type Selector,
  type TakeoverDelay,
  type TakeoverObserved,
  type TakeoverStep,
} from '../decision/takeover.ts'
import {
  hasTakeoverState,
  podsServiceOf,
  selectorOf,
  slicesOf,
  takeoverStateOf,
  type TakeoverLookup,
} from './takeover-state.ts'

/** Ports that may be given out, both ends included. */
export interface PortRange {
  readonly from: number
  readonly to: number
}

export interface TakeoverReconcilerParts extends Core {
  readonly publisher: Publisher
  readonly listeners: PortListeners
  /** Nothing is written: neither taken over nor given back. */
  readonly isIdle: boolean
  /** The ports at which proxies may listen for Services; undefined takes nothing over. */
  readonly range: PortRange | undefined
  /** Whether any proxy takes requests: without one, Services are released. */
  readonly hasProxies: () => boolean
}

/** The condition to set on a Service, and when to reconcile it again. */
export interface TakeoverResult {
  readonly claim?: ConditionClaim
  readonly until?: number
}

/** How long callers may still be led where its slices no longer lead. */
const settleMs = 5000
const maxRestMs = 3_600_000
const retirePollMs = 50

interface SelectorConflict {
  times: number
  restUntil: number
  /** When we moved the selector again. */
  movedAt: number | undefined
  /** The field manager that set the selector, if the API server tells. */
  readonly who: string | undefined
}

/** Takes Services over and releases them, one step per reconcile; knows whether callers can bypass the proxy. */
export class TakeoverReconciler {
  readonly #parts: TakeoverReconcilerParts
  readonly #actions: TakeoverActions
  readonly #conflicts = new Map<string, SelectorConflict>()
  /** Since when a Service has been warm behind the proxies. */
  readonly #warmSince = new Map<string, number>()
  /** Since when all its callers have come through the proxies, as far as its slices tell. */
  readonly #inFrontSince = new Map<string, number | 'not-yet'>()
  #nextPort = 0
  /** No replica will stay behind: every Service is released. */
  #isReleasing = false

  get isReleasing(): boolean {
    return this.#isReleasing
  }

  readonly #lookup: TakeoverLookup

  constructor(parts: TakeoverReconcilerParts) {
    const { services, slices } = parts.caches
    this.#parts = parts
    this.#actions = new TakeoverActions(parts.client)
    this.#lookup = {
      service: (namespace, name) => services.get(namespace, name),
      slices: (namespace, name) => slices.byIndex('service', `${namespace}/${name}`),
    }
  }

  /** Takes the next step for a Service. `service` is how it is understood, where it is on demand and can be taken over. */
  async keep(object: StoredObject, service: OnDemandService | undefined): Promise<TakeoverResult> {
    const { range, now, isIdle } = this.#parts
    const { namespace = '', name } = object.metadata
    if (isIdle) return {}
    const wanted =
      service !== undefined &&
      service.settings.takeover.enabled &&
      range !== undefined &&
      !this.#isReleasing &&
      this.#parts.hasProxies()
    if (!wanted && !this.hasTakeoverState(object)) return {}
    const destination = wanted ? await this.#destination(object, service) : { to: 'pods' as const, until: undefined }
    const observed = await this.#observe(object, wanted ? service : undefined, destination.to)
    const step = decideTakeover(observed, now())
    const isDone = await this.#carryOut(observed, step)
    if (step.do === 'wait') {
      const until = step.until ?? now() + settleMs
      return {
        ...(wanted ? { claim: claimOf(step.because, this.#conflicts.get(`${namespace}/${name}`)?.who) } : {}),
        until: Math.min(until, destination.until ?? until),
      }
    }
    if (step.do === 'clear-foreign-slices') return { claim: claimOf('endpoints-of-others'), until: now() + settleMs }
    const until = isDone ? destination.until : now() + 100
    return {
      ...(step.do === 'rest' && wanted ? { claim: step.because === 'bypassed' ? bypassed : inFront } : {}),
      ...(until === undefined ? {} : { until }),
    }
  }

  /** Whether anything of a takeover is left of a Service, or it has been begun. */
  hasTakeoverState(object: StoredObject): boolean {
    return hasTakeoverState(this.#lookup, object)
  }

  /** The ports of a Service for which the proxies listen, as all replicas can tell. */
  takenPorts(object: StoredObject): readonly TakenPort[] {
    const pods = podsServiceOf(this.#lookup, object)
    const given = pods ? proxyPortsOf(pods) : new Map<string, number>()
    return portsOf(object).flatMap((port) => {
      const listen = given.get(port.name ?? '')
      return listen === undefined ? [] : [{ ...port, listen }]
    })
  }

  /** The Service that lists the pods of this one, once it does. */
  podsOf(namespace: string, name: string): string | undefined {
    const object = this.#lookup.service(namespace, name)
    const pods = object && podsServiceOf(this.#lookup, object)
    if (!pods) return undefined
    const isListed = this.#lookup.slices(namespace, pods.metadata.name).length > 0
    return isListed || !selectorOf(object) ? pods.metadata.name : undefined
  }

  /** Whether callers that are meant to come through the proxy may reach the pods unseen. */
  isBypassed({ id, namespace, name, settings }: OnDemandService): boolean {
    const { usage, now, isIdle } = this.#parts
    // A dry run and a forecast take nothing over: they assume that it was done.
    if (!settings.takeover.enabled || isIdle) return false
    const object = this.#lookup.service(namespace, name)
    const since = this.#inFrontSince.get(id)
    if (!object || !isInFront({ selector: selectorOf(object), ...slicesOf(this.#lookup, object) })) {
      this.#inFrontSince.set(id, 'not-yet')
      return true
    }
    if (typeof since === 'number') return now() - since < settleMs
    this.#inFrontSince.set(id, now())
    // Uses before the proxies were in front were not seen: the last may have been just now.
    if (since === 'not-yet') usage.note(id, now(), now())
    return true
  }

  forget(id: string): void {
    this.#conflicts.delete(id)
    this.#warmSince.delete(id)
    this.#inFrontSince.delete(id)
  }

  /**
   * Waits until no EndpointSlice of ours lists this replica any more, or time is up. The last replica releases every Service
   * that is taken over. `address`: where the cluster reached it before it began to retire, if known.
   */
  async retire(address: string | undefined, withinMs: number, enqueue: (ids: Iterable<string>) => void): Promise<void> {
    const { clock, peers, caches } = this.#parts
    const until = clock.now() + withinMs
    const takenOver = () => caches.services.list().filter((service) => this.hasTakeoverState(service))
    const listing = () => caches.slices.list().filter((slice) => isOurSlice(slice) && lists(slice, address))
    for (;;) {
      // Replicas that retire at the same time learn of each other one by one, so this may become true late.
      this.#isReleasing ||= peers.isLast
      const taken = takenOver().map(({ metadata: { namespace = '', name } }) => `${namespace}/${name}`)
      const accompanied = listing().flatMap(({ metadata: { namespace = '', labels = {} } }) => {
        const base = companionBase(labels[sliceOwnerLabel] ?? '')
        return base === undefined ? [] : [`${namespace}/${base}`]
      })
      enqueue([...taken, ...accompanied])
      const isDone = this.#isReleasing ? taken.length + accompanied.length === 0 : listing().length === 0
      if (isDone || clock.now() >= until) return
      await sleep(clock, retirePollMs)
    }
  }

  async #destination(
    object: StoredObject,
    service: OnDemandService,
  ): Promise<{ readonly to: Destination; readonly until: number | undefined }> {
    const { usage, now, publisher } = this.#parts
    const { id, settings } = service
    const current = isBypassed(slicesOf(this.#lookup, object)) ? 'pods' : 'proxies'
    const isWarm = publisher.isReachable(service) && !publisher.isAsleep(service)
    if (!isWarm) this.#warmSince.delete(id)
    else if (!this.#warmSince.has(id)) this.#warmSince.set(id, now())
    const activity = current === 'pods' && this.#warmSince.has(id) ? await this.#activityOf(object, service) : undefined
    const { lastUsedAt } = usage.of([service], now())
    const warmSince = this.#warmSince.get(id)
    const decided = decideDestination(
      { current, warmSince, bypassAfterMs: settings.takeover.bypassAfterMs, lastUsedAt, activity },
      now(),
    )
    if (current === 'pods' && decided.to === 'proxies') {
      this.#warmSince.delete(id)
      usage.note(id, now(), now())
    }
    return decided
  }

  async #activityOf(object: StoredObject, service: OnDemandService): Promise<Activity['is']> {
    const { caches, usage, now, events } = this.#parts
    if (!service.settings.activityProbe) return 'unknown'
    const activity = await probeActivity(service, caches)
    if (activity.is !== 'idle') usage.note(service.id, now(), now())
    if (activity.is === 'unknown')
      events.record(object, {
        type: 'Warning',
        reason: 'ActivityUnknown',
        message: `${annotation.activityProbe}: ${activity.why}. It stays awake.`,
      })
    return activity.is
  }

  async #observe(
    object: StoredObject,
    service: OnDemandService | undefined,
    destination: Destination,
  ): Promise<TakeoverObserved> {
    const state = takeoverStateOf(this.#lookup, object)
    const pods = podsServiceOf(this.#lookup, object)
    const common = { ...state, destination, proxyPorts: pods ? proxyPortsOf(pods) : new Map<string, number>() }
    if (!service) return { ...common, wanted: false, proxies: [], restUntil: 0 }
    const { selector, savedSelector } = state
    return {
      ...common,
      wanted: true,
      podsService: pods && this.#isOutdated(object, pods, selector ?? savedSelector) ? 'outdated' : state.podsService,
      proxies: await this.#proxies(service, object),
      restUntil: selector && savedSelector ? await this.#restUntil(service.id, object, this.#parts.now()) : 0,
    }
  }

  /** Another writer restored the selector: back off, each time for longer. */
  async #restUntil(id: string, object: StoredObject, now: number): Promise<number> {
    const known = this.#conflicts.get(id)
    if (known && known.movedAt === undefined) return known.restUntil
    const isAgain = known?.movedAt !== undefined && now - known.movedAt < maxRestMs
    const times = isAgain ? known.times + 1 : 1
    const restMs = backoffDelay(times, { baseMs: 10_000, maxMs: maxRestMs })
    const who = await this.#actions.selectorManager(object)
    this.#conflicts.set(id, { times, restUntil: now + restMs, movedAt: undefined, who })
    const { message } = claimOf('selector-reapplied', who)
    this.#parts.events.record(object, { type: 'Warning', reason: 'SelectorReapplied', message })
    return now + restMs
  }

  /** Where all its ports are listened at, by the word of each replica. */
  async #proxies(service: OnDemandService, object: StoredObject): Promise<readonly string[]> {
    const { peers, listeners } = this.#parts
    const ports = service.ports ?? []
    if (ports.length === 0 || ports.length !== portsOf(object).length) return []
    const others = await peers.listening(service.id)
    return listeners.listens(service) && peers.address !== undefined ? [...others, peers.address] : others
  }

  async #carryOut(observed: TakeoverObserved, step: TakeoverStep): Promise<boolean> {
    try {
      await this.#act(observed, step)
      return true
    } catch (error) {
      // Changed since we looked: look again.
      if (isStatusError(error, 'Conflict', 'AlreadyExists', 'NotFound')) return false
      throw error
    }
  }

  async #act({ service }: TakeoverObserved, step: TakeoverStep): Promise<void> {
    const { events, log, now } = this.#parts
    const id = `${service.metadata.namespace ?? ''}/${service.metadata.name}`
    const pods = podsServiceOf(this.#lookup, service)
    if (step.do === 'ensure-pods-service')
      return this.#actions.ensurePodsService(
        service,
        { selector: step.selector, proxyPorts: this.#givePorts(service, pods) },
        pods,
      )
    if (step.do === 'write-slices') log.info('leads callers', { service: id, to: step.to })
    const conflict = this.#conflicts.get(id)
    if (step.do === 'move-selector' && conflict) conflict.movedAt = now()
    await this.#actions.carryOut(step, service, pods)
    const news = eventFor(step)
    if (news) events.record(service, news)
  }

  /** A port of the proxies for each port of a Service: the one it has, else a free one. */
  #givePorts(service: StoredObject, pods: StoredObject | undefined): ReadonlyMap<string, number> {
    const { caches, listeners } = this.#parts
    const { from, to } = this.#parts.range!
    const had = pods ? proxyPortsOf(pods) : new Map<string, number>()
    const taken = new Set(
      caches.services
        .list()
        .filter(isPodsService)
        .flatMap((each) => [...proxyPortsOf(each).values()]),
    )
    const give = () => {
      for (let tried = 0; tried <= to - from; tried++) {
        const port = from + (this.#nextPort++ % (to - from + 1))
        if (taken.has(port) || listeners.isUnusable(port)) continue
        taken.add(port)
        return port
      }
      throw new Error(`all ports from ${from} to ${to} are taken: widen --takeover-ports`)
    }
    return new Map(
      portsOf(service).map(({ name = '' }) => {
        const port = had.get(name)
        return [name, port === undefined || listeners.isUnusable(port) ? give() : port]
      }),
    )
  }

  #isOutdated(object: StoredObject, pods: StoredObject, selector: Selector | undefined): boolean {
    const shape = (of: StoredObject) =>
      portsOf(of).map(({ name = '', port, targetPort = port, appProtocol }) => [name, port, targetPort, appProtocol])
    const given = proxyPortsOf(pods)
    const isGiven = portsOf(object).every(({ name = '' }) => {
      const port = given.get(name)
      return port !== undefined && !this.#parts.listeners.isUnusable(port)
    })
    const owner = pods.metadata.ownerReferences?.[0]?.uid
    return (
      !isGiven ||
      owner !== object.metadata.uid ||
      !deepEqual(shape(object), shape(pods)) ||
      (selector !== undefined && !deepEqual(selectorOf(pods), selector))
    )
  }
}

const inFront = claim('True', 'InFront', 'Its callers come through the proxy.')
const bypassed = claim('True', 'Bypassed', 'Its callers go straight to its pods.')

function claim(status: 'True' | 'False', reason: string, message: string): ConditionClaim {
  return { type: takenOverCondition, status, reason, message }
}

const delays: Readonly<Record<TakeoverDelay, readonly [reason: string, message: string]>> = {
  'no-selector': [
    'NoSelector',
    `Its spec has no selector, and ${annotation.selector} names none: the activator cannot tell which pods are its own. Set either.`,
  ],
  'no-proxy': ['NoProxy', 'No proxy takes connections for it yet; its callers go straight to its pods.'],
  'pods-not-listed': ['PodsNotListed', 'Its pods are not listed yet by the Service that lists them for the proxy.'],
  'endpoints-of-others': [
    'EndpointsOfOthers',
    'It has EndpointSlices that are not ours, which lead past the proxy; it stays awake.',
  ],
  'not-listed-again': ['NotListedAgain', 'Its pods are not listed again yet.'],
  'selector-reapplied': [
    'SelectorReapplied',
    'set its selector again, so its callers bypass the proxy and it stays awake. ' +
      `Remove /spec/selector from the applied manifest and write it in ${annotation.selector}, or ignore differences in it.`,
  ],
}

/** `who` set the selector again, if that is what delays it. */
function claimOf(because: TakeoverDelay, who = 'Another writer'): ConditionClaim {
  const [reason, message] = delays[because]
  return claim('False', reason, because === 'selector-reapplied' ? `${who} ${message}` : message)
}

function isPodsService(service: StoredObject): boolean {
  return isOurs(service) && annotation.proxyPorts in (service.metadata.annotations ?? {})
}

function proxyPortsOf({ metadata: { annotations = {} } }: StoredObject): ReadonlyMap<string, number> {
  try {
    const ports = JSON.parse(annotations[annotation.proxyPorts] ?? '{}') as Record<string, unknown>
    return new Map(Object.entries(ports).filter((entry): entry is [string, number] => typeof entry[1] === 'number'))
  } catch {
    return new Map()
  }
}

function lists({ endpoints }: EndpointSlice, address: string | undefined): boolean {
  return (endpoints ?? []).some(({ addresses = [] }) => address !== undefined && addresses.includes(address))
}
