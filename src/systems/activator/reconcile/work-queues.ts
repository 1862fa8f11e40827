import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { keyOf, type Key } from '../../../kube/key.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import { Controller } from '../../../runtime/controller/controller.ts'
import type { Outcome } from '../../../runtime/controller/outcome.ts'

export interface WorkQueuesPorts extends Pick<ProcessParts, 'clock' | 'log' | 'metrics'> {
  readonly reconcileService: (key: Key) => Promise<Outcome>
  readonly reconcileWorkload: (key: Key) => Promise<Outcome>
}

const backoff = { baseMs: 50, capMs: 2000 }

/** The activator's two controllers: one reconciles Services, the other the workloads behind them. */
export class WorkQueues {
  readonly services: Controller
  readonly workloads: Controller

  constructor({ clock, log, metrics, reconcileService, reconcileWorkload }: WorkQueuesPorts) {
    const ports = { clock, log, metrics }
    this.services = new Controller({ name: 'activator-services', reconcile: reconcileService, ports, backoff })
    this.workloads = new Controller({
      name: 'activator-workloads',
      reconcile: reconcileWorkload,
      ports,
      backoff,
      concurrency: 16,
    })
  }

  enqueueServices(ids: Iterable<string>): void {
    for (const id of ids) this.services.enqueue(serviceKey(id))
  }

  enqueueWorkloads(refs: readonly ObjectRef[]): void {
    for (const ref of refs) this.workloads.enqueue(keyOf(ref))
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.services.start(signal), this.workloads.start(signal)])
  }
}

/** The key of the Service with this id (`namespace/name`). */
export function serviceKey(id: string): Key {
  const [namespace = '', name = ''] = id.split('/')
  return { cluster: '', kind: 'Service', namespace, name }
}
