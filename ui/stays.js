/** @import { Bond } from '../src/apis/bond.ts' */
/** @import { Cleaner } from '../src/apis/cleaner.ts' */
/** @import { CleanupCandidate } from '../src/apis/cleanup-candidate.ts' */
/** @import { ConditionalTtl } from '../src/apis/conditional-ttl.ts' */
/** @import { Departure } from '../src/apis/departure.ts' */
/** @import { Pipeline } from '../src/apis/pipeline.ts' */
/** @import { StoredObject } from '../src/kube/object.ts' */
/** @import { Mirror } from './mirror.js' */
/** @import { Ref, Service, Stay } from './types.d.ts' */
import { kinds } from './kinds.js'
import { isOnDemand, remarksOf, standingOf, workloadOf } from './standing.js'
import { parseTime } from './time.js'

/**
 * Everything in a stay, those with the nearest next event first.
 * @param {Pick<Mirror, 'all' | 'find'>} mirror
 * @param {number} now
 * @returns {Stay[]}
 */
export function staysOf(mirror, now) {
  const stays = [
    ...mirror.all('cleaners').map(cleanerStay),
    ...mirror.all('ttls').map(ttlStay),
    ...mirror.all('candidates').map(candidateStay),
    ...mirror.all('pipelines').map(pipelineStay),
    ...mirror.all('bonds').map(bondStay),
    ...mirror
      .all('departures')
      // A Cleaner that leaves says itself what it waits for.
      .filter(({ status, spec }) => status?.phase === 'Leaving' && !isCleaner(spec.object))
      .map(leavingStay),
    ...mirror
      .all('services')
      .filter(isOnDemand)
      .map((service) => serviceStay(mirror, service, now)),
  ]
  return stays.sort((left, right) => (left.next?.at ?? Infinity) - (right.next?.at ?? Infinity) || 0)
}

/**
 * Says of an object once what follows from it alone: an object of the mirror is never changed, only replaced.
 * @template {object} Given
 * @param {(object: Given) => Stay} make
 * @returns {(object: Given) => Stay}
 */
function once(make) {
  /** @type {WeakMap<Given, Stay>} */
  const made = new WeakMap()
  return (object) => {
    const known = made.get(object)
    if (known) return known
    const stay = make(object)
    made.set(object, stay)
    return stay
  }
}

/**
 * The condition that says how an object is doing.
 * @param {{ readonly status?: unknown }} object
 * @returns {{ reason: string, message: string }}
 */
export function readyOf({ status }) {
  const { conditions = [] } = /** @type {{ conditions?: { type: string, reason: string, message: string }[] }} */ (
    status ?? {}
  )
  return conditions.find(({ type }) => type === 'Ready') ?? { reason: 'New', message: 'nobody has looked at it yet' }
}

/** @param {StoredObject} object @param {{ apiVersion: string, kind: string }} type @returns {Ref} */
function refFor({ metadata }, { apiVersion, kind }) {
  const { name, namespace, uid } = metadata
  return { apiVersion, kind, namespace, name, uid }
}

/** @param {StoredObject} object */
function createdAt({ metadata }) {
  return parseTime(metadata.creationTimestamp)
}

const cleanerStay = once((/** @type {Cleaner} */ object) => expiringStay(object, kinds.cleaners))
const ttlStay = once((/** @type {ConditionalTtl} */ object) => expiringStay(object, kinds.ttls))

/**
 * @param {StoredObject} object
 * @param {{ apiVersion: string, kind: string }} type
 * @returns {Stay}
 */
function expiringStay(object, type) {
  const { reason, message } = readyOf(object)
  const known = { object: refFor(object, type), system: 'cleaner', since: createdAt(object), why: message }
  if (object.metadata.deletionTimestamp)
    return { ...known, state: 'Leaving', next: { what: 'leaving now', isEnd: true } }
  const { nextScheduledEvaluation } = /** @type {{ nextScheduledEvaluation?: string }} */ (object.status ?? {})
  const at = parseTime(nextScheduledEvaluation)
  const isEnd = reason === 'NotExpired'
  const next = at === undefined ? undefined : { what: isEnd ? 'its time is up' : 'looked at again', at, isEnd }
  return { ...known, state: reason, next }
}

/** @param {{ apiVersion: string, kind: string }} object */
function isCleaner({ apiVersion, kind }) {
  return [kinds.cleaners, kinds.ttls].some((own) => own.apiVersion === apiVersion && own.kind === kind)
}

const candidateStay = once((/** @type {CleanupCandidate} */ candidate) => {
  const { spec, status, metadata } = candidate
  const isActive = !['Deleted', 'OptedOut', 'Unmarked'].includes(status?.phase ?? '')
  return {
    object: spec.resource,
    system: 'janitor',
    state: status?.phase ?? 'Marked',
    since: parseTime(status?.createdAt) ?? parseTime(status?.markedAt) ?? parseTime(metadata.creationTimestamp),
    next: isActive && !spec.hold ? nextOfMark(candidate) : undefined,
    why: isActive ? whyMarked(candidate) : (status?.message ?? status?.because ?? ''),
  }
})

/** Its time to leave is counted from the notice: until that is out, nobody knows when. @param {CleanupCandidate} candidate */
export function nextOfMark({ spec, status }) {
  const { phase = 'Marked', projectedDeletionTime, promisedTime, scheduledTime, nextAttemptTime } = status ?? {}
  const again = parseTime(nextAttemptTime)
  if (phase === 'Marked')
    return again === undefined ? undefined : { what: 'its owner is told', at: again, isEnd: false }
  const projected = parseTime(projectedDeletionTime)
  if (projected === undefined) return { what: 'leaves', isEnd: true }
  const times = [
    projected,
    parseTime(promisedTime),
    parseTime(spec.notBefore),
    phase === 'Due' ? parseTime(scheduledTime) : 0,
    phase === 'Failed' || phase === 'Deleting' ? again : 0,
  ]
  return { what: 'leaves', at: Math.max(...times.map((at) => at ?? 0)), isEnd: true }
}

/** @param {CleanupCandidate} candidate */
function whyMarked({ spec, status = {} }) {
  const rules = status.summaries?.map(({ description }) => description).join('; ') || `policy ${spec.policy}`
  const waits = spec.hold ? 'somebody put it on hold' : spec.notBefore && `postponed to ${spec.notBefore}`
  return [rules, told(status), status.message, waits].filter(Boolean).join(', ')
}

/** Who has been told of a mark; in doubt nobody has. @param {NonNullable<CleanupCandidate['status']>} status */
export function told({ owner, notices = [], generation = 1, phase = 'Marked' }) {
  const ofThisMark = notices.filter((notice) => (notice.generation ?? 1) === generation && notice.kind !== 'copy')
  const taken = ofThisMark.filter(({ error }) => error === undefined)
  if (taken.some(({ kind }) => kind === 'none')) return ''
  const recipients = [...new Set(taken.flatMap(({ recipient }) => recipient ?? []))].join(', ')
  if (taken.length > 0) return `${recipients || owner?.address || 'its channel'} was told`
  if (!owner) return phase === 'Marked' ? 'nobody is known who could be told' : ''
  const failed = ofThisMark.at(-1)?.error
  return failed === undefined ? `${owner.address} is not told yet` : `${owner.address} could not be told: ${failed}`
}

const pipelineStay = once((/** @type {Pipeline} */ object) => {
  const { reason, message } = readyOf(object)
  const environments = Object.entries(object.status?.environments ?? {})
  const waiting = environments.find(([, { waitingApproval }]) => waitingApproval?.promotionId)
  const isWaiting = waiting !== undefined
  const gates = environments.flatMap(([name, { gates = [] }]) =>
    gates.flatMap(({ state, nextCheckAt }) => {
      const at = state === 'Open' ? undefined : parseTime(nextCheckAt)
      return at === undefined ? [] : [{ what: `${name} may go on`, at, isEnd: false }]
    }),
  )
  const [soonest] = gates.sort((left, right) => left.at - right.at)
  return {
    next: waiting ? { what: `waits for approval in ${waiting[0]}`, isEnd: false } : soonest,
    object: refFor(object, kinds.pipelines),
    system: 'promoter',
    since: createdAt(object),
    ...pipelineState(object, { isWaiting, reason, message }),
  }
})

/**
 * That all targets could be read is no news of a pipeline that has nothing to carry yet.
 * @param {Pipeline} object
 * @param {{ isWaiting: boolean, reason: string, message: string }} known
 */
export function pipelineState({ spec, status }, { isWaiting, reason, message }) {
  if (isWaiting) return { state: 'AwaitingApproval', why: message }
  if (status?.run) return { state: status.run.phase, why: message }
  const [first] = spec.environments
  if (reason !== 'ReconciliationSucceeded') return { state: reason, why: message }
  return { state: 'NoRevision', why: `no revision is ready in ${first?.name ?? 'its first environment'} yet` }
}

const bondStay = once((/** @type {Bond} */ object) => {
  const { reason, message } = readyOf(object)
  return {
    object: refFor(object, kinds.bonds),
    system: 'collector',
    state: object.status?.phase ?? reason,
    since: createdAt(object),
    why: message,
  }
})

const leavingStay = once((/** @type {Departure} */ { spec, status }) => {
  const waits = status?.waitingFor?.length ? `waits for ${status.waitingFor.join(', ')}` : 'on its way out'
  return {
    object: spec.object,
    system: spec.by.system === 'user' ? 'collector' : spec.by.system,
    state: 'Leaving',
    since: parseTime(spec.recordedAt),
    next: { what: 'leaving now', isEnd: true },
    why: `${waits} (${spec.because})`,
  }
})

/**
 * @param {Pick<Mirror, 'find'>} mirror
 * @param {Service} service
 * @param {number} now
 * @returns {Stay}
 */
function serviceStay(mirror, service, now) {
  const { state, next, why } = standingOf(service, workloadOf(mirror, service), now)
  return {
    object: refFor(service, kinds.services),
    system: 'activator',
    state,
    since: createdAt(service),
    next: next && { ...next, isEnd: false },
    why: [...remarksOf(service), why].join(' '),
  }
}
