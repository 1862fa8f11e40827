import { approval as approvalKind, type Approval, type ApprovalSpec } from '../../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import type { PipelineStatus } from '../../../apis/pipeline-status.ts'
import type { Client } from '../../../client/client.ts'
import type { KubeObject, Place } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import { at } from '../decision/draft.ts'
import { sha256 } from '../model/identity.ts'
import { isSameRevision } from '../model/revision.ts'
import { environmentPlanOf } from '../model/plan.ts'

/** What a user asks of a pipeline. */
export type PipelineRequest = Omit<ApprovalSpec, 'pipeline'>

/** A request to approve or reject one promotion. At least one of its id and revision is required, and both must match. */
export type ApprovalRequest = PipelineRequest & { readonly decision: 'Approve' | 'Reject' }

export type ApprovalOutcome =
  | { readonly outcome: 'recorded' | 'same'; readonly promotionId: string }
  /** It names another promotion than the one that waits, or none waits. */
  | { readonly outcome: 'stale'; readonly promotionId?: string; readonly revision?: string }

/** Creates an Approval for the reconciler to act on. Throws NotFound for an unknown pipeline. */
export async function approve(
  client: Client,
  place: Required<Place>,
  given: { readonly request: ApprovalRequest; readonly clock: Clock },
): Promise<ApprovalOutcome> {
  const { request, clock } = given
  const pipeline = await client.get<Pipeline>(pipelineKind.type, place)
  const outcome = matchPromotion(pipeline.status ?? {}, request)
  if (outcome.outcome !== 'recorded') return outcome
  const ttlMs = environmentPlanOf(pipeline, request.environment)?.promotion?.approvalTtlMs ?? Infinity
  for (let count = 1; ; count++) {
    const approval = approvalOf(pipeline, { request, count, ...outcome })
    try {
      await client.create(approvalKind.type, approval)
      return outcome
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    const { namespace } = place
    const existing = await client.get<Approval>(approvalKind.type, { namespace, name: approval.metadata.name! })
    if (clock.now() < at(existing.metadata.creationTimestamp) + ttlMs) return { ...outcome, outcome: 'same' }
  }
}

/** Creates an Approval that asks the reconciler for something, and returns its name. Throws NotFound for an unknown pipeline. */
export async function request(client: Client, place: Required<Place>, asked: PipelineRequest): Promise<string> {
  const pipeline = await client.get<Pipeline>(pipelineKind.type, place)
  const { metadata, ...rest } = approvalOf(pipeline, { request: asked, count: 0 })
  const { name: _, ...owned } = metadata
  const generateName = `${place.name.slice(0, 180)}-${asked.decision.toLowerCase()}-`
  const created = await client.create<Approval>(approvalKind.type, {
    ...rest,
    metadata: { ...owned, generateName },
  } as KubeObject)
  return created.metadata.name
}

/** Finds the waiting promotion a request names. A repeated approval of an approved promotion is `same`. */
function matchPromotion(status: PipelineStatus, request: ApprovalRequest): ApprovalOutcome {
  const { environment, approver, decision } = request
  const state = status.environments?.[environment]
  const waiting = state?.waitingApproval
  const { promotion } = state ?? {}
  if (waiting?.promotionId && isNamed(request, waiting.promotionId, waiting.revision))
    return { outcome: 'recorded', promotionId: waiting.promotionId }
  const isRepeat = promotion?.approvedBy?.includes(approver) && isNamed(request, promotion.id, promotion.revision)
  if (promotion && isRepeat && decision === 'Approve') return { outcome: 'same', promotionId: promotion.id }
  const current = waiting?.promotionId ?? promotion?.id
  const revision = waiting?.revision ?? promotion?.revision
  return { outcome: 'stale', ...(current ? { promotionId: current } : {}), ...(revision ? { revision } : {}) }
}

/** A request must name the promotion, its revision or both: an approval of "the current one" could hit a newer one. */
function isNamed({ promotionId, revision }: ApprovalRequest, waitingId: string, waitingRevision: string): boolean {
  if (promotionId === undefined && revision === undefined) return false
  return (promotionId ?? waitingId) === waitingId && isSameRevision(revision ?? waitingRevision, waitingRevision)
}

const maxText = 256
const maxRevision = 1024

/** Named by a digest of its content, so that a repeat is the same object. Owned by its pipeline, and deleted with it. */
function approvalOf(
  { apiVersion, kind, metadata }: Pipeline,
  given: {
    readonly request: PipelineRequest
    readonly count: number
    readonly promotionId?: string
  },
): KubeObject {
  const { request, count, promotionId } = given
  const { environment, revision, decision, comment } = request
  const { namespace = '', name, uid } = metadata
  const approver = request.approver.slice(0, maxText)
  const digest = sha256(JSON.stringify([promotionId, approver, decision, count])).slice(0, 10)
  const spec: ApprovalSpec = {
    pipeline: name,
    environment,
    decision,
    approver,
    ...(promotionId ? { promotionId } : {}),
    ...(revision ? { revision: revision.slice(0, maxRevision) } : {}),
    ...(comment ? { comment: comment.slice(0, maxText) } : {}),
  }
  return approvalKind.object(
    {
      namespace,
      name: `${name.slice(0, 180)}-${environment}-${digest}`,
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec,
  )
}
