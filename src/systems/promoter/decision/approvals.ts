import type { Approval, ApprovalStatus } from '../../../apis/approval.ts'
import type { EnvironmentStatus, PipelineStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { isMarkedToKeep } from '../../../departures/door/protection.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, wake, type Draft } from './draft.ts'
import type { PromotionPlan } from '../model/plan.ts'

export type ApprovalVerdict = 'given' | 'missing' | 'refused'

/** Whether enough distinct approvers have approved this very promotion; asks for approvals when they are missing. */
export function judgeApproval(
  draft: Draft,
  given: {
    readonly state: EnvironmentStatus
    readonly promotion: Promotion
    readonly plan: PromotionPlan
    readonly direction: 'Forward' | 'Backward'
  },
): ApprovalVerdict {
  const { state, promotion, plan, direction } = given
  const backward = direction === 'Backward' && draft.plan.rollback === 'RequireApproval'
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
    state.waitingApproval = waiting(state, promotion, { required, counted, now: draft.now })
    return 'missing'
  }
  promotion.approvedBy = [...approvers]
  delete state.waitingApproval
  return 'given'
}

/** What each approval of the pipeline is told of itself; what was said of an earlier promotion stays. */
export function approvalStates(draft: Draft): ReadonlyMap<Approval, ApprovalStatus> {
  const states = new Map<Approval, ApprovalStatus>()
  for (const approval of draft.observed.approvals) {
    const { environment, promotionId } = approval.spec
    const promotion = draft.status.environments?.[environment]?.promotion
    const plan = draft.plan.environments.find(({ name }) => name === environment)?.promotion
    if (promotion?.id === promotionId) states.set(approval, stateOf(draft, { approval, promotion, plan }))
    else if (!approval.status) states.set(approval, ignored('ApprovalStale'))
  }
  return states
}

/** How long what was said about a promotion is kept after it was said: long enough to be asked about it. */
const keptMs = 30 * 86_400_000

/** Approvals whose time is up, oldest first, and when the next one's will be. What is said about a promotion that has its place still counts. */
export function outdatedApprovals(
  approvals: readonly Approval[],
  status: PipelineStatus,
  now: number,
): { readonly outdated: readonly Approval[]; readonly nextAt: number } {
  const byAge = approvals
    .filter(({ spec }) => status.environments?.[spec.environment]?.promotion?.id !== spec.promotionId)
    .filter((approval) => !isMarkedToKeep(approval))
    .map((approval) => ({ approval, until: (parseTime(approval.metadata.creationTimestamp) ?? Infinity) + keptMs }))
    .toSorted((left, right) => left.until - right.until)
  return {
    outdated: byAge.filter(({ until }) => now >= until).map(({ approval }) => approval),
    nextAt: byAge.find(({ until }) => now < until)?.until ?? Infinity,
  }
}

function stateOf(
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
  if (counted) return countedState
  // Decided without it: it came too late.
  if (promotion.phase !== 'Gated' && promotion.phase !== 'AwaitingApproval') return approval.status ?? tooLate
  const why = plan ? whyIgnored(draft, plan, approval) : 'NoPromotionConfigured'
  return why ? ignored(why) : countedState
}

function ignored(because: Because): ApprovalStatus {
  return { state: 'Ignored', reason: because, message: sentenceOf(because) }
}

const countedState: ApprovalStatus = {
  state: 'Counted',
  reason: 'ApprovalCounted',
  message: sentenceOf('ApprovalCounted'),
}
const tooLate = ignored('ApprovalStale')

function approvalsOf({ observed }: Draft, { id }: Promotion): readonly Approval[] {
  return observed.approvals.filter(({ spec }) => spec.promotionId === id)
}

/** Why an approval does not count; an expired one is looked at again in time. */
function whyIgnored(
  draft: Draft,
  { approvers, approvalTtlMs }: PromotionPlan,
  approval: Approval,
): Because | undefined {
  if (approvers && !approvers.includes(approval.spec.approver)) return 'NotAnApprover'
  if (approvalTtlMs === undefined) return undefined
  const endsAt = at(approval.metadata.creationTimestamp) + approvalTtlMs
  if (draft.now >= endsAt) return 'ApprovalExpired'
  wake(draft, endsAt)
  return undefined
}

const maxShown = 100

/** What is waited for, and who has spoken so far. */
function waiting(
  state: EnvironmentStatus,
  { id, revision }: Promotion,
  given: { readonly required: number; readonly counted: readonly Approval[]; readonly now: number },
): NonNullable<EnvironmentStatus['waitingApproval']> {
  const before = state.waitingApproval?.promotionId === id ? state.waitingApproval.since : undefined
  const approvals = given.counted.slice(0, maxShown).map(({ spec, metadata }) => ({
    approver: spec.approver,
    decision: spec.decision,
    at: metadata.creationTimestamp ?? formatTime(given.now),
    ...(spec.comment ? { comment: spec.comment } : {}),
  }))
  return { revision, promotionId: id, since: before ?? formatTime(given.now), required: given.required, approvals }
}
