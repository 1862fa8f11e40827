import { approval, type Approval, type ApprovalStatus } from '../../apis/approval.ts'
import type { Client } from '../../client/client.ts'
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
  place: { readonly namespace: string; readonly name: string },
  asked: PipelineRequest,
): Promise<ApprovalStatus | undefined> {
  const name = await request(client, place, asked)
  for (let attempt = 0; attempt < 20; attempt++) {
    const { status } = await client.get<Approval>(approval.type, { namespace: place.namespace, name })
    if (status) return status
    await sleep(systemClock, 250, new AbortController().signal)
  }
  return undefined
}
