import type { Approval, ApprovalStatus } from '../../../apis/approval.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { EnvironmentStatus, PipelineStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { isMarkedToKeep } from '../../../departures/door/protection.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, type Draft } from './draft.ts'
import { effectOf } from './effects.ts'
import type { WantedRevision } from './gates.ts'
import type { EnvironmentPlan, PromotionPlan } from '../model/plan.ts'
import { hasEnded, isRollingOut, promoteAgain, resumeFailed } from './promotions.ts'
import { isRunTimedOut } from './runs.ts'
import { identityOf, shortRevision } from '../model/revision.ts'

export type ApprovalVerdict = 'given' | 'missing' | 'refused'

/** Whether enough distinct approvers have approved this promotion. Sets `waitingApproval` while approvals are missing. */
export function judgeApprovals(
  draft: Draft,
  given: {
    readonly state: EnvironmentStatus
    readonly promotion: Promotion
    readonly plan: PromotionPlan
    readonly wanted: WantedRevision
  },
): ApprovalVerdict {
  const { state, promotion, plan, wanted } = given
  const isUnasked = wanted.direction === 'Backward' && wanted.requestedAt === undefined
  const backward = isUnasked && draft.plan.rollback === 'RequireApproval'
  const required = Math.max(plan.requiredApprovals, backward ? 1 : 0)
  if (required === 0) {
    delete state.waitingApproval
    return 'given'
  }
  const counted = approvalsOf(draft, promotion).filter((approval) => !whyIgnored(draft, plan, approval))
  if (counted.some(({ spec }) => spec.decision === 'Reject')) {
    delete state.waitingApproval
    return 'refused'
  }
  const approvers = new Set(counted.map(({ spec }) => spec.approver))
  if (approvers.size < required) {
    state.waitingApproval = waitingApproval(state, promotion, { required, counted, now: draft.now })
    return 'missing'
  }
  promotion.approvedBy = [...approvers]
  delete state.waitingApproval
  return 'given'
}

/** The status for each Approval of the pipeline. Those of earlier promotions keep theirs. */
export function approvalStatuses(draft: Draft): ReadonlyMap<Approval, ApprovalStatus> {
  const statuses = new Map<Approval, ApprovalStatus>()
  for (const approval of draft.observed.approvals) {
    const { environment, promotionId } = approval.spec
    if (isRequest(approval)) {
      const handled = draft.status.requests?.find(({ uid }) => uid === approval.metadata.uid)
      if (handled && !approval.status) statuses.set(approval, statusOfRequest(handled))
      continue
    }
    const promotion = draft.status.environments?.[environment]?.promotion
    const plan = draft.plan.environments.find(({ name }) => name === environment)?.promotion
    if (promotion && promotion.id === promotionId)
      statuses.set(approval, statusOf(draft, { approval, promotion, plan }))
    else if (!approval.status) statuses.set(approval, ignored('ApprovalStale'))
  }
  return statuses
}

/** How long an Approval is kept after its creation, as a record of who approved what. */
const retentionMs = 30 * 86_400_000

/**
 * Approvals past their retention, oldest first, and when the next one expires. Approvals of an environment's
 * current promotion and those with the keep mark never expire.
 */
export function expiredApprovals(
  approvals: readonly Approval[],
  status: PipelineStatus,
  now: number,
): { readonly expired: readonly Approval[]; readonly nextAt: number } {
  const byAge = approvals
    .filter(({ spec }) => status.environments?.[spec.environment]?.promotion?.id !== spec.promotionId)
    .filter((approval) => !isMarkedToKeep(approval))
    .map((approval) => ({
      approval,
      until: (parseTime(approval.metadata.creationTimestamp) ?? Infinity) + retentionMs,
    }))
    .toSorted((left, right) => left.until - right.until)
  return {
    expired: byAge.filter(({ until }) => now >= until).map(({ approval }) => approval),
    nextAt: byAge.find(({ until }) => now < until)?.until ?? Infinity,
  }
}

function statusOf(
  draft: Draft,
  given: {
    readonly approval: Approval
    readonly promotion: Promotion
    readonly plan: PromotionPlan | undefined
  },
): ApprovalStatus {
  const { approval, promotion, plan } = given
  const { approver, decision } = approval.spec
  const counted = decision === 'Approve' ? promotion.approvedBy?.includes(approver) : promotion.phase === 'Rejected'
  if (counted) return countedStatus
  // The promotion was decided before this Approval arrived.
  if (promotion.phase !== 'Gated' && promotion.phase !== 'AwaitingApproval') return approval.status ?? staleStatus
  const why = plan ? whyIgnored(draft, plan, approval) : 'NoPromotionConfigured'
  return why ? ignored(why) : countedStatus
}

function ignored(because: Because): ApprovalStatus {
  return { state: 'Ignored', reason: because, message: sentenceOf(because) }
}

function statusOfRequest({ result, revision }: RequestRecord): ApprovalStatus {
  const because = result as Because
  return isRefusal(because) ? ignored(because) : counted(because, revision)
}

function counted(because: Because, revision?: string): ApprovalStatus {
  const about = revision ? `: ${shortRevision(revision)}` : ''
  return { state: 'Counted', reason: because, message: `${sentenceOf(because)}${about}` }
}

type RequestRecord = NonNullable<PipelineStatus['requests']>[number]

const countedStatus = counted('ApprovalCounted')
const staleStatus = ignored('ApprovalStale')

function approvalsOf({ observed }: Draft, { id }: Promotion): readonly Approval[] {
  return observed.approvals.filter((approval) => approval.spec.promotionId === id && !isRequest(approval))
}

/** Why an approval does not count, if it does not. Wakes the pipeline when a counted one will expire. */
function whyIgnored(
  draft: Draft,
  { approvers, approvalTtlMs }: PromotionPlan,
  approval: Approval,
): Because | undefined {
  if (approvers && !approvers.includes(approval.spec.approver)) return 'NotAnApprover'
  if (approvalTtlMs === undefined) return undefined
  const endsAt = at(approval.metadata.creationTimestamp) + approvalTtlMs
  if (draft.now >= endsAt) return 'ApprovalExpired'
  draft.wakeAt(endsAt)
  return undefined
}

const maxShown = 100

/** How many approvals are required, and those given so far. */
function waitingApproval(
  state: EnvironmentStatus,
  { id, revision }: Promotion,
  given: { readonly required: number; readonly counted: readonly Approval[]; readonly now: number },
): NonNullable<EnvironmentStatus['waitingApproval']> {
  const before = state.waitingApproval?.promotionId === id ? state.waitingApproval.since : undefined
  const approvals = given.counted.slice(0, maxShown).map(({ spec, metadata }) => ({
    approver: spec.approver,
    decision: spec.decision as 'Approve' | 'Reject',
    at: metadata.creationTimestamp ?? formatTime(given.now),
    ...(spec.comment ? { comment: spec.comment } : {}),
  }))
  return { revision, promotionId: id, since: before ?? formatTime(given.now), required: given.required, approvals }
}

/** A new value of this annotation retries every environment of the pipeline, as a Retry request does. */
const retryAnnotation = 'sojourn.dev/retry'

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
  const isOpen = (each: Approval) => isRequest(each) && !each.status && !handled.has(each.metadata.uid ?? '')
  const open = observed.approvals.filter((each) => isOpen(each) && !isOfFormer(each, observed.pipeline))
  const ready = open.filter((each) => !waitsForPoll(draft, each))
  const byAge = ready.toSorted((left, right) => ageOrder(left).localeCompare(ageOrder(right)))
  for (const request of byAge.slice(0, maxAtOnce)) handle(draft, request)
  if (byAge.length > maxAtOnce) draft.wakeAt(draft.now)
}

/** Whether a request was made to an earlier Pipeline of this name, or comes from a backup, which has no status. */
function isOfFormer({ metadata }: Approval, pipeline: Pipeline): boolean {
  const owners = metadata.ownerReferences ?? []
  return owners.some(({ kind, uid }) => kind === pipeline.kind && uid !== pipeline.metadata.uid)
}

/** A retry waits until the pull requests are known as they are now: one that was closed just now is to be replaced, one that was opened again is not. */
function waitsForPoll(draft: Draft, { spec: { decision, environment } }: Approval): boolean {
  const { observed, status, isSuspended } = draft
  if (decision !== 'Retry' || observed.dryRun) return false
  return Object.entries(status.environments ?? {}).some(([name, { promotion }]) => {
    if (!promotion || (environment !== everyEnvironment && environment !== name)) return false
    if (promotion.phase === 'Pushed') return !promotion.nextAttemptAt && !isSuspended && !observed.frozen
    return effectOf(promotion) === 'poll' && !observed.polledAt.has(promotion.id)
  })
}

const everyEnvironment = '*'
const maxRequests = 20
/** Well below `maxRequests`: a record that is dropped before its Approval has a status would be carried out again. */
const maxAtOnce = 5
const refusals: ReadonlySet<Because> = new Set([
  'SuspendedInSpec',
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
  const { decision, environment, approver: by, comment } = spec
  const result = carryOut(draft, spec)
  // Of a rollback, the one that was found.
  const revision = result === 'Requested' ? draft.environment(environment).pin?.revision : spec.revision
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
    return plan.suspended ? 'SuspendedInSpec' : 'Resumed'
  }
  const environment = plan.environments.slice(1).find((each) => each.name === name)
  if (!environment && !(decision === 'Retry' && name === everyEnvironment)) return 'EnvironmentUnknown'
  if (decision === 'Retry') return retry(draft, name)
  const approvers = environment?.promotion?.approvers
  if (approvers && !approvers.includes(by)) return 'NotAnApprover'
  const isRollback = decision === 'Rollback'
  const revision = isRollback ? previousGood(draft, environment!) : knownRevision(draft, spec.revision ?? '')
  if (revision === undefined) return isRollback ? 'NothingToRollBackTo' : 'RevisionNotSeen'
  const { promotion, pin } = draft.environment(name)
  // What is on its way keeps its pull request, with its reviews, and its approvals.
  const isUnderway = promotion?.revision === revision && !hasEnded(promotion) && promotion.because !== 'RolloutTimedOut'
  if (isUnderway && pin?.sequence === promotion.runSequence) return 'Requested'
  if (isUnderway) promotion.requestedBy = by
  const sequence = isUnderway ? promotion.runSequence : (status.sequence ?? 0) + 1
  status.sequence = Math.max(status.sequence ?? 0, sequence)
  draft.environment(name).pin = { revision, sequence, by, at: formatTime(now) }
  return 'Requested'
}

/**
 * Resumes failed promotions where they failed; replaces rejected, reverted, timed-out and drifted ones; hurries the others. A run that
 * took too long gets its time once more.
 */
function retry(draft: Draft, wanted: string): Because {
  const { status, plan } = draft
  let result: Because = 'NothingToRetry'
  if (isRunTimedOut(draft)) {
    Object.assign(status.run!, { phase: 'Running', startedAt: formatTime(draft.now) })
    result = 'RetryRequested'
  }
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

/** A revision as the pipeline spells it, from one that it has seen; seven digits of a hash are enough, as they are shown. */
function knownRevision({ status }: Draft, given: string): string | undefined {
  const past = Object.values(status.environments ?? {}).flatMap(({ history = [] }) => history)
  const known = [...(status.revisions ?? []), ...(status.run ? [status.run] : []), ...past].map((each) => each.revision)
  const [, digits] = /(?:^|[:/])([0-9a-f]{7,64})$/.exec(given) ?? []
  return known.find((revision) => {
    const identity = identityOf(revision)
    const isHash = /^[0-9a-f]{40,}$/.test(identity)
    return identity === identityOf(given) || (isHash && digits !== undefined && identity.startsWith(digits))
  })
}

/** The newest revision before the one that runs, or is being rolled out, that the environment was healthy on. */
function previousGood(draft: Draft, environment: EnvironmentPlan): string | undefined {
  const { promotion, history = [] } = draft.environment(environment.name)
  const running = draft.targetsOf(environment).flatMap(({ revision }) => revision ?? [])
  const isUnderway = promotion && (isRollingOut(promotion) || running.length === 0)
  const present = new Set(isUnderway ? [promotion.revision] : running)
  const delivered = [...(promotion ? [promotion] : []), ...history].filter(
    (each) => each.phase === 'Succeeded' || (each === promotion && isUnderway),
  )
  const past = delivered.flatMap(({ revision, fromRevision }) => [revision, fromRevision ?? revision])
  // From where it was first: after a rollback, the revision that it left behind is newer in the history, and no way back.
  const first = past.findLastIndex((revision) => present.has(revision))
  return past.slice(first + 1).find((revision) => !present.has(revision))
}
