import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import type { Key } from '../../kube/key.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Controller, type ClusterPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { removeOwn } from '../subjects/own-machinery.ts'
import { pageTypes, recordOfPage } from './pages.ts'
import { pageLabel, recordsOnly } from './record.ts'

export interface SettleOptions extends ClusterPorts {
  /** The client of a cluster by name; undefined while that cluster is not available. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** The systems whose records are settled: this process may lack the right to read the objects of others. Defaults to all. */
  readonly systems?: readonly string[]
  /** How long records are kept. Defaults to 30 days. */
  readonly keepMs?: number
}

/** Completes records that a crash or a finalizer left open, and deletes records and pages after `keepMs`. */
export function settleController(options: SettleOptions): Controller {
  const { client, informers, ports, clusterClient, systems, keepMs = 30 * 86_400_000 } = options
  const records = informers.open<Departure>(client, departure.type, recordsOnly)
  const pages = pageTypes.map((type) => ({
    type,
    informer: informers.open(client, type, { labelSelector: pageLabel, metadataOnly: true }),
  }))
  const controller = new Controller({ name: 'departures', reconcile, ports, concurrency: 2 })
  controller.watch(records)
  for (const { informer } of pages) controller.watch(informer)
  return controller

  async function reconcile({ namespace, name }: Key): Promise<Outcome> {
    const now = ports.clock.now()
    for (const { type, informer } of pages) {
      const page = informer.get(namespace, name)
      if (page) return lookAtPage(type, page, now)
    }
    const record = records.get(namespace, name)
    if (!record || record.metadata.deletionTimestamp) return settled
    const step = nextStep(record, { now, keepMs })
    switch (step.do) {
      case 'wait':
        return wakeAt(step.until)
      case 'prune':
        await removeOwn(client, departure.type, record)
        return settled
      case 'look':
        return !systems || systems.includes(record.spec.by.system) ? look(record, now) : settled
    }
  }

  /** A page is deleted after its record, which outlives `keepMs` while it is open. */
  async function lookAtPage(type: ResourceType, page: StoredObject, now: number): Promise<Outcome> {
    const { namespace = '', name, creationTimestamp, deletionTimestamp } = page.metadata
    if (deletionTimestamp) return settled
    const until = (parseTime(creationTimestamp) ?? now) + keepMs
    if (now < until) return wakeAt(until)
    if (records.get(namespace, recordOfPage(name))) return wakeAt(now + pagePatienceMs)
    await removeOwn(client, type, page)
    return settled
  }

  async function look(record: Departure, now: number): Promise<Outcome> {
    const living = await find(record)
    const again = wakeAt(now + pauseOf(now - (parseTime(record.spec.recordedAt) ?? now)))
    if (living === 'unknown') return again
    if (living === undefined) {
      await writeStatus(record, { phase: 'Gone', goneAt: formatTime(now) })
    } else if (living.metadata.deletionTimestamp) {
      const waitingFor = [...(living.metadata.finalizers ?? [])]
      if (record.status?.phase !== 'Leaving' || waitingFor.join() !== (record.status.waitingFor ?? []).join())
        await writeStatus(record, { phase: 'Leaving', waitingFor })
    } else {
      await writeStatus(record, { phase: 'Abandoned', message: 'the deletion was never carried out' })
    }
    return again
  }

  /** The object of a record if it still exists with the same uid; `unknown` if its cluster or kind cannot be read. */
  async function find({ spec }: Departure): Promise<StoredObject | undefined | 'unknown'> {
    const { cluster = '', namespace, name, uid } = spec.object
    const home = cluster === '' ? client : clusterClient?.(cluster)
    const type = await home?.discovery.typeOf(spec.object).catch(() => undefined)
    if (!home || !type) return 'unknown'
    const found = await home.get<StoredObject>(type, placeOf({ name, namespace })).catch(ignoring('NotFound'))
    return found?.metadata.uid === uid ? found : undefined
  }

  async function writeStatus({ metadata }: Departure, status: NonNullable<Departure['status']>): Promise<void> {
    const { namespace = '', name } = metadata
    await client
      .merge(departure.type, { namespace, name }, { status }, { subresource: 'status' })
      .catch(ignoring('NotFound'))
  }
}

/** How long after a record was written the controller checks whether its delete was carried out. */
const patienceMs = 60_000
/** How long after the delete an object that waits for finalizers is first checked. */
const leavingPatienceMs = 2000
/** How long until the next check. Grows with the age of the record: most finalizers are removed within moments. */
const pauseOf = (ageMs: number) => Math.min(3_600_000, Math.max(leavingPatienceMs, ageMs / 10))
/** How long until an expired page is checked again while its record exists. */
const pagePatienceMs = 3_600_000

/** What a record needs next. */
export function nextStep(
  { spec, status }: Pick<Departure, 'spec' | 'status'>,
  { now, keepMs }: { readonly now: number; readonly keepMs: number },
): { readonly do: 'prune' | 'look' } | { readonly do: 'wait'; readonly until: number } {
  const recordedAt = parseTime(spec.recordedAt) ?? now
  const isOpen = status?.phase === undefined || status.phase === 'Recorded' || status.phase === 'Leaving'
  const lookAt = recordedAt + (status?.phase === 'Leaving' ? leavingPatienceMs : patienceMs)
  if (isOpen) return now < lookAt ? { do: 'wait', until: lookAt } : { do: 'look' }
  return now >= recordedAt + keepMs ? { do: 'prune' } : { do: 'wait', until: recordedAt + keepMs }
}
