import type { CandidateSpec } from '../../../apis/cleanup-candidate.ts'
import type { Subject } from '../../../departures/subjects/subject.ts'
import type { ExclusionCache } from './exclusion-cache.ts'
import type { OwnerSources } from '../policy/owner.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Inventory } from '../model/resource.ts'

/** A resource as its mark names it. */
export type ResourceRef = CandidateSpec['resource']

export interface ObserveRequest {
  readonly policy: CompiledPolicy
  readonly location: string
  readonly signal: AbortSignal
  /** Skips unmarked resources that stay excluded; left out, everything is listed. */
  readonly exclusions?: ExclusionCache | undefined
}

/** Everything a policy targets at one location, and where to look for owners. */
export interface Observation extends Inventory {
  readonly owners: OwnerSources
}

/** A source of resources: a cluster or a cloud. It lists completely, with evidence of use, or throws `InventoryError`. */
export interface Provider {
  readonly name: ResourceRef['provider']
  /** The locations a policy targets; each is judged, and leased, on its own. */
  locations(policy: CompiledPolicy): readonly string[]
  observe(request: ObserveRequest): Promise<Observation>
  /** The resource as something the door can read and delete. */
  subject(resource: ResourceRef, options?: { readonly force?: boolean }): Promise<Subject>
  /** Sets or removes `expiration_time: never` on the resource itself. False when the resource does not exist. */
  setNeverExpires(resource: ResourceRef, isProtected: boolean): Promise<boolean>
  /** The time by the provider's clock; undefined when it does not tell. */
  currentTime?(location: string): Promise<number | undefined>
  close(): void
}

/** Every location that a policy targets. */
export function locationsOf(providers: readonly Provider[], policy: CompiledPolicy): readonly string[] {
  return providers.flatMap((provider) => provider.locations(policy))
}

/** The provider that serves a location. */
export function providerOf(providers: readonly Provider[], location: string): Provider {
  const name = location.split('/', 1)[0]
  const provider = providers.find((candidate) => candidate.name === name)
  if (!provider) throw new Error(`no provider serves ${location}`)
  return provider
}
