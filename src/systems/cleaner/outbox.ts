import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel, removeOwn } from '../../departures/subjects/own-machinery.ts'
import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { configMaps } from '../../kube/core-types.ts'
import { describeRef, refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import { Controller, type ClusterPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { CleanerPorts } from './ports.ts'
import { tracked } from '../../runtime/time/clock.ts'
import type { CleanerStatus } from './decision/model.ts'
import type { Committed } from './decision/recorded-decision.ts'
import { knownSecrets } from '../../runtime/observability/known-secrets.ts'
import type { Http } from '../../runtime/http/http.ts'

const outboxLabel = 'sojourn.dev/outbox'

/** A CloudEvent that its sink has not accepted. */
interface Undelivered {
  readonly self: StoredObject
  readonly url: string
  readonly event: ReturnType<typeof deletedEvent>
  /** When delivery is given up; undefined: never. */
  readonly giveUpAt: number | undefined
  readonly error: string
}

/** Keeps a CloudEvent in a ConfigMap of Sojourn's own namespace, so that neither the Cleaner nor its namespace has to stay for it. */
async function keepUndelivered(client: Client, undelivered: Undelivered, now: number): Promise<void> {
  const { self, url, event, giveUpAt, error } = undelivered
  const manifest: KubeObject = {
    apiVersion: 'v1',
    kind: configMaps.kind,
    metadata: {
      namespace: sojournNamespace,
      name: entryName(self),
      labels: { ...ownLabel, [outboxLabel]: 'cloudevent' },
    },
    data: {
      about: describeRef(refOf(self)),
      url,
      event: JSON.stringify(event),
      ...(giveUpAt === undefined ? {} : { giveUpAt: formatTime(giveUpAt) }),
      ...afterFailure(1, error, now),
    },
  }
  await client.create(configMaps, manifest).catch(ignoring('AlreadyExists'))
}

function entryName({ metadata }: StoredObject): string {
  return `sojourn-outbox-${metadata.uid}`
}

export interface OutboxOptions extends ClusterPorts {
  readonly events: EventRecorder
  readonly send: CleanerPorts['send']
}

/** Delivers what the outbox holds, again and again, until the sink accepts it or its limit is reached. */
export function outboxController({ client, informers, events, ports, send }: OutboxOptions): Controller {
  const labelSelector = `${outboxLabel}=cloudevent`
  const entries: Informer = informers.open(client, configMaps, { namespace: sojournNamespace, labelSelector })
  const results = ports.metrics.counter({
    name: 'sojourn_cloud_events_total',
    help: 'CloudEvents from the outbox by result: delivered, failed, given-up.',
    labels: ['result'],
  })
  const { clock, log } = ports

  async function reconcile(entry: StoredObject): Promise<Outcome> {
    const { about = '', url = '', event = '', giveUpAt, nextAt, attempts = '0', error = '' } = dataOf(entry)
    const now = clock.now()
    const dueAt = parseTime(nextAt) ?? now
    const limitAt = parseTime(giveUpAt) ?? Infinity
    const host = URL.parse(url)?.host ?? url
    if (now >= limitAt) {
      const message = `gave up the CloudEvent of ${about} to ${host} after ${attempts} attempts: ${error}`
      events.record(entry, { type: 'Warning', reason: 'EventGivenUp', message })
      log.error('cloud event given up', { about, host, attempts, error })
      results.inc({ result: 'given-up' })
      await removeOwn(client, configMaps, entry)
      return settled
    }
    if (now < dueAt) return wakeAt(Math.min(dueAt, limitAt))
    const failure = await attempt(url, event)
    results.inc({ result: failure === undefined ? 'delivered' : 'failed' })
    if (failure === undefined) {
      const message = `delivered the CloudEvent of ${about} to ${host}`
      events.record(entry, { type: 'Normal', reason: 'EventDelivered', message })
      await removeOwn(client, configMaps, entry)
      return settled
    }
    const tried = Number(attempts) + 1
    const message = `attempt ${tried} to deliver the CloudEvent of ${about} to ${host} failed: ${failure}`
    events.record(entry, { type: 'Warning', reason: 'EventDeliveryFailed', message })
    const data = afterFailure(tried, failure, clock.now())
    const { name, resourceVersion } = entry.metadata
    const body = { metadata: { resourceVersion }, data }
    await client.merge(configMaps, { namespace: sojournNamespace, name }, body).catch(ignoring('NotFound'))
    return wakeAt(Math.min(parseTime(data.nextAt) ?? now, limitAt))
  }

  async function attempt(url: string, event: string): Promise<string | undefined> {
    try {
      await send(url, JSON.parse(event) as ReturnType<typeof deletedEvent>)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  const controller = new Controller({
    name: 'cleaner-outbox',
    ports,
    concurrency: 4,
    reconcile: async ({ namespace, name }) => {
      const entry = entries.get(namespace, name)
      return entry ? reconcile(entry) : settled
    },
  })
  controller.watch(entries)
  return controller
}

function dataOf({ data }: StoredObject): Readonly<Record<string, string>> {
  return (data ?? {}) as Readonly<Record<string, string>>
}

function afterFailure(attempts: number, error: string, now: number) {
  const nextAt = now + backoffDelay(attempts, { baseMs: 5000, maxMs: 3_600_000 })
  return {
    attempts: String(attempts),
    error: error.slice(0, 1000),
    nextAt: formatTime(Math.ceil(nextAt / 1000) * 1000),
  }
}

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
      const until = giveUpAt === undefined ? 'until it is accepted' : `until ${formatTime(giveUpAt)}`
      const undelivered = { self, url, event, giveUpAt, error: message }
      const notKept = await keepUndelivered(client, undelivered, clock.now()).then(
        () => undefined,
        (refused: Error) => refused.message,
      )
      const place = `ConfigMap ${sojournNamespace}/${entryName(self)}`
      const next =
        notKept === undefined
          ? `is kept in ${place} and sent again ${until}: ${message}`
          : `failed, and the Cleaner stays to send it again, because ${place} cannot be written (${notKept}): ${message}`
      const text = `the CloudEvent to ${host} ${next}`
      events.record(self, { type: 'Warning', reason: 'EventDeliveryFailed', message: text })
      if (notKept !== undefined) return void this.#isDone.delete(uid)
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

/** What a sink learns once everything is deleted. */
export interface DeletedNotice {
  readonly self: StoredObject
  /** RFC 3339. */
  readonly evaluationTime: string
  readonly targets: readonly unknown[]
}

/** A CloudEvents 1.0 message in HTTP binary mode. Its id is the Cleaner's uid, so that sinks can drop duplicates. */
export function deletedEvent({ self, evaluationTime, targets }: DeletedNotice): {
  headers: Record<string, string>
  body: string
} {
  const { name, namespace = '', uid } = self.metadata
  return {
    headers: {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-type': 'conditionalTTL.deleted',
      'ce-source': 'cleaner.vtex.io/finalizer',
      'ce-id': uid,
      'ce-time': evaluationTime,
    },
    body: JSON.stringify({ name, namespace, targets }, withoutSecrets),
  }
}

function withoutSecrets(_: string, value: unknown): unknown {
  return typeof value === 'string' ? knownSecrets.removeFrom(value) : value
}

/** Posts the event; throws when the sink does not accept it within ten seconds. */
export async function sendEvent(
  http: Http,
  sink: string,
  { headers, body }: ReturnType<typeof deletedEvent>,
): Promise<void> {
  const { status } = await http({ method: 'POST', url: sink, headers, body: Buffer.from(body) })
  if (status < 200 || status > 299) throw new Error(`the sink answered ${status}`)
}
