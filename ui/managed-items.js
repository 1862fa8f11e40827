/** @import { Bond } from '../src/apis/bond.ts' */
/** @import { Cleaner } from '../src/apis/cleaner.ts' */
/** @import { CleanupCandidate } from '../src/apis/cleanup-candidate.ts' */
/** @import { ConditionalTtl } from '../src/apis/conditional-ttl.ts' */
/** @import { Departure } from '../src/apis/departure.ts' */
/** @import { Environment } from '../src/apis/environment.ts' */
/** @import { Pipeline } from '../src/apis/pipeline.ts' */
/** @import { StoredObject } from '../src/kube/object.ts' */
/** @import { Mirror } from './mirror.js' */
/** @import { Ref, Service, ManagedItem } from './types.d.ts' */
import { kinds } from './kinds.js'
import { isOnDemand, remarksOf, serviceStateOf } from './service-state.js'
import { parseTime } from './time.js'

/**
 * Everything that Sojourn manages, the nearest next event first.
 * @param {Pick<Mirror, 'all' | 'find'>} mirror
 * @param {number} now
 * @returns {ManagedItem[]}
 */
export function managedItemsOf(mirror, now) {
  const items = [
    ...mirror.all('cleaners').map(cleanerItem),
    ...mirror.all('ownCleaners').map(ownCleanerItem),
    ...mirror.all('ttls').map(ttlItem),
    ...mirror.all('candidates').map(candidateItem),
    ...mirror.all('pipelines').map(pipelineItem),
    ...mirror.all('bonds').map(bondItem),
    ...mirror.all('environments').map(environmentItem),
    ...mirror
      .all('departures')
      // A Cleaner has an item of its own, which says what it waits for.
      .filter(({ status, spec }) => status?.phase === 'Leaving' && !isCleaner(spec.object))
      .map(leavingItem),
    ...mirror
      .all('services')
      .filter(isOnDemand)
      .map((service) => serviceItem(mirror, service, now)),
  ]
  return items.sort((left, right) => (left.next?.at ?? Infinity) - (right.next?.at ?? Infinity) || 0)
}

/**
 * Computes an item once per object: objects of the mirror are replaced, never changed.
 * @template {object} Given
 * @param {(object: Given) => ManagedItem} make
 * @returns {(object: Given) => ManagedItem}
 */
function once(make) {
  /** @type {WeakMap<Given, ManagedItem>} */
  const made = new WeakMap()
  return (object) => {
    const known = made.get(object)
    if (known) return known
    const item = make(object)
    made.set(object, item)
    return item
  }
}

/**
 * The Ready condition of an object.
 * @param {{ readonly status?: unknown }} object
 * @returns {{ reason: string, message: string }}
 */
export function readyOf({ status }) {
  const { conditions = [] } = /** @type {{ conditions?: { type: string, reason: string, message: string }[] }} */ (
    status ?? {}
  )
  return conditions.find(({ type }) => type === 'Ready') ?? { reason: 'New', message: 'not evaluated yet' }
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

const cleanerItem = once((/** @type {Cleaner} */ object) => expiringItem(object, kinds.cleaners))
const ownCleanerItem = once((/** @type {Cleaner} */ object) => expiringItem(object, kinds.ownCleaners))
const ttlItem = once((/** @type {ConditionalTtl} */ object) => expiringItem(object, kinds.ttls))

/**
 * @param {StoredObject} object
 * @param {{ apiVersion: string, kind: string }} type
 * @returns {ManagedItem}
 */
function expiringItem(object, type) {
  const { reason, message } = readyOf(object)
  const known = { object: refFor(object, type), system: 'cleaner', since: createdAt(object), why: message }
  if (object.metadata.deletionTimestamp)
    return { ...known, state: 'Leaving', next: { what: 'being deleted', isEnd: true } }
  const { nextScheduledEvaluation } = /** @type {{ nextScheduledEvaluation?: string }} */ (object.status ?? {})
  const at = parseTime(nextScheduledEvaluation)
  const isEnd = reason === 'NotExpired'
  const next = at === undefined ? undefined : { what: isEnd ? 'expires' : 'evaluated again', at, isEnd }
  return { ...known, state: reason, next }
}

/** @param {{ apiVersion: string, kind: string }} object */
function isCleaner({ apiVersion, kind }) {
  return [kinds.cleaners, kinds.ownCleaners, kinds.ttls].some(
    (own) => own.apiVersion === apiVersion && own.kind === kind,
  )
}

/** A mark of a cleanup policy as an item. */
export const candidateItem = once((/** @type {CleanupCandidate} */ candidate) => {
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

/** The time of deletion is counted from the notice: before it is sent, the time is unknown. @param {CleanupCandidate} candidate */
export function nextOfMark({ spec, status }) {
  const { phase = 'Marked', projectedDeletionTime, promisedTime, scheduledTime, nextAttemptTime } = status ?? {}
  const again = parseTime(nextAttemptTime)
  if (phase === 'Marked')
    return again === undefined ? undefined : { what: 'its owner is notified', at: again, isEnd: false }
  const projected = parseTime(projectedDeletionTime)
  if (projected === undefined) return { what: 'deleted', isEnd: true }
  const times = [
    projected,
    parseTime(promisedTime),
    parseTime(spec.notBefore),
    phase === 'Due' ? parseTime(scheduledTime) : 0,
    phase === 'Failed' || phase === 'Deleting' ? again : 0,
  ]
  return { what: 'deleted', at: Math.max(...times.map((at) => at ?? 0)), isEnd: true }
}

/** @param {CleanupCandidate} candidate */
function whyMarked({ spec, status = {} }) {
  const rules = status.summaries?.map(({ description }) => description).join('; ') || `policy ${spec.policy}`
  const waits = spec.hold ? 'on hold (spec.hold)' : spec.notBefore && `postponed to ${spec.notBefore}`
  return [rules, notifiedText(status), status.message, waits].filter(Boolean).join(', ')
}

/** Who was notified of a mark. @param {NonNullable<CleanupCandidate['status']>} status */
export function notifiedText({ owner, notices = [], generation = 1, phase = 'Marked' }) {
  const ofThisMark = notices.filter((notice) => (notice.generation ?? 1) === generation && notice.kind !== 'copy')
  const taken = ofThisMark.filter(({ error }) => error === undefined)
  if (taken.some(({ kind }) => kind === 'none')) return ''
  const recipients = [...new Set(taken.flatMap(({ recipient }) => recipient ?? []))].join(', ')
  if (taken.length > 0) return `${recipients || owner?.address || 'its channel'} was notified`
  if (!owner) return phase === 'Marked' ? 'it has no known owner to notify' : ''
  const failed = ofThisMark.at(-1)?.error
  return failed === undefined
    ? `${owner.address} is not notified yet`
    : `${owner.address} could not be notified: ${failed}`
}

const pipelineItem = once((/** @type {Pipeline} */ object) => {
  const known = { object: refFor(object, kinds.pipelines), system: 'promoter', since: createdAt(object) }
  if (object.metadata.deletionTimestamp)
    return { ...known, state: 'Leaving', next: { what: 'gone', isEnd: true }, why: whatIsWithdrawn(object) }
  const { reason, message } = readyOf(object)
  const environments = Object.entries(object.status?.environments ?? {})
  const waiting = environments.find(([, { waitingApproval }]) => waitingApproval?.promotionId)
  const isWaiting = waiting !== undefined
  const gates = environments.flatMap(([name, { gates = [] }]) =>
    gates.flatMap(({ state, nextCheckAt }) => {
      const at = state === 'Open' ? undefined : parseTime(nextCheckAt)
      return at === undefined ? [] : [{ what: `${name} may continue`, at, isEnd: false }]
    }),
  )
  const [soonest] = gates.sort((left, right) => left.at - right.at)
  return {
    ...known,
    next: personsAction(object) ?? soonest,
    ...pipelineState(object, { isWaiting, reason, message }),
  }
})

/** What a Pipeline that is being deleted has open still, and why. @param {Pipeline} pipeline */
function whatIsWithdrawn({ status }) {
  const open = Object.values(status?.environments ?? {}).flatMap(({ promotion }) =>
    promotion?.withdraw === 'Due' ? [promotion] : [],
  )
  const each = open.map(({ pullRequest, branch, lastError }) => {
    const problem = lastError ? `, which has failed: ${lastError.message}` : ''
    return `${pullRequest?.url ?? `branch ${branch}`} is closed first${problem}`
  })
  return each.join('; ') || 'being deleted'
}

/** What a person has to do next, as the command line says it. @param {Pipeline} pipeline */
function personsAction({ metadata, status }) {
  const say = (/** @type {string} */ what) => ({ what, isEnd: false })
  const at = `-n ${metadata.namespace}`
  if (status?.suspension) return say(`sojourn resume ${metadata.name} ${at}`)
  for (const [name, { waitingApproval, promotion }] of Object.entries(status?.environments ?? {})) {
    const { pullRequest, phase, because, revision = '' } = promotion ?? {}
    if (waitingApproval?.promotionId)
      return say(`approve: sojourn approve ${metadata.name} ${name} ${identityOf(waitingApproval.revision)} ${at}`)
    if (phase === 'Proposed' && pullRequest)
      return say(`${pullRequest.isConflicting ? 'resolve conflicts of' : 'merge'} ${pullRequest.url} for ${name}`)
    if (phase === 'Rejected') return say(`a newer revision, or: sojourn retry ${metadata.name} ${name} ${at}`)
    if (phase === 'Failed')
      return say(`fix ${name}: ${promotion?.lastError?.message ?? because} (${shortRevision(revision)})`)
    if (because === 'RolloutTimedOut') return say(`fix ${name}, or: sojourn rollback ${metadata.name} ${name} ${at}`)
  }
  if (isTrue(status, 'Drifted')) return say(`sojourn retry ${metadata.name} ${at}`)
  return isTrue(status, 'Stalled') && say(`sojourn explain pipeline/${metadata.name} ${at}`)
}

/** @param {Pipeline['status']} status @param {string} type */
function isTrue(status, type) {
  return status?.conditions?.find((each) => each.type === type && each.status === 'True')
}

/** A revision without the branch or tag that it was reached by. @param {string} revision */
function identityOf(revision) {
  const [, hash] = /(?:^|[:/])([0-9a-f]{64}|[0-9a-f]{40})$/.exec(revision) ?? []
  return hash ?? revision.replace(/^v(?=\d+\.\d+\.\d+)/, '')
}

/** Hashes cut to seven digits, as git does. @param {string} revision */
export function shortRevision(revision) {
  return revision.replace(/[0-9a-f]{40,64}/g, (hash) => hash.slice(0, 7))
}

/**
 * A pipeline without a revision is not described by its Ready condition, which only says that targets were read.
 * @param {Pipeline} object
 * @param {{ isWaiting: boolean, reason: string, message: string }} known
 */
export function pipelineState({ spec, status }, { isWaiting, reason, message }) {
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

const bondItem = once((/** @type {Bond} */ object) => {
  const { reason, message } = readyOf(object)
  return {
    object: refFor(object, kinds.bonds),
    system: 'collector',
    state: object.status?.phase ?? reason,
    since: createdAt(object),
    why: message,
  }
})

const environmentItem = once((/** @type {Environment} */ object) => {
  const { reason, message } = readyOf(object)
  const { phase, sleepsAt, deletesAt, message: said } = object.status ?? {}
  const events = [
    { what: 'falls asleep', at: parseTime(sleepsAt), isEnd: false },
    { what: 'deleted', at: parseTime(deletesAt), isEnd: true },
  ].flatMap(({ at, ...event }) => (at === undefined ? [] : [{ ...event, at }]))
  const [next] = phase === 'Announced' ? events.slice(-1) : events.sort((left, right) => left.at - right.at)
  return {
    object: refFor(object, kinds.environments),
    system: 'environments',
    state: phase ?? reason,
    since: createdAt(object),
    next,
    why: said ?? message,
  }
})

const leavingItem = once((/** @type {Departure} */ { spec, status }) => {
  const waits = status?.waitingFor?.length ? `waits for ${status.waitingFor.join(', ')}` : 'being deleted'
  return {
    object: spec.object,
    system: spec.by.system === 'user' ? 'collector' : spec.by.system,
    state: 'Leaving',
    since: parseTime(spec.recordedAt),
    next: { what: 'being deleted', isEnd: true },
    why: `${waits} (${spec.because})`,
  }
})

/**
 * @param {Pick<Mirror, 'all' | 'find'>} mirror
 * @param {Service} service
 * @param {number} now
 * @returns {ManagedItem}
 */
function serviceItem(mirror, service, now) {
  const { state, next, why } = serviceStateOf(mirror, service, now)
  return {
    object: refFor(service, kinds.services),
    system: 'activator',
    state,
    since: createdAt(service),
    next: next && { ...next, isEnd: false },
    why: [...remarksOf(service), why].join(' '),
  }
}
