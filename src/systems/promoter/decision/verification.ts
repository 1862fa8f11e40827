import type { Promotion } from '../../../apis/pipeline-status.ts'
import { at, type Draft } from './draft.ts'

/** Whether the checks have passed since the environments before this one became ready. */
export function isVerified(promotion: Promotion | undefined, readySince: number): boolean {
  return promotion?.verification?.state === 'Passed' && at(promotion.verification.at) >= readySince
}

/** Requests the checks when every other gate is open, and drops a result that is no longer needed. */
export function requestVerification(promotion: Promotion, { isDue }: { readonly isDue: boolean }): void {
  const { verification } = promotion
  if (isDue && verification?.state !== 'Failing') promotion.verification = { state: 'Due' }
  else if (!isDue && verification && verification.state !== 'Passed') delete promotion.verification
}

/** The failing check once checks have failed past their deadline; undefined before. */
export function overdueVerification(
  { plan: { environments }, now }: Draft,
  environment: string,
  { verification }: Promotion,
): string | undefined {
  const plan = environments.find(({ name }) => name === environment)?.verification
  if (!plan || verification?.state !== 'Failing') return undefined
  return now >= at(verification.at) + plan.deadlineMs ? (verification.message ?? '') : undefined
}
