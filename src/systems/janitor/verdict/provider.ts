import type { CandidateSpec } from '../../../apis/cleanup-candidate.ts'
import type { Subject } from '../../../departures/subjects/subject.ts'
import type { Aside } from './aside.ts'
import type { OwnerSources } from '../policy/owner.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Inventory } from '../model/resource.ts'

/** What is marked, as its mark names it. */
export type ResourceRef = CandidateSpec['resource']

export interface ObserveRequest {
  readonly policy: CompiledPolicy
  readonly location: string
  readonly signal: AbortSignal
  /** Walks past what stays excluded; left out, everything is listed. */
  readonly aside?: Aside | undefined
}

/** Everything a policy looks at in one location, and whom it may belong to. */
export interface Observation extends Inventory {
  readonly owners: OwnerSources
}

/**
 * Where resources come from. It lists completely or throws `InventoryError`, gives evidence of use with each resource,
 * and hands the door what it needs to let one of them leave.
 */
export interface Provider {
  readonly name: ResourceRef['provider']
  /** The locations a policy speaks of; each is looked at, and leased, on its own. */
  locations(policy: CompiledPolicy): readonly string[]
  observe(request: ObserveRequest): Promise<Observation>
  /** The door's view of one resource. */
  subject(resource: ResourceRef, options?: { readonly force?: boolean }): Promise<Subject>
  /** Writes or takes back `expiration_time: never` on the resource itself. False when it is not there. */
  mirror(resource: ResourceRef, protect: boolean): Promise<boolean>
  /** The time by the other side's clock, if it tells. */
  time?(location: string): Promise<number | undefined>
  close(): void
}

/** Of several providers, the one that a location belongs to. */
export function providerOf(providers: readonly Provider[], location: string): Provider {
  const name = location.split('/', 1)[0]
  const provider = providers.find((candidate) => candidate.name === name)
  if (!provider) throw new Error(`no provider serves ${location}`)
  return provider
}
