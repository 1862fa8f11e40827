import { placeOf } from '../kube/object.ts'
import type { CandidateNotice, CleanupCandidate } from '../apis/cleanup-candidate.ts'
import { parseTime } from '../kube/time.ts'
import { sentenceFor } from '../systems/janitor/model/because.ts'
import { markOf } from '../systems/janitor/decision/candidate.ts'
import { dueAt, isActive } from '../systems/janitor/decision/decide.ts'
import type { ManagedItem } from './managed-items.ts'

/** A marked object: its phase, who was notified, and what it waits for. */
export function candidateItem(candidate: CleanupCandidate): ManagedItem {
  const { spec, status } = candidate
  const { apiVersion, kind, namespace, name, uid } = spec.resource
  const next = nextOf(candidate)
  return {
    object: { apiVersion, kind, ...placeOf({ name, namespace }) },
    uid,
    system: 'janitor',
    by: spec.policy,
    state: status?.phase ?? 'Marked',
    ...(next ? { next } : {}),
    why: whyOf(candidate),
  }
}

function whyOf(candidate: CleanupCandidate): string {
  const { spec, status = {} } = candidate
  const { phase = 'Marked', because = '', message } = status
  if (!isActive(phase)) return message ?? sentenceFor(because)
  const rules = status.summaries?.map(({ description }) => description).join('; ') || `policy ${spec.policy}`
  const waits = spec.hold ? 'on hold (spec.hold)' : spec.notBefore && `postponed to ${spec.notBefore}`
  return [rules, told(candidate), ...(message ? [message] : []), ...(waits ? [waits] : [])].filter(Boolean).join(', ')
}

/** Who was notified of this mark. */
function told({ status = {} }: CleanupCandidate): string {
  const { owner, notices = [], generation = 1, phase = 'Marked' } = status
  const ofThisMark = notices.filter((notice) => (notice.generation ?? 1) === generation && notice.kind !== 'copy')
  const taken = ofThisMark.filter(({ error }) => error === undefined)
  if (taken.some(({ kind }) => kind === 'none')) return ''
  if (taken.length > 0) return `${recipientsOf(taken).join(', ') || owner?.address || 'its channel'} was notified`
  if (!owner) return phase === 'Marked' ? 'it has no known owner to notify' : ''
  const failed = ofThisMark.at(-1)?.error
  return failed === undefined
    ? `${owner.address} is not notified yet`
    : `${owner.address} could not be notified: ${failed}`
}

function recipientsOf(notices: readonly CandidateNotice[]): readonly string[] {
  return [...new Set(notices.flatMap(({ recipient }) => recipient ?? []))]
}

function nextOf(candidate: CleanupCandidate): ManagedItem['next'] {
  const { spec, status = {} } = candidate
  const { phase = 'Marked', nextAttemptTime } = status
  if (!isActive(phase) || spec.hold) return undefined
  // The time of deletion is counted from the notice: before it is sent, the time is unknown.
  const told = parseTime(nextAttemptTime)
  if (phase === 'Marked') return told === undefined ? undefined : { what: 'its owner is notified', at: told }
  const due = dueAt(markOf(candidate))?.at
  return { what: 'deleted', ...(due === undefined || due === Infinity ? {} : { at: due }) }
}
