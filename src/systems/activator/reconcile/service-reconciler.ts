import type { StoredObject } from '../../../kube/object.ts'
import type { Key } from '../../../kube/key.ts'
import { setCondition, type ConditionClaim } from '../../../kube/conditions.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { isOurs as isOurMade, type Companion } from '../cluster/act.ts'
import type { Core } from '../cluster/core.ts'
import { annotation, isOnDemand, missingTarget, type Fault } from '../model/annotations.ts'
import { readServiceSettings, type SettingDefaults } from '../model/service-settings.ts'
import { companionName, innerHosts, type HostClaims } from '../model/host-claims.ts'
import { overlap } from '../model/domain-rules.ts'
import { backendsOf, portOf } from '../model/endpoints.ts'
import { podSlicesOf } from '../cluster/observe.ts'
import type { Address } from '../proxy/routing/route.ts'
import { routeConfig, type Publisher } from '../feed/publisher.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import {
  conditionsOf,
  domainConflictCondition,
  isOurs,
  onDemandCondition,
  takenOverCondition,
  withoutCondition,
} from '../model/service-conditions.ts'
import type { PortListeners } from '../takeover/port-listeners.ts'
import { podsServiceName, whyNotTakeover } from '../decision/takeover.ts'
import type { TakeoverReconciler } from '../takeover/takeover-reconciler.ts'
import type { WorkQueues } from './work-queues.ts'
import { filesOf, type WaitingFiles } from '../model/static-answers.ts'

export interface ServiceReconcilerParts extends Core {
  readonly publisher: Publisher
  readonly takeover: TakeoverReconciler
  readonly listeners: PortListeners
  readonly queues: WorkQueues
  readonly defaults: SettingDefaults
  readonly claims: HostClaims
  /** Stores new claims soon. */
  readonly onClaim: () => void
  /** Only one namespace is looked after, so that bare names are not ambiguous. */
  readonly namespaced: boolean
  /** The port the proxies take requests from the cluster at; undefined makes no companions. */
  readonly companionPort: number | undefined
  /** What is wrong with the certificate that a Service names. */
  readonly certificateFaults: (service: OnDemandService) => readonly Fault[]
  /** Whether anything may be taken over here. */
  readonly isTakeoverAvailable: boolean
  /** Services and their hosts are others than before. */
  readonly onRoutes: () => void
}

const filesEveryMs = 60_000
/** A Service may be applied before its workload: no fault is reported for this long. */
const absenceMs = 5000

/** Publishes a route for each annotated Service, and removes it with the annotation. */
export class ServiceReconciler {
  readonly #parts: ServiceReconcilerParts
  /** What ConfigMaps last held for those who wait, by the Service that names them. */
  readonly #files = new Map<string, WaitingFiles>()
  /** Since when Services miss a workload that they name. */
  readonly #missedSince = new Map<string, number>()

  constructor(parts: ServiceReconcilerParts) {
    this.#parts = parts
  }

  /** The hosts that lead to a Service. */
  hostsOf(id: string): readonly string[] {
    return this.#parts.claims.granted(id)
  }

  async reconcile({ namespace, name }: Key): Promise<Outcome> {
    const { services } = this.#parts.caches
    const object = services.get(namespace, name)
    const id = `${namespace}/${name}`
    if (!object || object.metadata.deletionTimestamp !== undefined || !isOnDemand(object))
      return this.#leave(id, object, { namespace, name })
    const { service, faults } = this.#understand(object, id)
    const missing = await this.#readFiles(service)
    await this.#admit(service, object)
    const { waitingFiles } = service.settings
    // Nothing tells of a change there: that would take the right to watch every ConfigMap.
    const filesAt = waitingFiles === undefined ? Infinity : this.#parts.now() + filesEveryMs
    if (!this.#parts.peers.leading) return lookAt(filesAt)
    await this.#accompany(object, service)
    const isTakeable = !faults.some((fault) => fault.annotation === annotation.takeover)
    const { claim, until } = await this.#parts.takeover.keep(object, isTakeable ? service : undefined)
    const { absent, isOpen } = this.#look(object, service)
    const all = [...faults, ...absent, ...missing, ...this.#parts.certificateFaults(service), ...this.#lost(id)]
    // That it can be woken is not claimed before that is known of its workloads.
    await this.#report(
      object,
      isOpen && all.length === 0 ? undefined : all,
      service.settings.takeover.enabled ? claim : 'none',
    )
    const lookAgainAt = isOpen ? this.#parts.now() + absenceMs : Infinity
    return lookAt(Math.min(filesAt, until ?? Infinity, lookAgainAt))
  }

  /** While callers are still led to the proxies, their way on stays open. */
  async #leave(id: string, object: StoredObject | undefined, place: Pick<Key, 'namespace' | 'name'>): Promise<Outcome> {
    const { takeover, peers, now } = this.#parts
    const hasTakeoverState = object !== undefined && takeover.hasTakeoverState(object)
    if (!hasTakeoverState) this.#forget(id)
    if (!peers.leading) return settled
    if (hasTakeoverState) {
      const { until } = await takeover.keep(object, undefined)
      return wakeAt(until ?? now() + 1000)
    }
    await this.#dismiss(place.namespace, place.name, object)
    return settled
  }

  #understand(
    object: StoredObject,
    id: string,
  ): { readonly service: OnDemandService; readonly faults: readonly Fault[] } {
    const { namespace = '', name } = object.metadata
    const settings = readServiceSettings(object, this.#parts.defaults)
    const backend = settings.backend === name ? object : this.#parts.caches.services.get(namespace, settings.backend)
    const faults = [...settings.faults]
    if (!backend) faults.push({ annotation: annotation.service, message: `there is no Service "${settings.backend}"` })
    const port = backend && portOf(backend, settings.port)
    if (backend && !port) {
      faults.push({
        annotation: annotation.port,
        message: settings.port === undefined ? 'the Service has no port' : `the Service has no port "${settings.port}"`,
      })
    }
    const { fallback } = settings
    if (fallback !== undefined && !this.#parts.caches.services.get(namespace, fallback)) {
      faults.push({ annotation: annotation.fallback, message: `there is no Service "${fallback}"` })
    }
    const refusal = settings.takeover.enabled ? this.#whyNotTakeover(object, settings.backend) : undefined
    if (refusal !== undefined) faults.push({ annotation: annotation.takeover, message: refusal })
    const { takeover } = this.#parts
    const pods = takeover.podsOf(namespace, settings.backend)
    const ports = takeover.takenPorts(object)
    const service = { id, namespace, name, settings, port, ...(pods === undefined ? {} : { pods }), ports }
    return { service, faults }
  }

  #whyNotTakeover(object: StoredObject, backend: string): string | undefined {
    const { name, namespace = '' } = object.metadata
    if (!this.#parts.isTakeoverAvailable) return 'the proxy is not set up to take Services over: see --takeover'
    if (backend !== name) return `is for the Service that has the pods: annotate "${backend}" itself`
    const listing = this.#parts.caches.services.get(namespace, podsServiceName(name))
    if (listing && !isOurMade(listing))
      return `a Service "${podsServiceName(name)}" that is not ours exists: rename or delete it`
    return whyNotTakeover(object)
  }

  async #admit(service: OnDemandService, object: StoredObject): Promise<void> {
    const { registry, usage, publisher, queues, now, claims, onClaim, onRoutes } = this.#parts
    const { uid, creationTimestamp } = object.metadata
    const { domains, proxy } = service.settings
    const inner = this.#innerHostsOf(service)
    const { id } = service
    const rivals = claims.rivals(id)
    const { pathPrefix } = proxy
    queues.enqueueServices(claims.set({ id, uid, createdAt: creationTimestamp, domains, inner, pathPrefix }))
    queues.enqueueServices(rivals.symmetricDifference(claims.rivals(id)))
    onClaim()
    queues.enqueueWorkloads(registry.set(service))
    onRoutes()
    const [hosts, slot] = [claims.granted(id), usage.slotOf(id, now())]
    const files = this.#files.get(id)
    const config = routeConfig(service, { hosts, slot, files, fallback: this.#fallbackOf(service) })
    publisher.setRoute(config)
    await this.#parts.listeners.ensure(service, config)
    publisher.publish(id)
  }

  /** Reads the ConfigMap with the waiting page; while that cannot be done, what it last held stays. */
  async #readFiles({ id, namespace, settings }: OnDemandService): Promise<readonly Fault[]> {
    const { waitingFiles: name } = settings
    if (name === undefined) {
      this.#files.delete(id)
      return []
    }
    const found = await this.#parts.actions.readConfigMap({ namespace, name })
    if (typeof found !== 'string') {
      const files = filesOf(found)
      this.#files.set(id, files)
      if (files.page) return []
      return [{ annotation: annotation.waitingPage, message: `ConfigMap "${name}" has no key index.html` }]
    }
    if (found === 'absent') this.#files.delete(id)
    const message =
      found === 'absent' ? `there is no ConfigMap "${name}"` : `ConfigMap "${name}" cannot be read: ${found}`
    return [{ annotation: annotation.waitingPage, message }]
  }

  /** A pod of the Service to fall back on or, where it lists none, the Service's own address. */
  #fallbackOf({ namespace, settings }: OnDemandService): Address | undefined {
    const other =
      settings.fallback === undefined ? undefined : this.#parts.caches.services.get(namespace, settings.fallback)
    const port = other && portOf(other, undefined)
    if (!other || !port) return undefined
    const [pod] = backendsOf(
      podSlicesOf(this.#parts.caches.slices, `${namespace}/${other.metadata.name}`),
      port,
    ).addresses
    const { clusterIP } = (other.spec ?? {}) as { readonly clusterIP?: string }
    return pod ?? (clusterIP && clusterIP !== 'None' ? { host: clusterIP, port: port.port } : undefined)
  }

  #forget(id: string): void {
    const { registry, usage, publisher, queues, claims, onClaim, onRoutes } = this.#parts
    queues.enqueueServices(claims.rivals(id))
    queues.enqueueServices(claims.remove(id))
    onClaim()
    publisher.removeRoute(id)
    this.#files.delete(id)
    this.#missedSince.delete(id)
    this.#parts.listeners.drop(id)
    this.#parts.takeover.forget(id)
    queues.enqueueWorkloads(registry.remove(id))
    onRoutes()
    usage.forget(id)
  }

  /** Which of a Service's workloads are not there; open while that cannot be told, or they may be about to come. */
  #look(
    { metadata: { annotations = {} } }: StoredObject,
    { id, settings }: OnDemandService,
  ): { readonly absent: readonly Fault[]; readonly isOpen: boolean } {
    const now = this.#parts.now()
    const found = settings.workloads.map((workload) => this.#parts.workloads.find(workload))
    const main = annotation.deployment in annotations ? annotation.deployment : annotation.target
    const absent = settings.workloads.flatMap(({ kind, name }, index): Fault[] => {
      if (found[index] !== 'absent') return []
      const key = index === 0 ? main : annotation.wakeWith
      return [{ annotation: key, message: `there is no ${kind} "${name}"` }]
    })
    const since = absent.length === 0 ? now : (this.#missedSince.get(id) ?? now)
    if (absent.length === 0) this.#missedSince.delete(id)
    else this.#missedSince.set(id, since)
    const isFresh = absent.length > 0 && now - since < absenceMs
    return { absent: isFresh ? [] : absent, isOpen: isFresh || found.includes('unknown') }
  }

  /** Domains that another Service owns. Cluster-internal names are not claimed by the user, so losing one is no fault. */
  #lost(id: string): Fault[] {
    const wanted = this.#parts.registry.get(id)?.settings.domains ?? []
    return this.#parts.claims
      .lost(id)
      .filter(({ domain }) => wanted.includes(domain))
      .map(({ domain, owner }) => ({ annotation: annotation.domains, message: this.#whyLost(id, domain, owner) }))
  }

  /** Names no other namespace: who runs what there is not for everybody. */
  #whyLost(id: string, domain: string, owner: string | undefined): string {
    const [namespace] = id.split('/')
    if (owner?.split('/')[0] !== namespace)
      return `"${domain}" belongs to another namespace; an administrator reserves it for this one by annotating the Namespace with sojourn.dev/domains`
    return `"${domain}" belongs to Service ${owner}, ${this.#isNameOf(domain, owner!) ? 'whose name it is' : 'which is older'}`
  }

  /** For every Service whose domain another one claims, also for the one that serves it. */
  #conflictOf({ metadata }: StoredObject): ConditionClaim | undefined {
    const { claims } = this.#parts
    const id = `${metadata.namespace}/${metadata.name}`
    const wanted = this.#parts.registry.get(id)?.settings.domains ?? []
    const lost = claims.lost(id).flatMap(({ domain }) => (wanted.includes(domain) ? [domain] : []))
    const kept = wanted.filter(
      (domain) =>
        !lost.includes(domain) &&
        [...claims.rivals(id)].some((other) => claims.lost(other).some((each) => overlap(each.domain, domain))),
    )
    if (lost.length + kept.length === 0) return undefined
    const parts = [
      ...(lost.length > 0 ? [`another Service has ${lost.join(', ')}`] : []),
      ...(kept.length > 0 ? [`another Service also asks for ${kept.join(', ')}, which stays here`] : []),
    ]
    return { type: domainConflictCondition, status: 'True', reason: 'DomainConflict', message: parts.join('; ') }
  }

  #isNameOf(domain: string, id: string): boolean {
    const service = this.#parts.registry.get(id)
    return service !== undefined && this.#innerHostsOf(service).includes(domain)
  }

  #innerHostsOf({ namespace, settings }: OnDemandService): readonly string[] {
    return innerHosts(namespace, settings.backend, this.#parts.namespaced)
  }

  async #accompany(object: StoredObject, service: OnDemandService): Promise<void> {
    const { companionPort, peers, actions, takeover, dryRun } = this.#parts
    // A Service that stands before the proxy by itself needs no other.
    if (dryRun || companionPort === undefined || service.settings.backend !== service.name) return
    const existing = this.#companionOf(service.namespace, service.name)
    await actions.ensureCompanion(object, existing, {
      addresses: peers.addresses,
      port: companionPort,
      isReleasing: takeover.isReleasing,
    })
  }

  async #dismiss(namespace: string, name: string, object: StoredObject | undefined): Promise<void> {
    const { peers, actions, dryRun } = this.#parts
    if (!peers.leading) return
    if (!dryRun) await actions.removeCompanion(this.#companionOf(namespace, name))
    const missing = object && missingTarget(object)
    if (object && missing) return this.#report(object, [missing], 'none')
    const conditions = object && conditionsOf(object)
    if (object && conditions?.some(isOurs)) {
      await actions.report(
        object,
        conditions.filter((condition) => !isOurs(condition)),
      )
    }
  }

  #companionOf(namespace: string, name: string): Companion {
    const { services, slices } = this.#parts.caches
    const companion = companionName(name)
    return { service: services.get(namespace, companion), slice: slices.get(namespace, companion) }
  }

  /** Undefined faults leave what was said of them as it is. */
  async #report(
    object: StoredObject,
    faults: readonly Fault[] | undefined,
    takeover: ConditionClaim | 'none' | undefined,
  ): Promise<void> {
    const { actions, events, now } = this.#parts
    const before = conditionsOf(object)
    const routed = faults ? setCondition(before, onDemandClaim(faults), now()) : before
    const isNews = routed !== before
    const taken =
      takeover === 'none'
        ? withoutCondition(routed, takenOverCondition)
        : takeover
          ? setCondition(routed, takeover, now())
          : routed
    const conflict = this.#conflictOf(object)
    const after = conflict ? setCondition(taken, conflict, now()) : withoutCondition(taken, domainConflictCondition)
    if (after === before) return
    await actions.report(object, after)
    if (conflict && after !== taken)
      events.record(object, { type: 'Warning', reason: 'DomainConflict', message: conflict.message })
    if (!isNews) return
    for (const fault of faults ?? []) {
      events.record(object, {
        type: 'Warning',
        reason: 'InvalidAnnotation',
        message: `${fault.annotation}: ${fault.message}`,
      })
    }
  }
}

function onDemandClaim(faults: readonly Fault[]): ConditionClaim {
  const type = onDemandCondition
  if (faults.length === 0)
    return { type, status: 'True', reason: 'Routed', message: 'Requests to this Service wake its workload.' }
  const message = faults.map((fault) => `${fault.annotation}: ${fault.message}`).join('; ')
  return { type, status: 'False', reason: 'InvalidAnnotation', message }
}

function lookAt(at: number): Outcome {
  return at === Infinity ? settled : wakeAt(at)
}
