import type { Client } from '../src/client/client.ts'
import type { ActsFor } from '../src/tenancy/act-as.ts'

/** Acts for every object, for tests that are not about rights. */
export function trusting(client: Client): ActsFor {
  return { for: () => ({ client, refusalOf: () => Promise.resolve(undefined) }) }
}
