import type { StoredObject } from '../../kube/object.ts'
import { tracked } from '../../runtime/clock.ts'
import { wakeAt, type Outcome } from '../../runtime/outcome.ts'
import type { ActPorts, Work } from './act.ts'
import { deletedEvent, sendEvent } from './cloud-event.ts'
import type { CleanerStatus } from './status.ts'

type Ports = Pick<ActPorts, 'clock' | 'events' | 'again' | 'send'>

/** How far a sink has been told of one Cleaner. */
interface Delivery {
  state: 'under-way' | 'delivered' | 'failed'
  tries: number
  error?: Error
}

/** Tells sinks, beside the work on everything else: one that never answers keeps nobody waiting but its own Cleaner. */
export class Announcements {
  readonly #ports: Ports
  /** By the Cleaner's uid, until it is told or given up. */
  readonly #deliveries = new Map<string, Delivery>()

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /** Undefined when the sink knows, or was tried often enough; otherwise when to look again. Throws to be tried again later. */
  deliver({ self, decision }: Work): Outcome | undefined {
    const { sink } = decision
    if (!sink) return undefined
    const { uid } = self.metadata
    const delivery = this.#deliveries.get(uid) ?? { state: 'failed', tries: 0 }
    const { error } = delivery
    if (delivery.state === 'delivered') return this.#done(uid)
    if (delivery.state === 'under-way') return wakeAt(this.#ports.clock.now() + lookAgainMs)
    if (error) {
      delete delivery.error
      if (sink.required || delivery.tries < mostTries) throw error
      return this.#done(uid)
    }
    this.#deliveries.set(uid, delivery)
    delivery.state = 'under-way'
    delivery.tries++
    void tracked(this.#ports.clock, () => this.#send(delivery, { self, decision }))
    return wakeAt(this.#ports.clock.now() + lookAgainMs)
  }

  #done(uid: string): undefined {
    this.#deliveries.delete(uid)
    return undefined
  }

  async #send(delivery: Delivery, { self, decision }: Work): Promise<void> {
    const { events, again, send = sendEvent } = this.#ports
    const { url = '', required = false } = decision.sink ?? {}
    try {
      await send(url, noticeOf(self, decision.at))
      delivery.state = 'delivered'
      events.record(self, { type: 'Normal', reason: 'EventDelivered', message: `told ${new URL(url).host}` })
    } catch (error) {
      delivery.state = 'failed'
      delivery.error = error as Error
      const tried = required ? `try ${delivery.tries}` : `try ${delivery.tries} of ${mostTries}`
      const message = `${tried}: ${(error as Error).message}`
      events.record(self, { type: 'Warning', reason: 'EventDeliveryFailed', message })
    }
    again(self)
  }
}

const mostTries = 5
const lookAgainMs = 15_000

function noticeOf(self: StoredObject, decidedAt: string): ReturnType<typeof deletedEvent> {
  const { evaluationTime = decidedAt, targets = [] } = self.status as CleanerStatus
  return deletedEvent({ self, evaluationTime, targets })
}
