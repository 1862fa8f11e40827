import { pipeline as pipelineKind, type Pipeline } from '../../apis/pipeline.ts'
import type { Approval, PipelineStatus } from '../../apis/pipeline-status.ts'
import type { Client } from '../../client/client.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { sleep, type Clock } from '../../runtime/clock.ts'
import { copyOf } from './draft.ts'

/** Somebody's word on one promotion. */
export interface ApprovalRequest {
  readonly environment: string
  /** Which promotion; the one that waits when only a revision is given. */
  readonly promotionId?: string
  readonly revision?: string
  readonly decision: 'Approve' | 'Reject'
  readonly approver: string
  readonly comment?: string
}

export type ApprovalOutcome =
  | { readonly outcome: 'recorded' | 'same'; readonly promotionId: string }
  /** It was meant for another promotion than the one that waits, if any does. */
  | { readonly outcome: 'stale'; readonly promotionId?: string; readonly revision?: string }

/** Writes an approval down where the reconciler will find it; decides nothing. Throws NotFound for an unknown pipeline. */
export async function approve(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  given: { readonly request: ApprovalRequest; readonly clock: Clock },
): Promise<ApprovalOutcome> {
  const { request, clock } = given
  for (let attempt = 1; ; attempt++) {
    const pipeline = await client.get<Pipeline>(pipelineKind.type, place)
    const { status, ...outcome } = applyApproval(pipeline.status ?? {}, request, clock.now())
    if (!status) return outcome
    try {
      await client.update(pipelineKind.type, { ...pipeline, status }, { subresource: 'status' })
      return outcome
    } catch (error) {
      if (!isStatusError(error, 'Conflict') || attempt >= tries) throw error
      await sleep(clock, 20 * attempt)
    }
  }
}

/** The status with the approval in it, where it belongs to the promotion that waits. */
export function applyApproval(
  status: PipelineStatus,
  request: ApprovalRequest,
  now: number,
): ApprovalOutcome & { readonly status?: PipelineStatus } {
  const { environment, approver, decision } = request
  const state = status.environments?.[environment]
  const waiting = state?.waitingApproval
  const { promotion } = state ?? {}
  if (!waiting?.promotionId || !isMeant(request, waiting.promotionId, waiting.revision)) {
    const isOld = promotion?.approvedBy?.includes(approver) && isMeant(request, promotion.id, promotion.revision)
    if (promotion && isOld && decision === 'Approve') return { outcome: 'same', promotionId: promotion.id }
    const current = waiting?.promotionId ?? promotion?.id
    const revision = waiting?.revision ?? promotion?.revision
    return { outcome: 'stale', ...(current ? { promotionId: current } : {}), ...(revision ? { revision } : {}) }
  }
  const { promotionId } = waiting
  const others = (waiting.approvals ?? []).filter((approval) => approval.approver !== approver)
  if (waiting.approvals?.some((approval) => approval.approver === approver && approval.decision === decision))
    return { outcome: 'same', promotionId }
  const next = copyOf(status)
  next.environments![environment]!.waitingApproval!.approvals = [...others, approvalOf(request, now)].slice(
    -maxApprovals,
  )
  return { outcome: 'recorded', promotionId, status: next }
}

const tries = 10
const maxApprovals = 100
const longestText = 256

/** A bare word for "whatever waits" is no approval: it has to name the promotion or its revision, and name it right. */
function isMeant({ promotionId, revision }: ApprovalRequest, waitingId: string, waitingRevision: string): boolean {
  if (promotionId === undefined && revision === undefined) return false
  return (promotionId ?? waitingId) === waitingId && (revision ?? waitingRevision) === waitingRevision
}

function approvalOf({ approver, decision, comment }: ApprovalRequest, now: number): Approval {
  return {
    approver: approver.slice(0, longestText),
    decision,
    at: formatTime(now),
    ...(comment ? { comment: comment.slice(0, longestText) } : {}),
  }
}
