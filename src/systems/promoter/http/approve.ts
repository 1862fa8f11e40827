import { approval as approvalKind, type Approval, type ApprovalSpec } from '../../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import type { PipelineStatus } from '../../../apis/pipeline-status.ts'
import type { Client } from '../../../client/client.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import { at } from '../decision/draft.ts'
import { sha256 } from '../model/identity.ts'
import { PlanError, planOf } from '../model/plan.ts'

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

/** Makes an Approval where the reconciler will find it; decides nothing. Throws NotFound for an unknown pipeline. */
export async function approve(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  given: { readonly request: ApprovalRequest; readonly clock: Clock },
): Promise<ApprovalOutcome> {
  const { request, clock } = given
  const pipeline = await client.get<Pipeline>(pipelineKind.type, place)
  const outcome = meantFor(pipeline.status ?? {}, request)
  if (outcome.outcome !== 'recorded') return outcome
  const ttlMs = ttlOf(pipeline, request.environment)
  for (let count = 1; ; count++) {
    const approval = approvalOf(pipeline, { request, count, ...outcome })
    try {
      await client.create(approvalKind.type, approval)
      return outcome
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    const { namespace } = place
    const before = await client.get<Approval>(approvalKind.type, { namespace, name: approval.metadata.name! })
    if (clock.now() < at(before.metadata.creationTimestamp) + ttlMs) return { ...outcome, outcome: 'same' }
  }
}

/** Which promotion a request is for, if it waits; the same word again on one that was approved is the same. */
function meantFor(status: PipelineStatus, request: ApprovalRequest): ApprovalOutcome {
  const { environment, approver, decision } = request
  const state = status.environments?.[environment]
  const waiting = state?.waitingApproval
  const { promotion } = state ?? {}
  if (waiting?.promotionId && isMeant(request, waiting.promotionId, waiting.revision))
    return { outcome: 'recorded', promotionId: waiting.promotionId }
  const isOld = promotion?.approvedBy?.includes(approver) && isMeant(request, promotion.id, promotion.revision)
  if (promotion && isOld && decision === 'Approve') return { outcome: 'same', promotionId: promotion.id }
  const current = waiting?.promotionId ?? promotion?.id
  const revision = waiting?.revision ?? promotion?.revision
  return { outcome: 'stale', ...(current ? { promotionId: current } : {}), ...(revision ? { revision } : {}) }
}

/** A bare word for "whatever waits" is no approval: it has to name the promotion or its revision, and name it right. */
function isMeant({ promotionId, revision }: ApprovalRequest, waitingId: string, waitingRevision: string): boolean {
  if (promotionId === undefined && revision === undefined) return false
  return (promotionId ?? waitingId) === waitingId && (revision ?? waitingRevision) === waitingRevision
}

function ttlOf({ spec, metadata }: Pipeline, environment: string): number {
  try {
    const plan = planOf(spec, metadata.namespace ?? '').environments.find(({ name }) => name === environment)
    return plan?.promotion?.approvalTtlMs ?? Infinity
  } catch (error) {
    if (error instanceof PlanError) return Infinity
    throw error
  }
}

const longestText = 256
const longestRevision = 1024

/** Named after what it says, so that the same word twice is one object; it goes when its pipeline goes. */
function approvalOf(
  { apiVersion, kind, metadata }: Pipeline,
  given: { readonly request: ApprovalRequest; readonly count: number; readonly promotionId: string },
): KubeObject {
  const { request, count, promotionId } = given
  const { environment, revision, decision, comment } = request
  const { namespace = '', name, uid } = metadata
  const approver = request.approver.slice(0, longestText)
  const word = sha256(JSON.stringify([promotionId, approver, decision, count])).slice(0, 10)
  const spec: ApprovalSpec = {
    pipeline: name,
    environment,
    promotionId,
    decision,
    approver,
    ...(revision ? { revision: revision.slice(0, longestRevision) } : {}),
    ...(comment ? { comment: comment.slice(0, longestText) } : {}),
  }
  return {
    apiVersion: approvalKind.apiVersion,
    kind: approvalKind.kind,
    metadata: {
      namespace,
      name: `${name.slice(0, 180)}-${environment}-${word}`,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec,
  }
}
