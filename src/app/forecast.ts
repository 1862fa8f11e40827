import { randomUUID } from 'node:crypto'
import { cleaner } from '../apis/cleaner.ts'
import { conditionalTtl } from '../apis/conditional-ttl.ts'
import { departure, type DepartureSpec } from '../apis/departure.ts'
import { administrator, createApiServer } from '../apiserver/server.ts'
import type { StoreEvent } from '../apiserver/store/store.ts'
import { Client } from '../client/client.ts'
import { groupResource, type ObjectRef } from '../kube/object.ts'
import { silentLogger } from '../runtime/log.ts'
import { quietClock } from '../runtime/quiet-clock.ts'
import { seededRandom } from '../runtime/random.ts'
import { VirtualClock } from '../runtime/virtual-clock.ts'
import { cleanerController } from '../systems/cleaner/controller.ts'
import { Collector } from '../systems/collector/controller.ts'
import { bondController } from '../systems/collector/bonds.ts'
import type { Config } from './config.ts'
import { createCore } from './core.ts'
import { registerKinds } from './register-kinds.ts'
import { copyWorld } from './world-copy.ts'

/** One thing that will happen if nobody acts. */
export interface ForecastEvent {
  /** Epoch milliseconds. */
  readonly at: number
  readonly what: 'leaves' | 'told'
  readonly object: ObjectRef
  readonly because: string
  readonly by: string
  /** How many go with it. */
  readonly takes?: number
  /** Who is told. */
  readonly to?: string
}

export interface Forecast {
  readonly from: number
  readonly until: number
  readonly objects: number
  readonly events: readonly ForecastEvent[]
  /** Kinds that could not be read: what they hold is not in the forecast. */
  readonly unread: readonly string[]
}

export interface ForecastOptions {
  readonly config: Config
  readonly now: number
  readonly forMs: number
  readonly onProgress?: (message: string) => void
}

/** Runs the real controllers on a copy of the world, on a clock that jumps from event to event. The source is only read. */
export async function forecast(source: Client, { config, now, forMs, onProgress }: ForecastOptions): Promise<Forecast> {
  const clock = new VirtualClock(now)
  const copy = await copyWorld(source, {
    now: () => clock.now(),
    onProgress: (done, of) => onProgress?.(`reading ${done}/${of} kinds`),
  })
  const quiet = quietClock(clock)
  await using server = await createApiServer({
    store: copy.store,
    clock: quiet,
    random: seededRandom(1),
    uid: () => randomUUID(),
  })
  const client = new Client(server.transportAs(administrator))
  await registerKinds(client)

  const events: ForecastEvent[] = []
  const stopWatching = copy.store.subscribe((changes) => {
    for (const change of changes) events.push(...departuresIn(change, clock.now()))
  })
  const core = createCore({ config, client, clock, log: silentLogger, caches: quiet })
  const send = (sink: string) => {
    events.push({
      at: clock.now(),
      what: 'told',
      object: { apiVersion: '', kind: 'Sink', name: new URL(sink).host },
      because: 'cloud-event',
      by: 'cleaner',
      to: sink,
    })
    return Promise.resolve()
  }
  for (const { type } of [cleaner, conditionalTtl]) core.run(cleanerController({ ...core, type, send }))
  core.run(
    new Collector({ ...core, ownsReferences: true, exists: (uid) => copy.store.owners.addressOf(uid) !== undefined }),
  )
  core.run(bondController(core))
  onProgress?.('looking ahead')
  await clock.run(now + forMs)
  const stopped = core.stop()
  await clock.settle()
  await stopped
  stopWatching()
  return {
    from: now,
    until: now + forMs,
    objects: copy.objects,
    events: events.toSorted((left, right) => left.at - right.at),
    unread: copy.unread,
  }
}

function departuresIn({ type, resource, document }: StoreEvent, at: number): readonly ForecastEvent[] {
  if (type !== 'create' || resource !== groupResource(departure.type)) return []
  const { spec } = document.object as unknown as { spec: DepartureSpec }
  if (spec.page) return []
  const { apiVersion, kind, namespace, name } = spec.object
  const by = spec.by.object ? `${spec.by.system} ${spec.by.object.kind}/${spec.by.object.name}` : spec.by.system
  return [
    {
      at,
      what: 'leaves',
      object: { apiVersion, kind, name, ...(namespace ? { namespace } : {}) },
      because: spec.because,
      by,
      ...(spec.takes === undefined ? {} : { takes: spec.takes }),
    },
  ]
}
