import { placeOf } from '../kube/object.ts'
import type { CandidateNotice, CleanupCandidate } from '../apis/cleanup-candidate.ts'
import { parseTime } from '../kube/time.ts'
import { sentenceFor } from '../systems/janitor/model/because.ts'
import { markOf } from '../systems/janitor/decision/candidate.ts'
import { dueAt, isActive } from '../systems/janitor/decision/decide.ts'
import type { Stay } from './stays.ts'

/** How a mark stands, whom it was told to, and what it waits for. */
export function candidateStay(candidate: CleanupCandidate): Stay {
  const { spec, status } = candidate
  const { apiVersion, kind, namespace, name, uid } = spec.resource
  const next = nextOf(candidate)
  return {
    object: { apiVersion, kind, ...placeOf({ name, namespace }) },
    uid,
    system: 'janitor',
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
  const waits = spec.hold ? 'somebody put it on hold' : spec.notBefore && `postponed to ${spec.notBefore}`
  return [rules, told(candidate), ...(message ? [message] : []), ...(waits ? [waits] : [])].filter(Boolean).join(', ')
}

/** Who has been told of this mark; in doubt nobody has. */
function told({ status = {} }: CleanupCandidate): string {
  const { owner, notices = [], generation = 1, phase = 'Marked' } = status
  const ofThisMark = notices.filter((notice) => (notice.generation ?? 1) === generation && notice.kind !== 'copy')
  const taken = ofThisMark.filter(({ error }) => error === undefined)
  if (taken.some(({ kind }) => kind === 'none')) return ''
  if (taken.length > 0) return `${recipientsOf(taken).join(', ') || owner?.address || 'its channel'} was told`
  if (!owner) return phase === 'Marked' ? 'nobody is known who could be told' : ''
  const failed = ofThisMark.at(-1)?.error
  return failed === undefined ? `${owner.address} is not told yet` : `${owner.address} could not be told: ${failed}`
}

function recipientsOf(notices: readonly CandidateNotice[]): readonly string[] {
  return [...new Set(notices.flatMap(({ recipient }) => recipient ?? []))]
}

function nextOf(candidate: CleanupCandidate): Stay['next'] {
  const { spec, status = {} } = candidate
  const { phase = 'Marked', nextAttemptTime } = status
  if (!isActive(phase) || spec.hold) return undefined
  // Its time to leave is counted from the notice: until that is out, nobody knows when.
  const told = parseTime(nextAttemptTime)
  if (phase === 'Marked') return told === undefined ? undefined : { what: 'its owner is told', at: told }
  const due = dueAt(markOf(candidate))?.at
  return { what: 'leaves', ...(due === undefined || due === Infinity ? {} : { at: due }) }
}
