import { kinds } from './kinds.js'
import { deploymentNameOf, isOnDemand, standingOf } from './standing.js'
import { parseTime } from './time.js'

/**
 * One object in our care: since when, how it stands, what happens to it next, when and why.
 * @typedef {{ kind: string, apiVersion: string, namespace?: string, name: string, uid?: string }} Ref
 * @typedef {{ object: Ref, system: string, state: string, since?: number, why: string,
 *   next?: { what: string, at?: number, isEnd: boolean } }} Stay
 */

/** Everything in a stay, those with the nearest next event first. @returns {Stay[]} */
export function staysOf(mirror, now) {
  const stays = [
    ...mirror.all('cleaners').map((object) => cleanerStay(object, kinds.cleaners)),
    ...mirror.all('ttls').map((object) => cleanerStay(object, kinds.ttls)),
    ...mirror.all('candidates').map(candidateStay),
    ...mirror.all('pipelines').map(pipelineStay),
    ...mirror.all('bonds').map(bondStay),
    ...mirror
      .all('departures')
      .filter(({ status, spec }) => status?.phase === 'Leaving' && !spec.page)
      .map(leavingStay),
    ...mirror
      .all('services')
      .filter(isOnDemand)
      .map((service) => serviceStay(mirror, service, now)),
  ]
  return stays.sort((left, right) => (left.next?.at ?? Infinity) - (right.next?.at ?? Infinity) || 0)
}

/** The condition that says how an object is doing. */
export function readyOf(object) {
  const ready = object.status?.conditions?.find(({ type }) => type === 'Ready')
  return ready ?? { reason: 'New', message: 'nobody has looked at it yet' }
}

function refFor({ metadata }, { apiVersion, kind }) {
  const { name, namespace, uid } = metadata
  return { apiVersion, kind, namespace, name, uid }
}

function createdAt({ metadata }) {
  return parseTime(metadata.creationTimestamp)
}

function cleanerStay(object, type) {
  const { reason, message } = readyOf(object)
  const at = parseTime(object.status?.nextScheduledEvaluation)
  const isEnd = reason === 'NotExpired'
  return {
    object: refFor(object, type),
    system: 'cleaner',
    state: object.metadata.deletionTimestamp ? 'Leaving' : reason,
    since: createdAt(object),
    next: at === undefined ? undefined : { what: isEnd ? 'its time is up' : 'looked at again', at, isEnd },
    why: message,
  }
}

function candidateStay({ spec, status, metadata }) {
  const at = parseTime(status?.projectedDeletionTime)
  const isOver = ['Deleted', 'OptedOut', 'Unmarked'].includes(status?.phase)
  const rules = status?.summaries?.map(({ description }) => description).join('; ')
  const owner = status?.owner ? ` (${status.owner.address} was told)` : ''
  return {
    object: spec.resource,
    system: 'janitor',
    state: status?.phase ?? 'Marked',
    since: parseTime(status?.createdAt) ?? parseTime(status?.markedAt) ?? parseTime(metadata.creationTimestamp),
    next: isOver ? undefined : { what: 'leaves', at, isEnd: true },
    why: `${rules || status?.because || `policy ${spec.policy}`}${owner}`,
  }
}

function pipelineStay(object) {
  const { reason, message } = readyOf(object)
  const isWaiting = Object.values(object.status?.environments ?? {}).some(
    ({ waitingApproval }) => waitingApproval?.promotionId,
  )
  return {
    object: refFor(object, kinds.pipelines),
    system: 'promoter',
    state: isWaiting ? 'AwaitingApproval' : (object.status?.run?.phase ?? reason),
    since: createdAt(object),
    why: message,
  }
}

function bondStay(object) {
  const { reason, message } = readyOf(object)
  return {
    object: refFor(object, kinds.bonds),
    system: 'collector',
    state: object.status?.phase ?? reason,
    since: createdAt(object),
    why: message,
  }
}

function leavingStay({ spec, status }) {
  const waits = status?.waitingFor?.length ? `waits for ${status.waitingFor.join(', ')}` : 'on its way out'
  return {
    object: spec.object,
    system: spec.by.system === 'user' ? 'collector' : spec.by.system,
    state: 'Leaving',
    since: parseTime(spec.recordedAt),
    next: { what: 'leaving now', isEnd: true },
    why: `${waits} (${spec.because})`,
  }
}

function serviceStay(mirror, service, now) {
  const workload = mirror.find('deployments', service.metadata.namespace, deploymentNameOf(service) ?? '')
  const { state, next, why } = standingOf(service, workload, now)
  return {
    object: refFor(service, kinds.services),
    system: 'activator',
    state,
    since: createdAt(service),
    next: next && { ...next, isEnd: false },
    why,
  }
}
