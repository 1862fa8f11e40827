import type { Client } from '../../client/client.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { approve, type ApprovalOutcome, type ApprovalRequest } from '../../systems/promoter/http/approve.ts'

/** Records an approval or rejection of a promotion that waits for one. */
export function approvePromotion(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  request: ApprovalRequest,
): Promise<ApprovalOutcome> {
  return approve(client, place, { request, clock: systemClock })
}
