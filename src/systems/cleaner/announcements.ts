import type { StoredObject } from '../../kube/object.ts'
import { tracked } from '../../runtime/time/clock.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { ActPorts, Work } from './act.ts'
import { deletedEvent, sendEvent } from './cloud-event.ts'
import type { CleanerStatus } from './status.ts'

type Ports = Pick<ActPorts, 'clock' | 'events' | 'again' | 'send'>

/** How far a sink has been told of one Cleaner. */
interface Delivery {
  state: 'under-way' | 'delivered' | 'failed'
  tries: number
  /** Not to be tried again before. */
  nextAt: number
}

/** Tells sinks, beside the work on everything else: one that never answers keeps nobody waiting but its own Cleaner. */
export class Announcements {
  readonly #ports: Ports
  /** By the Cleaner's uid, until it is told or given up. */
  readonly #deliveries = new Map<string, Delivery>()

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /** Undefined when the sink knows, or was tried often enough; otherwise when to look again. */
  deliver({ self, decision }: Work): Outcome | undefined {
    const { sink } = decision
    if (!sink) return undefined
    const { uid } = self.metadata
    const now = this.#ports.clock.now()
    const delivery = this.#deliveries.get(uid) ?? { state: 'failed', tries: 0, nextAt: now }
    if (delivery.state === 'delivered') return this.#done(uid)
    if (delivery.state === 'under-way') return wakeAt(now + lookAgainMs)
    if (delivery.tries >= mostTries && !sink.required) return this.#done(uid)
    if (now < delivery.nextAt) return wakeAt(delivery.nextAt)
    this.#deliveries.set(uid, delivery)
    delivery.state = 'under-way'
    delivery.tries++
    void tracked(this.#ports.clock, () => this.#send(delivery, { self, decision }))
    return wakeAt(now + lookAgainMs)
  }

  #done(uid: string): undefined {
    this.#deliveries.delete(uid)
    return undefined
  }

  async #send(delivery: Delivery, { self, decision }: Work): Promise<void> {
    const { clock, events, again, send = sendEvent } = this.#ports
    const { url = '', required = false } = decision.sink ?? {}
    try {
      await send(url, noticeOf(self, decision.at))
      delivery.state = 'delivered'
      events.record(self, { type: 'Normal', reason: 'EventDelivered', message: `told ${new URL(url).host}` })
    } catch (error) {
      delivery.state = 'failed'
      delivery.nextAt = clock.now() + Math.min(longestPauseMs, 1000 * 2 ** delivery.tries)
      const tried = required ? `try ${delivery.tries}` : `try ${delivery.tries} of ${mostTries}`
      const message = `${tried}: ${(error as Error).message}`
      events.record(self, { type: 'Warning', reason: 'EventDeliveryFailed', message })
    }
    again(self)
  }
}

const mostTries = 5
const lookAgainMs = 15_000
const longestPauseMs = 300_000

function noticeOf(self: StoredObject, decidedAt: string): ReturnType<typeof deletedEvent> {
  const { evaluationTime = decidedAt, targets = [] } = self.status as CleanerStatus
  return deletedEvent({ self, evaluationTime, targets })
}
