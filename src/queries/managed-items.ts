import { namespaces, services } from '../kube/core-types.ts'
import { bond, type Bond } from '../apis/bond.ts'
import type { Cleaner } from '../apis/cleaner.ts'
import { cleanerKinds } from '../apis/cleaner-kinds.ts'
import { cleanupCandidate, type CleanupCandidate } from '../apis/cleanup-candidate.ts'
import { departure, type Departure } from '../apis/departure.ts'
import { environment, type Environment } from '../apis/environment.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import { type ObjectRef, type StoredObject, placeOf } from '../kube/object.ts'
import { findCondition } from '../kube/conditions.ts'
import { parseTime } from '../kube/time.ts'
import { isOnDemand, missingTarget } from '../systems/activator/model/annotations.ts'
import { readServiceSettings } from '../systems/activator/model/service-settings.ts'
import { remarksOf, serviceStateOf } from '../systems/activator/views/service-state.ts'
import { identityOf, shortRevision } from '../systems/promoter/model/revision.ts'
import { candidateItem } from './candidate-item.ts'
import { namespaceItem, ruledSleepOf } from './explain-sleep.ts'
import type { Reader } from './reader.ts'

/** An object that Sojourn manages: its state, what happens to it next, when and why. */
export interface ManagedItem {
  readonly object: ObjectRef
  readonly system: 'cleaner' | 'collector' | 'janitor' | 'promoter' | 'activator' | 'environments'
  readonly state: string
  readonly next?: { readonly what: string; readonly at?: number }
  /** One or more sentences, or a phrase. */
  readonly why: string
  /** The workloads behind a Service. */
  readonly behind?: readonly ObjectRef[]
  /** The CleanupPolicy of a mark. */
  readonly by?: string
  /** The object's uid, where another object may have the same name. */
  readonly uid?: string
}

/** All managed items that the caller may read, the one with the nearest next event first. */
export async function readManagedItems(
  reader: Reader,
  { namespace, now }: { readonly namespace: string | undefined; readonly now: number },
): Promise<readonly ManagedItem[]> {
  const [cleaners, candidates, pipelines, bonds, environments, departures, readable, spaces] = await Promise.all([
    Promise.all(
      cleanerKinds.map(async (kind) => ({ kind, found: await reader.list<Cleaner>(kind.type, { namespace }) })),
    ),
    reader.list<CleanupCandidate>(cleanupCandidate.type),
    reader.list<Pipeline & StoredObject>(pipeline.type, { namespace }),
    reader.list<Bond>(bond.type, { namespace }),
    reader.list<Environment>(environment.type, { namespace }),
    reader.list<Departure>(departure.type, { namespace, labelSelector: '!sojourn.dev/page' }),
    reader.list<StoredObject>(services, { namespace }),
    namespace === undefined
      ? reader.list<StoredObject>(namespaces)
      : reader.peek<StoredObject>(namespaces, { name: namespace }).then((space) => (space ? [space] : [])),
  ])
  const onDemand = readable.filter((service) => isOnDemand(service) || missingTarget(service))
  const items = [
    ...cleaners.flatMap(({ kind, found }) => found.map((object) => cleanerItem(object, kind))),
    ...candidates.filter(({ spec }) => !namespace || spec.resource.namespace === namespace).map(candidateItem),
    ...pipelines.map(pipelineItem),
    ...bonds.map(bondItem),
    ...environments.map(environmentItem),
    ...departures
      // A Cleaner has an item of its own, which says what it waits for.
      .filter(({ status, spec }) => status?.phase === 'Leaving' && !isCleaner(spec.object))
      .map(leavingItem),
    ...(await Promise.all(spaces.map((space) => namespaceItem(reader, space, now)))).flatMap((item) => item ?? []),
    ...(await Promise.all(onDemand.map((service) => serviceItem(reader, service, { now, environments })))),
  ]
  return items.toSorted((left, right) => (left.next?.at ?? Infinity) - (right.next?.at ?? Infinity))
}

function refFor(
  { metadata }: StoredObject,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): ObjectRef {
  return { apiVersion, kind, ...placeOf(metadata) }
}

function readyOf(status: unknown): { readonly reason: string; readonly message: string } {
  const { conditions = [] } = (status ?? {}) as {
    conditions?: readonly { type: string; reason: string; message: string }[]
  }
  return findCondition(conditions, 'Ready') ?? { reason: 'New', message: 'not evaluated yet' }
}

function cleanerItem(object: Cleaner, kind: { readonly apiVersion: string; readonly kind: string }): ManagedItem {
  const { reason, message } = readyOf(object.status)
  if (object.metadata.deletionTimestamp)
    return { object: refFor(object, kind), system: 'cleaner', state: 'Leaving', next: { what: 'gone' }, why: message }
  const at = parseTime(object.status?.nextScheduledEvaluation)
  return {
    object: refFor(object, kind),
    system: 'cleaner',
    state: reason,
    ...(at === undefined ? {} : { next: { what: reason === 'NotExpired' ? 'expires' : 'evaluated again', at } }),
    why: message,
  }
}

function isCleaner({ apiVersion, kind }: ObjectRef): boolean {
  return cleanerKinds.some((own) => own.apiVersion === apiVersion && own.kind === kind)
}

function pipelineItem(object: Pipeline & StoredObject): ManagedItem {
  const known = { object: refFor(object, pipeline), system: 'promoter' as const }
  if (object.metadata.deletionTimestamp)
    return { ...known, state: 'Leaving', next: { what: 'gone' }, why: whatIsWithdrawn(object) }
  const { reason, message } = readyOf(object.status)
  const environments = Object.entries(object.status?.environments ?? {})
  const waiting = environments.find(([, { waitingApproval }]) => waitingApproval?.promotionId)
  const times = environments.flatMap(([name, { gates = [] }]) =>
    gates.flatMap(({ state, nextCheckAt }) => {
      const at = state === 'Open' ? undefined : parseTime(nextCheckAt)
      return at === undefined ? [] : [{ what: `${name} may continue`, at }]
    }),
  )
  const [soonest] = times.toSorted((left, right) => left.at - right.at)
  const next = personsAction(object) ?? soonest
  return {
    ...known,
    ...pipelineState(object, { isWaiting: waiting !== undefined, reason, message }),
    ...(next ? { next } : {}),
  }
}

/** What a Pipeline that is being deleted has open still, and why. */
function whatIsWithdrawn({ status }: Pipeline): string {
  const open = Object.values(status?.environments ?? {}).flatMap(({ promotion }) =>
    promotion?.withdraw === 'Due' ? [promotion] : [],
  )
  const each = open.map(({ pullRequest, branch, lastError }) => {
    const problem = lastError ? `, which has failed: ${lastError.message}` : ''
    return `${pullRequest?.url ?? `branch ${branch}`} is closed first${problem}`
  })
  return each.join('; ') || 'being deleted'
}

/** What a person has to do next, if anything: with the command to run or the page to open. */
function personsAction({ metadata, status }: Pipeline & StoredObject): { readonly what: string } | undefined {
  const at = `-n ${metadata.namespace}`
  if (status?.suspension) return { what: `sojourn resume ${metadata.name} ${at}` }
  for (const [name, { waitingApproval, promotion }] of Object.entries(status?.environments ?? {})) {
    const { pullRequest, phase, because, revision = '' } = promotion ?? {}
    if (waitingApproval?.promotionId)
      return {
        // An approval names the whole hash: commits that share its first digits are easy to make.
        what: `approve: sojourn approve ${metadata.name} ${name} ${identityOf(waitingApproval.revision)} ${at}`,
      }
    if (phase === 'Proposed' && pullRequest)
      return { what: `${pullRequest.isConflicting ? 'resolve conflicts of' : 'merge'} ${pullRequest.url} for ${name}` }
    if (phase === 'Rejected') return { what: `a newer revision, or: sojourn retry ${metadata.name} ${name} ${at}` }
    if (phase === 'Failed')
      return { what: `fix ${name}: ${promotion?.lastError?.message ?? because} (${shortRevision(revision)})` }
    if (because === 'RolloutTimedOut')
      return { what: `fix ${name}, or: sojourn rollback ${metadata.name} ${name} ${at}` }
  }
  if (isTrue(status, 'Drifted')) return { what: `sojourn retry ${metadata.name} ${at}` }
  return isTrue(status, 'Stalled') ? { what: `sojourn explain pipeline/${metadata.name} ${at}` } : undefined
}

function isTrue(status: Pipeline['status'], type: string) {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True')
}

/** A pipeline without a revision is not described by its Ready condition, which only says that targets were read. */
function pipelineState(
  { spec, status }: Pipeline,
  { isWaiting, reason, message }: { readonly isWaiting: boolean; readonly reason: string; readonly message: string },
): Pick<ManagedItem, 'state' | 'why'> {
  const suspended = isTrue(status, 'Suspended')
  if (suspended) return { state: 'Suspended', why: suspended.message }
  if (isTrue(status, 'Stalled')) return { state: 'Stalled', why: message }
  const newest = status?.candidate ? isTrue(status, 'Reconciling') : undefined
  const why = newest ? `${message}; ${newest.message}` : message
  if (isWaiting) return { state: 'AwaitingApproval', why }
  if (reason === 'TargetNotReadable') return { state: 'Unknown', why }
  if (status?.run) return { state: status.run.phase, why }
  const [first] = spec.environments
  if (reason !== 'ReconciliationSucceeded') return { state: reason, why: message }
  return { state: 'NoRevision', why: `no revision is ready in ${first?.name ?? 'its first environment'} yet` }
}

function bondItem(object: Bond): ManagedItem {
  const { reason, message } = readyOf(object.status)
  return { object: refFor(object, bond), system: 'collector', state: object.status?.phase ?? reason, why: message }
}

function environmentItem(object: Environment): ManagedItem {
  const { reason, message } = readyOf(object.status)
  const { phase, sleepsAt, deletesAt, message: said } = object.status ?? {}
  const events = [
    { what: 'sleeps', at: parseTime(sleepsAt) },
    { what: 'deleted', at: parseTime(deletesAt) },
  ].flatMap(({ what, at }) => (at === undefined ? [] : [{ what, at }]))
  const [next] = phase === 'Announced' ? events.slice(-1) : events.toSorted((left, right) => left.at - right.at)
  return {
    object: refFor(object, environment),
    system: 'environments',
    state: phase ?? reason,
    ...(next ? { next } : {}),
    why: said ?? message,
  }
}

function leavingItem({ spec, status }: Departure): ManagedItem {
  const { apiVersion, kind, namespace, name } = spec.object
  const finalizers = status?.waitingFor?.length ? `waits for ${status.waitingFor.join(', ')}` : 'being deleted'
  const waits = status?.message ?? finalizers
  return {
    object: { apiVersion, kind, ...placeOf({ name, namespace }) },
    system: spec.by.system === 'user' ? 'collector' : spec.by.system,
    uid: spec.object.uid,
    state: 'Leaving',
    next: { what: 'gone' },
    why: `${waits} (${spec.because})`,
  }
}

async function serviceItem(
  reader: Reader,
  service: StoredObject,
  { now, environments }: { readonly now: number; readonly environments: readonly Environment[] },
): Promise<ManagedItem> {
  const { workloads, scaling } = readServiceSettings(service)
  const [named] = workloads
  const workload = named && (await findWorkload(reader, named))
  const own = serviceStateOf(service, workload, now, workload && (await ruledSleepOf(reader, workload, now)))
  const { state } = own
  const home = environments.find(({ metadata }) => metadata.namespace === service.metadata.namespace)
  const sleepsAt = parseTime(home?.status?.sleepsAt)
  const isShared = state === 'awake' && !scaling.hasOwnTtl && sleepsAt !== undefined
  const next = isShared ? ({ what: 'sleep', at: sleepsAt } as const) : own.next
  const why = isShared ? `It sleeps with environment ${home?.metadata.name}.` : own.why
  return {
    object: refFor(service, { apiVersion: 'v1', kind: 'Service' }),
    system: 'activator',
    state: state === 'awake' ? 'Awake' : state === 'asleep' ? 'Asleep' : 'Unknown',
    ...(next ? { next: { what: next.what === 'sleep' ? 'falls asleep' : 'wakes', at: next.at } } : {}),
    why: [...remarksOf(service), why].join(' '),
    ...(workloads.length > 0 ? { behind: workloads } : {}),
  }
}

/** A workload with `spec.replicas`, from its scale subresource where it is not of the apps group. */
async function findWorkload(reader: Reader, ref: ObjectRef): Promise<StoredObject | undefined> {
  const type = await reader.client.discovery.typeOf(ref)
  if (!type) return undefined
  const place = { name: ref.name, ...(ref.namespace ? { namespace: ref.namespace } : {}) }
  const object = await reader.get<StoredObject>(type, place)
  if (!object || type.group === 'apps') return object
  const scale = await reader.get<StoredObject>(type, place, { subresource: 'scale' })
  return scale && { ...object, spec: { replicas: 0, ...(scale.spec as object) } }
}
