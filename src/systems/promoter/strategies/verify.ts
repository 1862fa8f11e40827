import type { VerificationPlan } from '../model/plan.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { EffectResult } from '../decision/results.ts'
import { troubleOf } from '../../../git/trouble.ts'

/** Calls what runs before the environment, one check after the other; a call that wakes what sleeps is waited for. */
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

/** Only the address and the status are told: an answer may hold anything. */
async function problemOf(
  { url, expectedStatus }: VerificationPlan['checks'][number],
  { http, signal }: { readonly http: Http; readonly signal: AbortSignal },
): Promise<string | undefined> {
  try {
    const { status } = await http({ method: 'GET', url, signal, maxBytes })
    const isFine = expectedStatus === undefined ? status >= 200 && status < 300 : status === expectedStatus
    return isFine ? undefined : `${url} answered ${status}`
  } catch (error) {
    return `${url}: ${troubleOf(error).toRecord().message}`
  }
}

const maxBytes = 1024 * 1024
