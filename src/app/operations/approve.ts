import { approval, type Approval, type ApprovalStatus } from '../../apis/approval.ts'
import type { Client } from '../../client/client.ts'
import { ignoring } from '../../kube/status-error.ts'
import { sleep, systemClock } from '../../runtime/time/clock.ts'
import {
  approve,
  request,
  type ApprovalOutcome,
  type ApprovalRequest,
  type PipelineRequest,
} from '../../systems/promoter/http/approve.ts'

/** Records an approval or rejection of a promotion that waits for one. */
export function approvePromotion(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  request: ApprovalRequest,
): Promise<ApprovalOutcome> {
  return approve(client, place, { request, clock: systemClock })
}

/** Asks a pipeline for something and waits until the promoter has answered; undefined when it has not in time. */
export async function requestOfPipeline(
  client: Client,
  pipeline: { readonly namespace: string; readonly name: string },
  asked: PipelineRequest,
): Promise<ApprovalStatus | undefined> {
  const name = await request(client, pipeline, asked)
  for (let attempt = 0; attempt < 20; attempt++) {
    // A user may be allowed to create Approvals only.
    const place = { namespace: pipeline.namespace, name }
    const found = await client.get<Approval>(approval.type, place).catch(ignoring('Forbidden'))
    if (!found || found.status) return found?.status
    await sleep(systemClock, 250, new AbortController().signal)
  }
  return undefined
}
