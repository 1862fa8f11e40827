import type { Described } from '../model/attribute.ts'
import type { Compliance, Doubt, Exclusion } from '../model/because.ts'
import type { Owner, OwnerSources } from '../policy/owner.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Resource } from '../model/resource.ts'
import type { Summary } from '../rules/rule-tree.ts'
import { isExpired, timeToLiveOf } from '../model/time-to-live.ts'

/** What a policy says of a resource at one time. */
export type Verdict =
  | { readonly is: 'violating'; readonly summaries: readonly Summary[] }
  | { readonly is: 'compliant'; readonly because: Compliance }
  | { readonly is: 'excluded'; readonly because: Exclusion; readonly detail?: string }
  | { readonly is: 'unknown'; readonly because: Doubt; readonly detail?: string }

/** What is known beside the resource and the policy. */
export interface Surroundings {
  /** What protects it, in the door's own words; undefined when nothing does. */
  readonly protection: (resource: Resource) => { readonly because: Exclusion; readonly detail?: string } | undefined
  readonly owners: OwnerSources
  readonly ledger: UseHistory
  readonly now: number
}

/** What has been seen of a resource's use over time. */
export interface UseHistory {
  /** Since when use has been followed without a long gap; undefined when it is not followed. */
  readonly trackingSince: number | undefined
  readonly lastSeenUsed: (resource: Resource) => { readonly at: number; readonly by: string } | undefined
  readonly firstSeen: (resource: Resource) => number | undefined
}

export const noHistory: UseHistory = {
  trackingSince: undefined,
  lastSeenUsed: () => undefined,
  firstSeen: () => undefined,
}

/** A resource with whom it belongs to, found out when first asked. */
export function describe(
  resource: Resource,
  policy: CompiledPolicy,
  sources: OwnerSources,
): Described & { readonly found: () => Owner | undefined } {
  let known: { readonly owner: Owner | undefined } | undefined
  const found = () => (known ??= { owner: policy.owner(resource, sources) }).owner
  return { resource, found, owner: () => found()?.address }
}

/** Judges a resource. The order of these lines is the order of precedence: what protects comes before what condemns. */
export function judge(described: Described, policy: CompiledPolicy, around: Surroundings): Verdict {
  const { resource } = described
  const { now, ledger } = around
  const spared = excludedAtAnyTime(described, policy, around.protection) ?? ttlExclusion(resource, now)
  if (spared) return { is: 'excluded', ...spared }

  const createdAt = resource.createdAt ?? ledger.firstSeen(resource)
  if (createdAt === undefined && policy.minAgeMs > 0) return { is: 'unknown', because: 'age-unknown' }
  if (createdAt !== undefined && now - createdAt < policy.minAgeMs) return { is: 'excluded', because: 'too-young' }

  const aged = createdAt === undefined || resource.createdAt !== undefined ? described : withAge(described, createdAt)
  const answer = policy.rules(aged, now)
  if (answer.matches === false) return { is: 'compliant', because: 'no-rule-matches' }
  const use =
    policy.unusedForMs === undefined ? undefined : judgeUse(resource, policy.unusedForMs, { ...around, createdAt })
  if (use) return use
  if (answer.matches === 'undecided') return { is: 'unknown', because: 'rule-undecided', detail: answer.because }
  return { is: 'violating', summaries: answer.summaries }
}

/** What spares a resource whatever the time, but for opt-outs that end. */
export function excludedAtAnyTime(
  described: Described,
  policy: CompiledPolicy,
  protection: Surroundings['protection'],
): { readonly because: Exclusion; readonly detail?: string } | undefined {
  const { resource } = described
  const spared = protection(resource)
  if (spared) return spared
  if (resource.object.metadata.deletionTimestamp) return { because: 'being-deleted' }
  return resource.shield ?? policy.exclude(described)
}

/** Something in use, or seen in use lately, may stay; where that is not known for long enough, nothing is decided. */
function judgeUse(
  resource: Resource,
  unusedForMs: number,
  { ledger, now, createdAt }: Surroundings & { readonly createdAt: number | undefined },
): Verdict | undefined {
  const { use } = resource
  if (use.state === 'unknown') return { is: 'unknown', because: 'use-unknown', detail: use.because }
  if (use.state === 'used') return { is: 'compliant', because: 'recently-used' }
  const seen = ledger.lastSeenUsed(resource)
  if (seen && now - seen.at < unusedForMs) return { is: 'compliant', because: 'recently-used' }
  if (use.since !== undefined)
    return now - use.since < unusedForMs ? { is: 'compliant', because: 'recently-used' } : undefined
  const followedSince = Math.max(ledger.trackingSince ?? Infinity, createdAt ?? 0)
  return now - followedSince < unusedForMs ? { is: 'unknown', because: 'use-not-followed-long-enough' } : undefined
}

/** A ttl of its own that is not over protects, whether or not the policy has a rule about it. */
function ttlExclusion(resource: Resource, now: number): { because: Exclusion; detail?: string } | undefined {
  const ttl = timeToLiveOf(resource)
  if (ttl.says === 'nothing') return undefined
  if (ttl.says === 'never') return { because: 'never-expires' }
  if (ttl.says === 'malformed') return undefined
  return isExpired(ttl, resource.createdAt, now) === true ? undefined : { because: 'ttl-not-over' }
}

function withAge(described: Described, createdAt: number): Described {
  return { ...described, resource: { ...described.resource, createdAt } }
}
