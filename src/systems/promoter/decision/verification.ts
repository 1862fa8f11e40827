import type { Promotion } from '../../../apis/pipeline-status.ts'
import { at, type Draft } from './draft.ts'

/** Whether the checks of an environment have passed since all before it have been ready. */
export function isVerified(promotion: Promotion | undefined, readySince: number): boolean {
  return promotion?.verification?.state === 'Passed' && at(promotion.verification.at) >= readySince
}

/** Asks for the checks when nothing else is in the way, and forgets an answer that no longer holds. */
export function demandVerification(promotion: Promotion, { isDue }: { readonly isDue: boolean }): void {
  const { verification } = promotion
  if (isDue && verification?.state !== 'Failing') promotion.verification = { state: 'Due' }
  else if (!isDue && verification && verification.state !== 'Passed') delete promotion.verification
}

/** What fails when the checks have failed for too long; undefined while there is hope. */
export function whyUnverified(
  { plan: { environments }, now }: Draft,
  environment: string,
  { verification }: Promotion,
): string | undefined {
  const plan = environments.find(({ name }) => name === environment)?.verification
  if (!plan || verification?.state !== 'Failing') return undefined
  return now >= at(verification.at) + plan.deadlineMs ? (verification.message ?? '') : undefined
}
