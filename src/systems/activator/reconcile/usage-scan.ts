import { keyOf } from '../../../kube/key.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import type { Core } from '../cluster/core.ts'
import { notedReplicas, persistedLastUsed } from '../cluster/observe.ts'
import { wakeFailureOf } from '../model/service-conditions.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import type { WorkQueues } from './work-queues.ts'
import { persistEveryMs } from './workload-reconciler.ts'

export interface UsageScanParts extends Core {
  readonly queues: WorkQueues
}

/** Looks at the proxy's counters now and then, and has last uses written to the API where other replicas need them. */
export class UsageScan {
  readonly #parts: UsageScanParts

  constructor(parts: UsageScanParts) {
    this.#parts = parts
  }

  /** Enqueues every workload that was used since the last scan and needs a write, or its replicas back. */
  run(now: number): void {
    const { registry, usage, queues } = this.#parts
    for (const id of usage.scan(now)) {
      const service = registry.get(id)
      const due = service?.settings.workloads.filter(
        (each) =>
          this.#isFailing(service) ||
          this.#isReduced(each) ||
          this.#isStale(each, persistEveryMs(service.settings.scaling.ttlMs), now),
      )
      if (due) queues.enqueueWorkloads(due)
    }
  }

  /** Writes every last use that the API does not have yet, whatever its age. */
  async flush(now: number): Promise<void> {
    const { registry, log } = this.#parts
    const writes = [...registry.all()].flatMap(({ id, settings }) =>
      settings.workloads.map((ref) => this.#write(id, ref, now)),
    )
    for (const result of await Promise.allSettled(writes))
      if (result.status === 'rejected')
        log.error('could not write the last use of a workload', { error: result.reason as unknown })
  }

  async #write(id: string, ref: ObjectRef, now: number): Promise<void> {
    const { usage, workloads, actions } = this.#parts
    const { lastUsedAt } = usage.of([{ id }], now)
    const object = workloads.lastSeen(ref)
    const type = workloads.of(keyOf(ref))?.type
    if (!object || !type || lastUsedAt - (persistedLastUsed(object) ?? 0) < 1000) return
    await actions.mark({ type, ref }, { lastUsed: { at: lastUsedAt, seen: object } })
  }

  /** Its last wake failed: an answer shows that it works again. */
  #isFailing({ namespace, name }: OnDemandService): boolean {
    const service = this.#parts.caches.services.get(namespace, name)
    return service !== undefined && wakeFailureOf(service) !== undefined
  }

  /** Fewer replicas than before it was scaled down: it may be serving at its minimum, where no request ever waits. */
  #isReduced(workload: ObjectRef): boolean {
    const { workloads } = this.#parts
    const object = workloads.lastSeen(workload)
    return object !== undefined && (workloads.replicas(object) ?? Infinity) < (notedReplicas(object) ?? 0)
  }

  #isStale(workload: ObjectRef, everyMs: number, now: number): boolean {
    const object = this.#parts.workloads.lastSeen(workload)
    return object !== undefined && now - (persistedLastUsed(object) ?? 0) >= everyMs
  }
}
