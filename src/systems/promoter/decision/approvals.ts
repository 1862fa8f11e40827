import type { Approval, ApprovalStatus } from '../../../apis/approval.ts'
import type { EnvironmentStatus, PipelineStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { isMarkedToKeep } from '../../../departures/door/protection.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { isRefusal, isRequest } from './requests.ts'
import { at, type Draft } from './draft.ts'
import type { WantedRevision } from './gates.ts'
import type { PromotionPlan } from '../model/plan.ts'

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
      if (handled && !approval.status) statuses.set(approval, statusOfRequest(handled.result as Because))
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

function statusOfRequest(because: Because): ApprovalStatus {
  return isRefusal(because) ? ignored(because) : { state: 'Counted', reason: because, message: sentenceOf(because) }
}

const countedStatus: ApprovalStatus = {
  state: 'Counted',
  reason: 'ApprovalCounted',
  message: sentenceOf('ApprovalCounted'),
}
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
