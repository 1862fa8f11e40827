import type { Client } from '../client/client.ts'
import { isEmbedded } from '../client/embedded.ts'
import { admissionPolicies, admissionPolicyBindings } from '../kube/core-types.ts'
import type { StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { Clock } from '../runtime/time/clock.ts'

/** The admission policies by which a cluster keeps creators' records and Sojourn's own records true, and their bindings. */
export const creatorPolicy = 'sojourn-creator'
export const recordPolicy = 'sojourn-records'

/** How long an answer holds: so long a record may count after the policy is deleted. */
const answerMs = 60_000

/**
 * Whether the API server keeps records true: the embedded one does, any other by the admission policy that
 * `sojourn install` prints. Where it is missing or unreadable, any user could have written a record, so none counts.
 */
export function recordProof(
  policy: string,
  { client, clock }: { readonly client: Client; readonly clock: Clock },
): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined
  let until = -Infinity
  return () => {
    if (!answer || clock.monotonic() >= until) {
      until = clock.monotonic() + answerMs
      answer = isEnforced(client, policy)
      // A failed lookup is no answer: the next caller asks again.
      answer.catch(() => (answer = undefined))
    }
    return answer
  }
}

type Binding = StoredObject & {
  readonly spec?: {
    readonly policyName?: string
    readonly validationActions?: readonly string[]
    readonly matchResources?: unknown
  }
}

async function isEnforced(client: Client, policy: string): Promise<boolean> {
  if (await isEmbedded(client)) return true
  try {
    const { spec = {} } = await client.get<Binding>(admissionPolicyBindings, { name: policy })
    await client.get(admissionPolicies, { name: policy }, { metadataOnly: true })
    const { policyName, validationActions = [], matchResources } = spec
    return policyName === policy && validationActions.includes('Deny') && matchResources === undefined
  } catch (error) {
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Forbidden')) return false
    throw error
  }
}
