import type { VerificationPlan } from '../model/plan.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { EffectResult } from '../decision/results.ts'
import { toPromotionError } from '../../../git/promotion-error.ts'

/** Runs the checks in order and stops at the first that fails. A request that wakes a sleeping workload is waited for. */
export async function verify(
  { checks, intervalMs }: VerificationPlan,
  given: { readonly http: Http; readonly now: () => number; readonly signal: AbortSignal },
): Promise<EffectResult> {
  for (const check of checks) {
    const problem = await problemOf(check, given)
    if (problem) return { result: 'unverified', message: problem, retryAt: given.now() + intervalMs }
  }
  return { result: 'verified' }
}

/** Reports the URL and the status code only: the body of a response may hold secrets. */
async function problemOf(
  { url, expectedStatus }: VerificationPlan['checks'][number],
  { http, signal }: { readonly http: Http; readonly signal: AbortSignal },
): Promise<string | undefined> {
  try {
    const { status } = await http({ method: 'GET', url, signal, timeoutMs })
    const isExpected = expectedStatus === undefined ? status >= 200 && status < 300 : status === expectedStatus
    return isExpected ? undefined : `${url} answered ${status}`
  } catch (error) {
    return `${url}: ${toPromotionError(error).toRecord().message}`
  }
}

/** A sleeping workload may take this long to wake. */
const timeoutMs = 30_000
