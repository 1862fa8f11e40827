import type { Client } from '../../client/client.ts'
import { EventRecorder, type EventNote, type EventSubject } from '../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { roles, type Config } from '../config/config.ts'
import { embeddedAccess } from '../core/in-process-deleter.ts'
import { createInstance, type Instance } from '../core/instance.ts'
import { haltsOf } from '../../queries/halts.ts'
import { Reader } from '../../queries/reader.ts'
import { startSystems } from '../core/systems.ts'
import { scheduleAssumptions } from '../../forecast/assume.ts'
import { type Assumption, assumptionSentences, delayOf, withDefaults } from '../../forecast/assumption.ts'
import { eventsIn } from '../../forecast/changes.ts'
import { withIntervals } from '../../forecast/calendar.ts'
import {
  startCopy,
  type ClusterCopy,
  finishJobs,
  countObjects,
  readSnapshot,
  type ClusterSnapshot,
} from '../../forecast/cluster-snapshot.ts'
import { describeRef, refOf, type ObjectRef } from '../../kube/object.ts'
import type { Forecast, ForecastEvent } from '../../forecast/event.ts'
import { machineAndPrivate, Outgoing } from '../../runtime/http/outgoing.ts'
import { type ExternalPorts, recordedPorts } from '../../forecast/recorded-ports.ts'
import { RecordedForge } from '../../forecast/recorded-forge.ts'

import { missingRights } from './missing-rights.ts'

export interface ForecastOptions {
  readonly config: Config
  readonly now: number
  readonly forMs: number
  readonly assumptions?: readonly Assumption[]
  /** Receives the name of the current stage, and the share of it that is done, from 0 to 1. */
  readonly onProgress?: (doing: string, done: number) => void
  readonly signal?: AbortSignal
  /** Called with the copy when the systems have stopped. */
  readonly onEnd?: (copy: Client) => Promise<void>
  /** The limit in real time; `until` then says how far the forecast got. Defaults to none. */
  readonly withinMs?: number
}

/** Runs the real controllers on a copy of the cluster, on a virtual clock that jumps from event to event. The source is only read. */
export async function forecast(source: Client, options: ForecastOptions): Promise<Forecast> {
  const snapshot = await readSnapshot(source, (done, of) => options.onProgress?.('reading', done / of))
  const found = await forecastSnapshot(snapshot, options)
  return { ...found, lacking: await missingRights(source, found.events) }
}

/** As `forecast`, for a cluster that has been read already. Throws ConfigError when an assumption cannot be carried out. */
export async function forecastSnapshot(snapshot: ClusterSnapshot, options: ForecastOptions): Promise<Forecast> {
  const { now, forMs, assumptions = [], signal } = options
  const clock = new VirtualClock(now)
  const events: ForecastEvent[] = []
  const record = (event: ForecastEvent) => void events.push(event)
  const unread = [...snapshot.unread]
  await using closing = new AsyncDisposableStack()
  const { snapshot: copied, assumed } = withIntervals(snapshot, forMs)
  const copy = closing.use(await startCopy(copied, quietClock(clock)))
  const halts = await haltsOf(new Reader(copy.client))
  const external = recordedPorts({
    clock,
    forge: forgeFor(copy, clock, assumptions),
    record,
    onUnread: (what) => void unread.push(what),
    kubeconfigs: new Outgoing({ for: 'kubeconfigs', allow: options.config.allowOutgoing ?? machineAndPrivate }),
    onClose: (close) => closing.defer(close),
  })
  const reasons = new Map<string, string>()
  const reasonOf = (object: ObjectRef, at: number) => `${at} ${describeRef(object)}`
  const note = (object: ObjectRef, message: string) => void reasons.set(reasonOf(object, clock.now()), message)
  const instance = instanceOn(copy, { clock, config: { ...options.config, recordSecrets: false }, external, note })
  void copy.bonds.follow(instance.informers, copy.client)
  const stopWatching = copy.store.subscribe((changes) => {
    for (const change of changes) {
      events.push(...eventsIn(change, clock.now()))
      finishJobs(change, copy, clock)
    }
  })
  const problems: Error[] = []
  scheduleAssumptions(assumptions, { copy, clock, record, onProblem: (problem) => void problems.push(problem) })
  await advance({ instance, clock, copy, problems }, options)
  const until = clock.now()
  stopWatching()
  const explained = events.map((event) => {
    const isScaled = event.what === 'sleeps' || event.what === 'wakes'
    return isScaled ? { ...event, why: reasons.get(reasonOf(event.object, event.at)) ?? event.why } : event
  })
  const foretold = eachOnce(explained.toSorted((left, right) => left.at - right.at))
  await stop(instance, clock)
  await options.onEnd?.(copy.client)
  signal?.throwIfAborted()
  if (problems[0]) throw problems[0]
  return {
    from: now,
    until,
    wanted: now + forMs,
    objects: countObjects(snapshot),
    events: foretold,
    assumed: [...assumptionSentences(assumptions), ...assumed],
    halts,
    lacking: [],
    unread,
  }
}

/** What is recorded by itself and with its namespace is deleted once. */
function eachOnce(events: readonly ForecastEvent[]): readonly ForecastEvent[] {
  const seen = new Set<string>()
  return events.filter(({ what, at, object }) => {
    const key = `${at} ${object.cluster ?? ''} ${object.apiVersion} ${describeRef(object)}`
    return what !== 'leaves' || (!seen.has(key) && seen.add(key))
  })
}

function forgeFor({ client }: ClusterCopy, clock: VirtualClock, given: readonly Assumption[]): RecordedForge {
  const assumptions = withDefaults(given)
  return new RecordedForge({
    client,
    clock,
    mergesAfterMs: delayOf(assumptions, 'merged'),
    deliversAfterMs: delayOf(assumptions, 'rolled-out'),
  })
}

function instanceOn(
  { client, server }: ClusterCopy,
  {
    clock,
    config,
    external,
    note,
  }: {
    readonly clock: VirtualClock
    readonly config: Config
    readonly external: ExternalPorts
    /** Receives why a workload was scaled. */
    readonly note: (object: ObjectRef, message: string) => void
  },
): Instance {
  const log = silentLogger
  const events = new ScalingRecorder('sojourn', { client, clock, log })
  events.onScaled = note
  const embedded = embeddedAccess(server)
  return createInstance({
    config,
    client,
    clock,
    log,
    events,
    external,
    embedded,
    cacheClock: quietClock(clock),
    actAs: { for: () => ({ client, refusalOf: () => Promise.resolve(undefined) }) },
  })
}

/** Drops Events, but tells why workloads were scaled: nothing else reads them in a forecast. */
class ScalingRecorder extends EventRecorder {
  onScaled: (object: ObjectRef, message: string) => void = () => {}

  override record(about: EventSubject, { reason, message }: EventNote): void {
    if ('metadata' in about && (reason === 'Slept' || reason === 'Woken')) this.onScaled(refOf(about), message)
  }
}

interface Running {
  readonly instance: Instance
  readonly clock: VirtualClock
  readonly copy: ClusterCopy
  /** Assumptions that could not be carried out: the first one ends the forecast. */
  readonly problems: readonly Error[]
}

/** Starts the systems and advances the clock to the end, or until time is up or an assumption failed. */
async function advance({ instance, clock, copy, problems }: Running, options: ForecastOptions): Promise<void> {
  const { config, now, forMs, onProgress, signal, withinMs = Infinity } = options
  const startedAt = performance.now()
  const isEnough = () => signal?.aborted === true || performance.now() - startedAt > withinMs
  const starting = startSystems(instance, systemsOf(config))
  await clock.settle()
  await starting
  for (let step = 1; step <= progressSteps && !isEnough() && problems.length === 0; step++) {
    await clock.run(now + Math.round((forMs * step) / progressSteps), isEnough)
    // Every watch has caught up: older revisions are not needed.
    await copy.store.compact({ olderThanMs: 0, keep: keptRevisions })
    onProgress?.('looking ahead', step / progressSteps)
  }
}

/** Stops the systems. Some wait a little for callers when they stop: that time has to pass, too. */
async function stop({ lifecycle }: Instance, clock: VirtualClock): Promise<void> {
  let isStopped = false
  const stopped = lifecycle.stop().finally(() => (isStopped = true))
  while (!isStopped) await clock.run(clock.now() + stopStepMs, () => isStopped)
  await stopped
}

const stopStepMs = 1000
const progressSteps = 60
const keptRevisions = 100

/** The systems that this installation runs; all of them where it runs none, because they run elsewhere. */
function systemsOf({ only }: Config): Config['only'] {
  const systems = roles.filter((role) => role !== 'api' && role !== 'workloads')
  const chosen = systems.filter((role) => only.includes(role))
  return chosen.length > 0 ? chosen : systems
}
