import { customResourceDefinitions } from '../../kube/core-types.ts'
import type { Client } from '../../client/client.ts'
import type { Door } from '../../departures/door/door.ts'
import { keyOf, keyToString, type Key } from '../../kube/key.ts'
import { groupResource, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { formatTime, parseLongDuration, parseTime } from '../../kube/time.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { Act, type ActPorts } from './act.ts'
import { decide, expiryOf, type Decision, type Observed, type Resolution } from './decision/decide.ts'
import { fits, isCommitted, recordDecision } from './decision-record.ts'
import { isAnyInstalled } from './helm/uninstall.ts'
import type { Model, Target } from './decision/model.ts'
import { locate, resolveCached, resolveLive, type Located } from './observe.ts'
import { readModel } from './decision/read-model.ts'
import { evaluatedTargets, isHeld, resolvedNames, statusFor, type CleanerStatus } from './status.ts'
import { TargetWatches } from './target-watches.ts'

export interface CleanerOptions {
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** Cleaner or ConditionalTTL: one controller each, the same in all but the type. */
  readonly type: ResourceType
  readonly mine?: (key: Key) => boolean
  /** Tells sinks. Defaults to the network. */
  readonly send?: ActPorts['send']
  /** How many Cleaners are worked on at once. Defaults to 8. */
  readonly concurrency?: number
}

/** Looks after the Cleaners of one kind: waits for their time, watches their targets, lets them leave. */
export function cleanerController(options: CleanerOptions): Controller {
  const { client, informers, door, events, ports, type, concurrency = 8 } = options
  const cleaners = informers.open(client, type)
  const act = new Act(
    {
      client,
      door,
      clock: ports.clock,
      events,
      again: (self) => controller.enqueue(keyOf(self, client.cluster)),
      ...(options.send ? { send: options.send } : {}),
    },
    type,
  )
  const controller = new Controller({
    name: `cleaner-${type.kind.toLowerCase()}`,
    reconcile,
    ports,
    concurrency,
    ...(options.mine ? { mine: options.mine } : {}),
  })
  const watches = new TargetWatches({ client, informers }, (key) => controller.enqueue(key))
  watchKinds(informers, client, () => retryKindless())
  /** Cleaners that wait for a kind to be served. */
  const kindless = new Map<string, Key>()
  controller.watch(cleaners, ({ object, initial }) => (initial ? [] : [keyOf(object, client.cluster)]))
  cleaners.whenSynced().then(begin, () => {})
  door.onChange(retryHeld)
  return controller

  /** Nobody who resumes departures, closes the breaker or opens a window should have to wait for the next look. */
  function retryHeld(): void {
    for (const object of cleaners.list()) if (isHeld(object)) controller.enqueue(keyOf(object, client.cluster))
  }

  /** After a start, or days without one: those whose time was up first come first. */
  function begin(): void {
    for (const object of byExpiry(cleaners.list())) controller.enqueue(keyOf(object, client.cluster), 'initial')
  }

  async function reconcile(key: Key): Promise<Outcome> {
    const self = cleaners.get(key.namespace, key.name)
    if (!self) return forget(key)
    const reading = readModel(self)
    const model = 'model' in reading ? reading.model : undefined
    if (self.metadata.deletionTimestamp) {
      watches.set(key, [])
      return act.finalize(self)
    }
    if (isCommitted(self) && model) return act.commit(self, model)
    const observation = await observe(key, self, model)
    // A cache that is being filled tells nothing yet, and calls when it is full: nothing is to be written that will not last.
    if (observation === 'unfilled') return settled
    const observed: Observed = { self, reading, resolutions: observation.resolutions }
    const decision = decide(observed, ports.clock.now())
    return decision.do === 'leave' && model ? leave(key, self, model) : report(key, observed, decision, observation)
  }

  /** Everything that conditions see, from caches; nothing before the time is up, and no watches either. */
  async function observe(key: Key, self: StoredObject, model: Model | undefined) {
    const located = new Map<string, Located>()
    const resolutions = new Map<string, Resolution>()
    if (!model || model.suspend || ports.clock.now() < (expiryOf(self, model) ?? Infinity)) {
      watches.set(key, [])
      return { located, resolutions }
    }
    const evaluated = model.targets.filter(({ evaluate }) => evaluate)
    for (const target of evaluated) located.set(target.name, await locate(client, target, key.namespace))
    watches.set(
      key,
      evaluated.flatMap((target) => interestIn(target, located.get(target.name))),
    )
    for (const target of evaluated) {
      const place = located.get(target.name) ?? { found: 'no-such-kind' }
      const informer = 'type' in place ? watches.informer(place.type) : undefined
      if (informer && !informer.synced && !informer.trouble) return 'unfilled'
      resolutions.set(
        target.name,
        'type' in place && informer ? resolveCached(informer, target, place) : notFound(place),
      )
    }
    return { located, resolutions }
  }

  async function report(
    key: Key,
    observed: Observed,
    decision: Decision,
    { located }: { located: ReadonlyMap<string, Located> },
  ): Promise<Outcome> {
    const { self, reading, resolutions } = observed
    const now = ports.clock.now()
    const resolved =
      'model' in reading ? resolvedNames(reading.model, resolutions, (name) => pluralOf(located.get(name))) : []
    if (decision.because === 'kind-not-found') kindless.set(keyToString(key), key)
    tellOfSkew(self, now)
    await write(key, self, statusFor(self, decision, { now, resolved }))
    if (decision.do !== 'wait') return settled
    // When its time is up is certain. A hint is not, and can only cost lateness: nobody relies on one for longer than a day.
    if (decision.because === 'not-expired' && decision.until !== undefined) return wakeAt(decision.until)
    return wakeAt(Math.min(decision.until ?? Infinity, now + longestSleepMs))
  }

  function tellOfSkew(self: StoredObject, now: number): void {
    const createdAt = parseTime(self.metadata.creationTimestamp) ?? now
    if (createdAt <= now + 60_000) return
    const message = `created at ${self.metadata.creationTimestamp}, but it is ${formatTime(now)}: clocks differ`
    events.record(self, { type: 'Warning', reason: 'ClockSkew', message })
  }

  /** All is true by the caches: look once more at the cluster itself, ask the door, write the decision down, and only then begin. */
  async function leave(key: Key, self: StoredObject, model: Model): Promise<Outcome> {
    const { located, resolutions } = await resolveAll(model, key.namespace)
    const now = ports.clock.now()
    const observed = { self, reading: { model }, resolutions }
    const decision = await decideOnReleases(observed, { model, now, namespace: key.namespace })
    if (decision.do !== 'leave') return report(key, observed, decision, { located })
    const recorded = recordDecision(self, {
      model: decision.onlySelf ? { ...model, releases: [] } : model,
      resolutions,
      now,
    })
    if (!fits(recorded)) return report(key, observed, tooMany, { located })
    const verdict = await door.peek(act.selfRequest(self, model, 'as-known'))
    if (verdict.result === 'held' || verdict.result === 'refused') return act.reportHeld(self, verdict)
    if (verdict.result !== 'allowed') return settled
    const status: CleanerStatus = {
      ...statusFor(self, decision, { now, resolved: [] }),
      evaluationTime: recorded.at,
      targets: evaluatedTargets(model, resolutions),
      decision: recorded,
    }
    const written = await write(key, self, status)
    return written ? act.commit(written, model) : settled
  }

  /** Where only the Cleaner itself would go, a release that is still there keeps it. */
  async function decideOnReleases(
    observed: Observed,
    { model, now, namespace }: { model: Model; now: number; namespace: string },
  ): Promise<Decision> {
    const decision = decide(observed, now)
    if (decision.do !== 'leave' || !decision.onlySelf) return decision
    const isReleaseLeft = await isAnyInstalled(client, namespace, model.releases)
    return isReleaseLeft ? decide({ ...observed, isReleaseLeft }, now) : decision
  }

  /** Every target as the cluster has it now: those that are evaluated, and those that are only deleted. */
  async function resolveAll({ targets }: Model, namespace: string) {
    const located = new Map<string, Located>()
    const resolutions = new Map<string, Resolution>()
    for (const target of targets) {
      if (!target.evaluate && !target.delete) continue
      const place = await locate(client, target, namespace)
      located.set(target.name, place)
      resolutions.set(target.name, 'type' in place ? await resolveLive(client, target, place) : place)
    }
    return { located, resolutions }
  }

  async function write(key: Key, self: StoredObject, status: CleanerStatus): Promise<StoredObject | undefined> {
    const written = await act.writeStatus(self, status)
    if (written) controller.expect(key, written.metadata.resourceVersion)
    return written
  }

  function forget(key: Key): Outcome {
    watches.set(key, [])
    kindless.delete(keyToString(key))
    return settled
  }

  function retryKindless(): void {
    client.discovery.forget()
    for (const key of kindless.values()) controller.enqueue(key)
    kindless.clear()
  }
}

/** Calls when kinds come or change. */
function watchKinds(informers: Informers, client: Client, onChange: () => void): void {
  const definitions = informers.open(client, customResourceDefinitions, { metadataOnly: true })
  definitions.subscribe(({ initial }) => !initial && onChange())
}

const longestSleepMs = 86_400_000

const tooMany: Decision = {
  do: 'stall',
  because: 'too-many-targets',
  message: 'what would be deleted is more than can be written down in one object',
}

/** Those whose time is up first, first; those that have none that can be read, last. */
function byExpiry(cleaners: readonly StoredObject[]): readonly StoredObject[] {
  const expiryAt = (object: StoredObject) => {
    const { ttl } = (object.spec ?? {}) as { ttl?: unknown }
    const ttlMs = typeof ttl === 'string' ? parseLongDuration(ttl) : undefined
    return (parseTime(object.metadata.creationTimestamp) ?? Infinity) + (ttlMs ?? Infinity)
  }
  const sorted = cleaners.map((object) => ({ object, at: expiryAt(object) }))
  sorted.sort((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0))
  return sorted.map(({ object }) => object)
}

function notFound(place: Located): Resolution {
  return 'type' in place ? { found: 'unknown', message: 'not watched' } : place
}

function interestIn({ select }: Target, place: Located | undefined) {
  return place && 'type' in place ? [{ type: place.type, namespace: place.namespace, select }] : []
}

function pluralOf(place: Located | undefined): string {
  return place && 'type' in place ? `${groupResource(place.type)}/${place.type.version}` : ''
}
