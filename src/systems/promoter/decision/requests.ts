import type { Approval } from '../../../apis/approval.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Draft } from './draft.ts'
import { promoteAgain, resumeFailed } from './promotions.ts'
import { identityOf } from '../model/revision.ts'

/** A new value of this annotation retries every environment of the pipeline, as a Retry request does. */
export const retryAnnotation = 'sojourn.dev/retry'

/** Whether an Approval asks for an action rather than deciding on a promotion. */
export function isRequest({ spec: { decision } }: Approval): boolean {
  return decision !== 'Approve' && decision !== 'Reject'
}

/** Whether this is a reason for which a request was not carried out. */
export function isRefusal(because: Because): boolean {
  return refusals.has(because)
}

/** Carries out each request once, oldest first, and records it in the status. */
export function handleRequests(draft: Draft): void {
  const { status, observed } = draft
  const requested = observed.pipeline.metadata.annotations?.[retryAnnotation]
  if (requested !== undefined && requested !== status.retryHandled) {
    status.retryHandled = requested
    retry(draft, everyEnvironment)
  }
  const handled = new Set(status.requests?.map(({ uid }) => uid))
  const open = observed.approvals.filter(
    (each) => isRequest(each) && !each.status && !handled.has(each.metadata.uid ?? ''),
  )
  for (const request of open.toSorted((left, right) => ageOrder(left).localeCompare(ageOrder(right))))
    handle(draft, request)
}

const everyEnvironment = '*'
const maxRequests = 20
const refusals: ReadonlySet<Because> = new Set([
  'EnvironmentUnknown',
  'RevisionNotSeen',
  'NotAnApprover',
  'NothingToRetry',
  'NothingToRollBackTo',
])

function ageOrder({ metadata }: Approval): string {
  return `${metadata.creationTimestamp} ${metadata.name}`
}

function handle(draft: Draft, { metadata, spec }: Approval): void {
  const { status, now } = draft
  const { decision, environment, approver: by, revision, comment } = spec
  const result = carryOut(draft, spec)
  const record = {
    uid: metadata.uid ?? '',
    decision,
    environment,
    ...(revision ? { revision } : {}),
    by,
    at: formatTime(now),
    result,
    ...(comment ? { comment } : {}),
  }
  status.requests = [record, ...(status.requests ?? [])].slice(0, maxRequests)
  draft.announce({
    type: isRefusal(result) ? 'Warning' : 'Normal',
    because: result,
    ...(environment === everyEnvironment ? {} : { environment }),
    message: `${by} requested ${decision}${revision ? ` of ${revision}` : ''} for ${environment}: ${sentenceOf(result)}`,
  })
}

function carryOut(draft: Draft, spec: Approval['spec']): Because {
  const { status, plan, now } = draft
  const { decision, environment: name, approver: by } = spec
  if (decision === 'Suspend') {
    status.suspension = { by, at: formatTime(now), ...(spec.comment ? { comment: spec.comment } : {}) }
    return 'Suspended'
  }
  if (decision === 'Resume') {
    delete status.suspension
    return plan.suspended ? 'Suspended' : 'Resumed'
  }
  const environment = plan.environments.slice(1).find((each) => each.name === name)
  if (!environment && !(decision === 'Retry' && name === everyEnvironment)) return 'EnvironmentUnknown'
  if (decision === 'Retry') return retry(draft, name)
  const approvers = environment?.promotion?.approvers
  if (approvers && !approvers.includes(by)) return 'NotAnApprover'
  const revision = decision === 'Rollback' ? previousGood(draft, name) : knownRevision(draft, spec.revision ?? '')
  if (revision === undefined) return decision === 'Rollback' ? 'NothingToRollBackTo' : 'RevisionNotSeen'
  status.sequence = (status.sequence ?? 0) + 1
  draft.environment(name).pin = { revision, sequence: status.sequence, by, at: formatTime(now) }
  return 'Requested'
}

/** Resumes failed promotions where they failed; replaces rejected, reverted, timed-out and drifted ones; hurries the others. */
function retry(draft: Draft, wanted: string): Because {
  const { status, plan } = draft
  let result: Because = 'NothingToRetry'
  for (const { name } of plan.environments.slice(1)) {
    const state = status.environments?.[name]
    if (!state || (wanted !== everyEnvironment && wanted !== name)) continue
    const { promotion, readyOn } = state
    const isDrifted = status.run?.phase === 'Complete' && readyOn?.revision !== status.run.revision && !state.pin
    if (promotion?.phase === 'Failed') resumeFailed(draft, name, promotion, 'RetryRequested')
    else if (promotion?.phase === 'Rejected' || promotion?.because === 'RolloutTimedOut' || isDrifted)
      promoteAgain(draft, name)
    else if (promotion?.nextAttemptAt) delete promotion.nextAttemptAt
    else continue
    result = 'RetryRequested'
  }
  return result
}

/** A revision as the pipeline spells it, from one that it has seen; seven digits of a commit are enough. */
function knownRevision({ status }: Draft, given: string): string | undefined {
  const past = Object.values(status.environments ?? {}).flatMap(({ history = [] }) => history)
  const known = [...(status.revisions ?? []), ...(status.run ? [status.run] : []), ...past].map((each) => each.revision)
  const identity = identityOf(given)
  const isPrefix = /^[0-9a-f]{7,}$/.test(identity)
  return known.find((revision) => {
    const other = identityOf(revision)
    return other === identity || (isPrefix && /^[0-9a-f]{40,}$/.test(other) && other.startsWith(identity))
  })
}

/** The newest revision before the present one that the environment was healthy on. */
function previousGood(draft: Draft, name: string): string | undefined {
  const { promotion, history = [], readyOn, pin } = draft.environment(name)
  const present = new Set([promotion?.revision, pin?.revision, promotion ? undefined : readyOn?.revision])
  const succeeded = history.filter(({ phase }) => phase === 'Succeeded').map(({ revision }) => revision)
  return [promotion?.fromRevision, ...succeeded].find((revision) => revision !== undefined && !present.has(revision))
}
