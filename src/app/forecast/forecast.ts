import type { Client } from '../../client/client.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { roles, type Config } from '../config/config.ts'
import { createCore } from '../core/core.ts'
import { haltsOf } from '../../queries/door-switches.ts'
import { Reader } from '../../queries/reader.ts'
import { inProcessDeleter } from '../core/in-process-deleter.ts'
import { startSystems } from '../core/systems.ts'
import { assume } from '../../forecast/assume.ts'
import { assumptionSentence, type Assumption } from '../../forecast/assumption.ts'
import { eventsIn } from '../../forecast/changes.ts'
import { startCopy } from '../../forecast/copy.ts'
import type { Forecast, ForecastEvent } from '../../forecast/event.ts'
import { RecordedForge } from './recorded-forge.ts'
import { recordedOutside } from './recorded-outside.ts'
import { countObjects, readWorld, type World } from '../../forecast/world.ts'

export interface ForecastOptions {
  readonly config: Config
  readonly now: number
  readonly forMs: number
  readonly assumptions?: readonly Assumption[]
  /** How far it is, from 0 to 1, in what it does just now. */
  readonly onProgress?: (doing: string, done: number) => void
  readonly signal?: AbortSignal
  /** How long it may take, in real time; then it says how far it came. Defaults to as long as it takes. */
  readonly withinMs?: number
}

/** Runs the real controllers on a copy of the world, on a clock that jumps from event to event. The source is only read. */
export async function forecast(source: Client, options: ForecastOptions): Promise<Forecast> {
  const world = await readWorld(source, (done, of) => options.onProgress?.('reading', done / of))
  return forecastWorld(world, options)
}

/** The same for a world that has been read already. */
export async function forecastWorld(
  world: World,
  { config, now, forMs, assumptions: given = [], onProgress, signal, withinMs = Infinity }: ForecastOptions,
): Promise<Forecast> {
  const startedAt = performance.now()
  const isEnough = () => signal?.aborted === true || performance.now() - startedAt > withinMs
  const clock = new VirtualClock(now)
  const caches = quietClock(clock)
  const events: ForecastEvent[] = []
  const unread = [...world.unread]
  await using closing = new AsyncDisposableStack()
  const copy = closing.use(await startCopy(world, caches))
  const { client, server, store } = copy
  const halts = await haltsOf(new Reader(client))
  const assumptions = [...usual, ...given]
  const forge = new RecordedForge({
    client,
    clock,
    mergesAfterMs: delayOf(assumptions, 'merged'),
    deliversAfterMs: delayOf(assumptions, 'rolled-out'),
  })
  const outside = recordedOutside({
    clock,
    forge,
    record: (event) => void events.push(event),
    onUnread: (what) => void unread.push(what),
    onClose: (close) => closing.defer(close),
  })
  const core = createCore({
    config,
    client,
    clock,
    log: silentLogger,
    caches,
    events: new NoEvents('sojourn', { client, clock, log: silentLogger }),
    outside,
    exists: (uid) => store.owners.addressOf(uid) !== undefined,
    inProcessDeleter: inProcessDeleter(server),
  })
  void copy.bonds.follow(core.informers, client)
  const stopWatching = store.subscribe((changes) => {
    for (const change of changes) events.push(...eventsIn(change, clock.now()))
  })
  const problems: Error[] = []
  const record = (event: ForecastEvent) => void events.push(event)
  assume(given, { copy, clock, record, onProblem: (problem) => void problems.push(problem) })
  const starting = startSystems(core, systemsOf(config))
  await clock.settle()
  await starting
  for (let step = 1; step <= progressSteps && !isEnough() && problems.length === 0; step++) {
    await clock.run(now + Math.round((forMs * step) / progressSteps), isEnough)
    // Everybody has seen what happened so far: what things were like before need not be remembered.
    await store.compact({ olderThanMs: 0, keep: keptRevisions })
    onProgress?.('looking ahead', step / progressSteps)
  }
  const until = clock.now()
  stopWatching()
  const stopped = core.stop()
  await clock.settle()
  await stopped
  signal?.throwIfAborted()
  if (problems[0]) throw problems[0]
  return {
    from: now,
    until,
    wanted: now + forMs,
    objects: countObjects(world),
    events: events.toSorted((left, right) => left.at - right.at),
    assumed: [
      `nobody ${given.length > 0 ? 'else ' : ''}calls, approves, opts out or changes anything`,
      ...assumptions.filter((each) => isLast(each, assumptions)).map(assumptionSentence),
    ],
    halts,
    unread,
  }
}

/** Nobody reads the Events of a forecast, and nothing is decided by them. */
class NoEvents extends EventRecorder {
  override record(): void {}
}

const usual: readonly Assumption[] = [
  { assume: 'merged', afterMs: Infinity },
  { assume: 'rolled-out', afterMs: 60_000 },
]

function delayOf(assumptions: readonly Assumption[], what: 'merged' | 'rolled-out'): number {
  const found = assumptions.findLast(({ assume: assumed }) => assumed === what)
  return found && 'afterMs' in found ? found.afterMs : Infinity
}

/** Of those there can be only one of, the last one counts. */
function isLast(assumption: Assumption, all: readonly Assumption[]): boolean {
  return 'at' in assumption || all.findLast(({ assume: assumed }) => assumed === assumption.assume) === assumption
}

const progressSteps = 60
const keptRevisions = 100

/** The systems that are run here or, where none is, all: then they run somewhere else. */
function systemsOf({ only }: Config): Config['only'] {
  const systems = roles.filter((role) => role !== 'api' && role !== 'workloads')
  const chosen = systems.filter((role) => only.includes(role))
  return chosen.length > 0 ? chosen : systems
}
