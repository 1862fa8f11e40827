import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel, removeOwn } from '../../departures/subjects/own-machinery.ts'
import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { configMaps } from '../../kube/core-types.ts'
import { describeRef, refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { deletedEvent } from './cloud-event.ts'
import type { CleanerPorts } from './ports.ts'

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
export async function keepUndelivered(client: Client, undelivered: Undelivered, now: number): Promise<void> {
  const { self, url, event, giveUpAt, error } = undelivered
  const manifest: KubeObject = {
    apiVersion: 'v1',
    kind: configMaps.kind,
    metadata: {
      namespace: sojournNamespace,
      name: `sojourn-outbox-${self.metadata.uid}`,
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

export interface OutboxOptions {
  readonly client: Client
  readonly informers: Informers
  readonly events: EventRecorder
  readonly ports: ControllerPorts
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
    await client
      .patch(configMaps, { namespace: sojournNamespace, name }, { type: 'merge', body })
      .catch(ignoring('NotFound'))
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
