import type { StoredObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/time.ts'
import { tracked } from '../../runtime/time/clock.ts'
import { deletedEvent } from './cloud-event.ts'
import type { CleanerStatus } from './decision/model.ts'
import type { Committed } from './decision/recorded-decision.ts'
import { keepUndelivered } from './outbox.ts'
import type { CleanerPorts } from './ports.ts'

/** Sends CloudEvents to sinks in the background: a sink that does not answer delays only its own Cleaner, and that only once. */
export class SinkDeliveries {
  readonly #ports: CleanerPorts
  /** By the Cleaner's uid: whether its event is sent or in the outbox, or still on its way. */
  readonly #isDone = new Map<string, boolean>()

  constructor(ports: CleanerPorts) {
    this.#ports = ports
  }

  /** Undefined when the event is delivered, or kept in the outbox; otherwise when to look again. */
  deliver({ self, decision }: Committed): number | undefined {
    if (!decision.sink) return undefined
    const { uid } = self.metadata
    const isDone = this.#isDone.get(uid)
    if (isDone) {
      this.#isDone.delete(uid)
      return undefined
    }
    if (isDone === undefined) {
      this.#isDone.set(uid, false)
      void tracked(this.#ports.clock, () => this.#send({ self, decision }))
    }
    return this.#ports.clock.now() + pollMs
  }

  async #send({ self, decision }: Committed): Promise<void> {
    const { client, clock, events, enqueue, send } = this.#ports
    const { url = '', required = false, timeoutSeconds = defaultTimeoutSeconds } = decision.sink ?? {}
    const { uid } = self.metadata
    const host = URL.parse(url)?.host ?? url
    const event = eventOf(self, decision.at)
    try {
      await send(url, event)
      const message = `delivered the CloudEvent to ${host}`
      events.record(self, { type: 'Normal', reason: 'EventDelivered', message })
      this.#isDone.set(uid, true)
    } catch (error) {
      const { message } = error as Error
      const giveUpAt = required ? undefined : (parseTime(decision.at) ?? clock.now()) + timeoutSeconds * 1000
      const text = `the CloudEvent to ${host} is kept in the outbox and sent again: ${message}`
      events.record(self, { type: 'Warning', reason: 'EventDeliveryFailed', message: text })
      const undelivered = { self, url, event, giveUpAt, error: message }
      const isKept = await keepUndelivered(client, undelivered, clock.now()).then(
        () => true,
        () => false,
      )
      // Where the outbox cannot be written, the Cleaner stays and sends the event again.
      if (!isKept) return void this.#isDone.delete(uid)
      this.#isDone.set(uid, true)
    }
    enqueue(self)
  }
}

const pollMs = 15_000
const defaultTimeoutSeconds = 86_400

function eventOf(self: StoredObject, decidedAt: string): ReturnType<typeof deletedEvent> {
  const { evaluationTime = decidedAt, targets = [] } = self.status as CleanerStatus
  return deletedEvent({ self, evaluationTime, targets })
}
