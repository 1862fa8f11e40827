import type { Approval, EnvironmentStatus, Promotion } from '../../apis/pipeline-status.ts'
import { formatTime } from '../../kube/time.ts'
import { at, wake, type Draft } from './draft.ts'
import type { PromotionPlan } from './plan.ts'

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
  const waiting = waitFor(state, promotion, required, draft.now)
  const counted = (waiting.approvals ?? []).filter((approval) => counts(draft, plan, approval))
  if (counted.some(({ decision }) => decision === 'Reject')) {
    delete state.waitingApproval
    return 'refused'
  }
  const approvers = new Set(counted.map(({ approver }) => approver))
  if (approvers.size < required) return 'missing'
  promotion.approvedBy = [...approvers]
  delete state.waitingApproval
  return 'given'
}

/** The place where approvals of this promotion are collected; those of any other promotion are gone. */
function waitFor(state: EnvironmentStatus, { id, revision }: Promotion, required: number, now: number) {
  if (state.waitingApproval?.promotionId !== id)
    state.waitingApproval = { revision, promotionId: id, since: formatTime(now), required, approvals: [] }
  state.waitingApproval.required = required
  return state.waitingApproval
}

function counts(draft: Draft, { approvers, approvalTtlMs }: PromotionPlan, { approver, at: given }: Approval): boolean {
  if (approvers && !approvers.includes(approver)) return false
  if (approvalTtlMs === undefined) return true
  const endsAt = at(given) + approvalTtlMs
  if (draft.now >= endsAt) return false
  wake(draft, endsAt)
  return true
}
