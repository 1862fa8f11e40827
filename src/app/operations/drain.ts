import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { bond, bondFinalizer, inUseLabel, type Bond } from '../../apis/bond.ts'
import type { Client } from '../../client/client.ts'
import { releaseAll, runningSystems, surveyHeld, type Held } from '../../departures/drain/drain.ts'
import { describeRef, refOf, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { sleep, systemClock, type Clock } from '../../runtime/time/clock.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { releaseServices } from '../../systems/activator/takeover/release-service.ts'
import {
  restoreWorkload,
  findLeftovers,
  clearConditions,
  type MarkedWorkload,
  type Leftovers,
} from '../../systems/activator/takeover/leftovers.ts'

export interface DrainOptions {
  /** Defaults to the machine's. */
  readonly clock?: Clock
  /** Report only. */
  readonly dryRun: boolean
  /** Leave sleeping workloads at zero replicas, with Sojourn's label. */
  readonly keepAsleep?: boolean
  readonly onProgress?: (doing: string, done: number) => void
  readonly signal?: AbortSignal
}

/** An object that Sojourn holds, and what happens to it once it is released. */
export interface DrainItem {
  readonly object: StoredObject
  readonly heldBy: readonly string[]
  readonly becomes: 'goes' | 'stays' | 'given-back' | 'wakes' | 'stays-asleep'
  /** The replicas of a workload that is woken. */
  readonly replicas?: number
  readonly outcome: 'planned' | 'done' | 'failed'
}

/** What a drain found and did. */
export interface Drained {
  readonly items: readonly DrainItem[]
  /** The systems that still run in the cluster. */
  readonly running: readonly string[]
  /** What is, or may be, still held, a sentence each; empty when all is released. */
  readonly problems: readonly string[]
}

/**
 * Removes Sojourn's finalizers and marks, wakes sleeping workloads and releases taken-over Services, so that Sojourn can be
 * uninstalled. Changes nothing while Sojourn runs in the cluster.
 */
export async function drain(client: Client, options: DrainOptions): Promise<Drained> {
  const { clock = systemClock, dryRun, keepAsleep = false, onProgress, signal } = options
  const running = await runningSystems(client, clock.now())
  const found = await survey(client, keepAsleep, (done) => onProgress?.('looking', done))
  const unseen = [...found.unread.map((what) => `could not be read: ${what}`), ...(await heldElsewhere(client))]
  const planned = itemsOf(found, keepAsleep)
  if (dryRun || running.length > 0 || planned.length === 0)
    return { items: planned.map((item) => ({ ...item, outcome: 'planned' })), running, problems: unseen }
  const failed = await carryOut(client, found, { ...options, clock })
  // A `sojourn up` holds no Lease: it shows by what it holds again.
  await sleep(clock, againMs, signal)
  const left = await survey(client, keepAsleep, (done) => onProgress?.('looking again', done))
  const known = new Set([...failed.keys()].map(({ metadata }) => metadata.uid))
  const again = itemsOf({ ...left, remains: { ...left.remains, workloads: left.workloads } }, keepAsleep).filter(
    ({ object }) => !known.has(object.metadata.uid),
  )
  return {
    items: planned.map((item) => ({ ...item, outcome: failed.has(item.object) ? 'failed' : 'done' })),
    running,
    problems: [
      ...unseen,
      ...[...failed].map(([object, why]) => `could not be released: ${describeRef(refOf(object))}: ${why}`),
      ...(again.length > 0 ? [`held again: ${describe(again)}; ${stopFirst}`] : []),
    ],
  }
}

const againMs = 2000
const stopFirst = 'Sojourn is still running somewhere: stop it and drain again'
const maxNamed = 5

interface Found {
  readonly held: readonly Held[]
  readonly remains: Leftovers
  /** Those of `remains` to restore. */
  readonly workloads: readonly MarkedWorkload[]
  readonly unread: readonly string[]
}

/** What Bonds may hold in other clusters, which this drain does not reach. */
async function heldElsewhere(client: Client): Promise<readonly string[]> {
  const list = await client.list<Bond>(bond.type).catch(ignoring('NotFound'))
  const holding = (list?.items ?? []).filter(
    ({ metadata, spec }) => spec.dependency.cluster && metadata.finalizers?.includes(bondFinalizer),
  )
  return holding.map(
    ({ metadata, spec: { dependency } }) =>
      `may be held in cluster "${dependency.cluster}": ${dependency.kind} ${dependency.name}, by Bond ${metadata.namespace}/${metadata.name}; delete the Bond while the collector runs, or remove the marks there`,
  )
}

async function survey(client: Client, keepAsleep: boolean, onProgress: (done: number) => void): Promise<Found> {
  const { held, unread } = await surveyHeld(client, onProgress)
  const remains = await findLeftovers(client)
  const workloads = keepAsleep ? remains.workloads.filter(({ wakesTo }) => wakesTo === undefined) : remains.workloads
  return { held, remains, workloads, unread: [...unread, ...remains.unread] }
}

/** Makes all changes, those that affect callers first. Returns the failures, and why. */
async function carryOut(
  client: Client,
  { held, remains, workloads }: Found,
  { clock, onProgress, signal }: DrainOptions & { readonly clock: Clock },
): Promise<ReadonlyMap<StoredObject, string>> {
  const events = new EventRecorder('sojourn', { client, clock, log: silentLogger })
  const failed = new Map<StoredObject, string>()
  const each = async <T extends { readonly object: StoredObject }>(
    doing: string,
    all: readonly T[],
    act: (one: T) => Promise<void>,
  ) => {
    for (const [index, one] of all.entries()) {
      onProgress?.(doing, index / all.length)
      await act(one).catch((error: unknown) => failed.set(one.object, messageOf(error)))
    }
  }
  await each('waking', workloads, (one) => restoreWorkload(client, one, events))
  const kept = await releaseServices(client, remains.taken, {
    clock,
    events,
    onProgress: (done) => onProgress?.('releasing Services', done),
    ...(signal ? { signal } : {}),
  })
  for (const [object, why] of kept) failed.set(object, why)
  await each('removing companions', remains.companions, ({ type, object }) => removeOwn(client, type, object))
  const given = remains.told.filter((service) => !kept.has(service)).map((object) => ({ object }))
  await each('clearing conditions', given, ({ object }) => clearConditions(client, object))
  const notLet = await releaseAll(client, held, (done) => onProgress?.('releasing', done))
  for (const [object, why] of notLet) failed.set(object, why)
  await events.flush()
  return failed
}

type Planned = Omit<DrainItem, 'outcome'>

function itemsOf({ held, remains }: Found, keepAsleep: boolean): readonly Planned[] {
  const { taken, companions, workloads, told } = remains
  return [
    ...held.map(({ object, finalizers, isMarked, goes }): Planned => {
      const heldBy = [...finalizers, ...(isMarked ? [inUseLabel] : [])]
      return { object, heldBy, becomes: goes ? 'goes' : 'stays' }
    }),
    ...taken.map((object): Planned => ({ object, heldBy: ['takeover'], becomes: 'given-back' })),
    ...companions.map(({ object }): Planned => ({ object, heldBy: ['companion'], becomes: 'goes' })),
    ...workloads.map((workload) => workloadItem(workload, keepAsleep)),
    // A released Service is listed above.
    ...told
      .filter((service) => !taken.includes(service))
      .map((object): Planned => ({ object, heldBy: ['status.conditions'], becomes: 'stays' })),
  ]
}

function workloadItem({ object, wakesTo, replicas }: MarkedWorkload, keepAsleep: boolean): Planned {
  const heldBy = ['proxless=true']
  if (wakesTo === undefined) return { object, heldBy, becomes: replicas === 0 ? 'stays-asleep' : 'stays' }
  return keepAsleep
    ? { object, heldBy, becomes: 'stays-asleep' }
    : { object, heldBy, becomes: 'wakes', replicas: wakesTo }
}

function describe(items: readonly Planned[]): string {
  const named = items.slice(0, maxNamed).map(({ object }) => describeRef(refOf(object)))
  const more = items.length - named.length
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
