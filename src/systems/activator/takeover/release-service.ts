import { endpointSlices, services } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { sleep, type Clock } from '../../../runtime/time/clock.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { eventFor, TakeoverActions } from '../cluster/takeover-actions.ts'
import { podsServiceOf, takeoverStateOf, type TakeoverLookup } from './takeover-state.ts'
import { decideRelease, podsServiceName, sliceOwnerLabel, type TakeoverDelay } from '../decision/takeover.ts'

export interface ReleaseOptions {
  readonly clock: Clock
  readonly events: Pick<EventRecorder, 'record'>
  readonly signal?: AbortSignal
  /** Told how far it is: `done` is from 0 to 1. */
  readonly onProgress?: (done: number) => void
}

/** Releases Services without any proxy, as the last replica would; returns those it could not release, and why. */
export async function releaseServices(
  client: Client,
  taken: readonly StoredObject[],
  { clock, events, signal, onProgress }: ReleaseOptions,
): Promise<ReadonlyMap<StoredObject, string>> {
  const failed = new Map<StoredObject, string>()
  let left: readonly (readonly [service: StoredObject, waitsFor: string])[] = taken.map((service) => [service, ''])
  for (let movedAt = clock.now(); ;) {
    const waiting: (readonly [StoredObject, string])[] = []
    for (const [service] of left) {
      onProgress?.(1 - (left.length - waiting.length) / taken.length)
      try {
        const waitsFor = await releaseService(client, service, events)
        if (waitsFor !== undefined) waiting.push([service, waitsFor])
      } catch (error) {
        failed.set(service, error instanceof Error ? error.message : String(error))
      }
    }
    if (waiting.length < left.length) movedAt = clock.now()
    left = waiting
    if (left.length === 0 || clock.now() - movedAt >= patienceMs) break
    await sleep(clock, againMs, signal)
  }
  return new Map([...failed, ...left])
}

/** How long nothing may get any further before what is left is given up. Kubernetes lists pods within seconds. */
const patienceMs = 15_000
const againMs = 250
/** More than it takes from beginning to end. */
const maxSteps = 10

/** Takes all steps that need no waiting; returns what it waits for, or undefined when the Service is released. */
async function releaseService(
  client: Client,
  { metadata }: StoredObject,
  events: ReleaseOptions['events'],
): Promise<string | undefined> {
  const { name, namespace = '' } = metadata
  const actions = new TakeoverActions(client)
  for (let steps = 0; steps < maxSteps; steps++) {
    const { service, lookup } = await look(client, namespace, name)
    // Gone, and everything of ours goes with its owner.
    if (!service) return undefined
    const step = decideRelease(takeoverStateOf(lookup, service))
    if (step.do === 'wait') return delays[step.because] ?? step.because
    if (step.do === 'rest') return undefined
    try {
      await actions.carryOut(step, service, podsServiceOf(lookup, service))
      const news = eventFor(step)
      if (news) events.record(service, news)
    } catch (error) {
      // Changed since we looked: look again.
      if (!isStatusError(error, 'Conflict', 'AlreadyExists', 'NotFound')) throw error
    }
  }
  return 'it changes faster than it can be released; try again'
}

const delays: Partial<Record<TakeoverDelay, string>> = {
  'no-selector': 'its selector is lost: set its spec.selector, then drain again, which removes our EndpointSlices',
  'not-listed-again':
    'its selector is restored, but Kubernetes has not listed its pods yet, so our EndpointSlices stay; drain again later',
}

/** One Service and what is around it, as the server has it now. */
async function look(
  client: Client,
  namespace: string,
  name: string,
): Promise<{ readonly service: StoredObject | undefined; readonly lookup: TakeoverLookup }> {
  const names = [name, podsServiceName(name)]
  const [service, pods] = await Promise.all(
    names.map((each) => client.get<StoredObject>(services, { namespace, name: each }).catch(ignoring('NotFound'))),
  )
  const labelSelector = `${sliceOwnerLabel} in (${names.join(',')})`
  const { items } = await client.list<EndpointSlice>(endpointSlices, { namespace, labelSelector })
  return { service, lookup: lookupIn(pods ? [pods] : [], items) }
}

export function lookupIn(known: readonly StoredObject[], slices: readonly EndpointSlice[]): TakeoverLookup {
  const keyOf = (namespace = '', name = '') => `${namespace}/${name}`
  const byName = new Map(known.map((each) => [keyOf(each.metadata.namespace, each.metadata.name), each]))
  const byOwner = Map.groupBy(slices, ({ metadata: { namespace, labels = {} } }) =>
    keyOf(namespace, labels[sliceOwnerLabel]),
  )
  return {
    service: (namespace, name) => byName.get(keyOf(namespace, name)),
    slices: (namespace, name) => byOwner.get(keyOf(namespace, name)) ?? [],
  }
}
