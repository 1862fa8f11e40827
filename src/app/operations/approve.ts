import type { Client } from '../../client/client.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { approve, type ApprovalOutcome, type ApprovalRequest } from '../../systems/promoter/http/approve.ts'

/** Records somebody's word on a promotion that waits for it. */
export function approvePromotion(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  request: ApprovalRequest,
): Promise<ApprovalOutcome> {
  return approve(client, place, { request, clock: systemClock })
}
