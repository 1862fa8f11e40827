import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import type { StoredObject } from '../../kube/object.ts'
import { tracked } from '../../runtime/time/clock.ts'
import { deletedEvent } from './cloud-event.ts'
import type { CleanerStatus } from './decision/model.ts'
import type { Committed } from './decision/recorded-decision.ts'
import type { CleanerPorts } from './ports.ts'

/** How far the delivery of one Cleaner's CloudEvent is. */
interface Delivery {
  state: 'sending' | 'delivered' | 'failed'
  attempts: number
  /** The next attempt is not made before. */
  nextAt: number
}

/** Sends CloudEvents to sinks in the background: a sink that does not answer delays only its own Cleaner. */
export class SinkDeliveries {
  readonly #ports: CleanerPorts
  /** By the Cleaner's uid, until the event is delivered or given up. */
  readonly #deliveries = new Map<string, Delivery>()

  constructor(ports: CleanerPorts) {
    this.#ports = ports
  }

  /** Undefined when the event is delivered, or an optional sink has failed too often; otherwise when to look again. */
  deliver({ self, decision }: Committed): number | undefined {
    const { sink } = decision
    if (!sink) return undefined
    const { uid } = self.metadata
    const now = this.#ports.clock.now()
    const delivery = this.#deliveries.get(uid) ?? { state: 'failed', attempts: 0, nextAt: now }
    if (delivery.state === 'delivered') return this.#forget(uid)
    if (delivery.state === 'sending') return now + pollMs
    if (delivery.attempts >= maxAttempts && !sink.required) return this.#forget(uid)
    if (now < delivery.nextAt) return delivery.nextAt
    this.#deliveries.set(uid, delivery)
    delivery.state = 'sending'
    delivery.attempts++
    void tracked(this.#ports.clock, () => this.#send(delivery, { self, decision }))
    return now + pollMs
  }

  #forget(uid: string): undefined {
    this.#deliveries.delete(uid)
    return undefined
  }

  async #send(delivery: Delivery, { self, decision }: Committed): Promise<void> {
    const { clock, events, enqueue, send } = this.#ports
    const { url = '', required = false } = decision.sink ?? {}
    const host = URL.parse(url)?.host ?? url
    try {
      await send(url, eventOf(self, decision.at))
      delivery.state = 'delivered'
      const message = `delivered the CloudEvent to ${host}`
      events.record(self, { type: 'Normal', reason: 'EventDelivered', message })
    } catch (error) {
      delivery.state = 'failed'
      delivery.nextAt = clock.now() + backoffDelay(delivery.attempts, { baseMs: 2000, maxMs: 300_000 })
      const attempt = required ? `${delivery.attempts}` : `${delivery.attempts} of ${maxAttempts}`
      const message = `attempt ${attempt} to deliver the CloudEvent to ${host} failed: ${(error as Error).message}`
      events.record(self, { type: 'Warning', reason: 'EventDeliveryFailed', message })
    }
    enqueue(self)
  }
}

/** For sinks that are not required. */
const maxAttempts = 5
const pollMs = 15_000

function eventOf(self: StoredObject, decidedAt: string): ReturnType<typeof deletedEvent> {
  const { evaluationTime = decidedAt, targets = [] } = self.status as CleanerStatus
  return deletedEvent({ self, evaluationTime, targets })
}
