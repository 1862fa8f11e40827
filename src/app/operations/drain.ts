import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { bond, bondFinalizer, inUseLabel, type Bond } from '../../apis/bond.ts'
import type { Client } from '../../client/client.ts'
import { releaseAll, runningSystems, surveyHeld, type Held } from '../../departures/drain/drain.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { deployments } from '../../kube/core-types.ts'
import { describeRef, refOf, type StoredObject } from '../../kube/object.ts'
import { ignoring, messageOf } from '../../kube/status-error.ts'
import { sleep, systemClock, type Clock } from '../../runtime/time/clock.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { leaderLease } from '../../runtime/sharing/lease-membership.ts'
import { peersGroup } from '../../systems/activator/replicas/peers.ts'
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
  /** Only what the activator holds, everywhere or in one namespace: its account has the rights for it. */
  readonly activator?: { readonly namespace?: string | undefined }
  /** Stop this Deployment of Sojourn first, and wait until none of its replicas scales any more. */
  readonly stop?: string
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
  const { clock = systemClock, dryRun, keepAsleep = false, activator, onProgress, signal } = options
  if (options.stop !== undefined && !dryRun) await stopActivator(client, options.stop, { clock, signal })
  const running = await runningSystems(client, clock.now(), activator && scaling)
  const found = await survey(client, options, (done) => onProgress?.('looking', done))
  const elsewhere = activator ? [] : await heldElsewhere(client)
  const unseen = [...found.unread.map((what) => `could not be read: ${what}`), ...elsewhere]
  const planned = itemsOf(found, keepAsleep)
  if (dryRun || running.length > 0 || planned.length === 0)
    return { items: planned.map((item) => ({ ...item, outcome: 'planned' })), running, problems: unseen }
  const failed = await carryOut(client, found, { ...options, clock })
  // A `sojourn up` holds no Lease: it shows by what it holds again.
  await sleep(clock, againMs, signal)
  const left = await survey(client, options, (done) => onProgress?.('looking again', done))
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

/** Scales the Deployment to zero. Another of its replicas may lead for a moment before it stops, too. */
async function stopActivator(
  client: Client,
  name: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const place = { namespace: sojournNamespace, name }
  const none = { type: 'merge', body: { spec: { replicas: 0 } } } as const
  await client.patch(deployments, place, none, { subresource: 'scale' }).catch(ignoring('NotFound'))
  const until = clock.now() + stopMs
  for (let quiet = 0; quiet < 2 && clock.now() < until; await sleep(clock, againMs, signal))
    quiet = (await runningSystems(client, clock.now(), scaling)).length === 0 ? quiet + 1 : 0
}

/** Its holder is the activator that puts workloads to sleep. */
const scaling = leaderLease(peersGroup)
const againMs = 2000
/** Longer than a Lease of a killed replica lasts, and than a replica takes to stop. */
const stopMs = 90_000
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

async function survey(
  client: Client,
  { keepAsleep = false, activator }: DrainOptions,
  onProgress: (done: number) => void,
): Promise<Found> {
  const { held, unread } = activator ? { held: [], unread: [] } : await surveyHeld(client, onProgress)
  const remains = await findLeftovers(client, activator && { ...activator, isActivator: true })
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
