import { keyOf, type Key } from '../../../kube/key.ts'
import { placeOf, refOf, type StoredObject } from '../../../kube/object.ts'
import type { Core } from '../cluster/core.ts'
import { sliceService } from '../cluster/observe.ts'
import { podsServiceBase } from '../decision/takeover.ts'
import type { Publisher } from '../feed/publisher.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { companionBase } from '../model/host-claims.ts'
import { serviceOfRoute } from '../model/service-registry.ts'
import type { TakeoverReconciler } from '../takeover/takeover-reconciler.ts'
import type { Governance } from './governance.ts'
import { serviceKey, type WorkQueues } from './work-queues.ts'

export interface TriggersParts extends Core {
  readonly publisher: Publisher
  readonly takeover: TakeoverReconciler
  readonly queues: WorkQueues
  readonly governance: Governance
  /** Reports what keeps the ready pods of a Service from being reached. */
  readonly noteFault: (service: string, fault: string) => void
}

/** Maps each change in the cluster, and each waiting request, to the Services and workloads to reconcile. */
export class Triggers {
  readonly #parts: TriggersParts

  constructor(parts: TriggersParts) {
    this.#parts = parts
  }

  /** Subscribes to the caches and to the other replicas; the result ends the subscription to the replicas. */
  watch(): () => void {
    const { caches, queues, peers } = this.#parts
    queues.services.watch(caches.services, ({ object }) => serviceKeys(object.metadata))
    caches.slices.subscribe(({ object }) => this.#slicesChanged(object))
    queues.workloads.watch(caches.autoscalers, ({ object }) => scaleTargetOf(object))
    return peers.onChange(({ lost }) => this.#peersChanged(lost))
  }

  /** A request is waiting for the pods of the Service that this route leads to. */
  requestWaiting(route: string, fault?: string): void {
    const { registry, queues, governance, noteFault } = this.#parts
    const service = registry.get(serviceOfRoute(route))
    if (!service) return
    if (fault !== undefined) noteFault(service.id, fault)
    queues.enqueueWorkloads([...service.settings.workloads, ...governance.requested(service.namespace).map(refOf)])
  }

  #slicesChanged(slice: EndpointSlice): void {
    const { registry, queues, publisher } = this.#parts
    const [id] = sliceService(slice)
    const [namespace = '', name = ''] = id?.split('/') ?? []
    queues.enqueueServices(registry.ofFallback(namespace, name).map(({ id: each }) => each))
    const base = companionBase(name)
    if (base !== undefined && registry.get(`${namespace}/${base}`)) queues.enqueueServices([`${namespace}/${base}`])
    this.#takeoverSlicesChanged(namespace, podsServiceBase(name) ?? name)
    for (const service of registry.ofBackend(namespace, name)) {
      publisher.publish(service.id)
      queues.enqueueWorkloads(service.settings.workloads)
    }
  }

  #takeoverSlicesChanged(namespace: string, name: string): void {
    const { registry, queues, caches, takeover } = this.#parts
    const object = caches.services.get(namespace, name)
    const id = `${namespace}/${name}`
    const service = registry.get(id)
    if (!service?.settings.takeover.enabled && !(object && takeover.hasTakeoverState(object))) return
    queues.enqueueServices([id, ...registry.ofBackend(namespace, name).map((each) => each.id)])
    if (service) queues.enqueueWorkloads(service.settings.workloads)
  }

  /** A lost replica took its knowledge of last uses with it: any workload may have been used until just now. */
  #peersChanged(lost: boolean): void {
    const { registry, queues, usage, publisher, now } = this.#parts
    for (const service of registry.all()) {
      if (lost) usage.note(service.id, now(), now())
      publisher.publish(service.id)
      queues.services.enqueue(serviceKey(service.id), 'initial')
      queues.enqueueWorkloads(service.settings.workloads)
    }
  }
}

/** A Service's own key and, if its name is one that the activator generates, that of the Service it was generated for. */
function serviceKeys({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): Key[] {
  const bases = [companionBase(name), podsServiceBase(name)].filter((base) => base !== undefined)
  return [name, ...bases].map((each) => serviceKey(`${namespace}/${each}`))
}

function scaleTargetOf({ metadata, spec }: StoredObject): Key[] {
  const { scaleTargetRef } = (spec ?? {}) as {
    readonly scaleTargetRef?: { apiVersion?: string; kind: string; name: string }
  }
  if (!scaleTargetRef?.name) return []
  const { apiVersion = 'apps/v1', kind, name } = scaleTargetRef
  return [keyOf({ apiVersion, kind, ...placeOf({ ...metadata, name }) })]
}
