import type { Described } from '../model/attribute.ts'
import type { Compliance, Doubt, Exclusion } from '../model/because.ts'
import type { Owner, OwnerSources } from '../policy/owner.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Resource } from '../model/resource.ts'
import type { Summary } from '../rules/rule-tree.ts'
import { isExpired, timeToLiveOf } from '../model/time-to-live.ts'

/** What a policy concludes about a resource at one time. */
export type Verdict =
  | { readonly is: 'violating'; readonly summaries: readonly Summary[] }
  | { readonly is: 'compliant'; readonly because: Compliance; readonly detail?: string }
  | { readonly is: 'excluded'; readonly because: Exclusion; readonly detail?: string }
  | {
      readonly is: 'unknown'
      readonly because: Doubt
      readonly detail?: string
      /** The field of a rule that cannot be evaluated. */ readonly fault?: string
    }

/** What a judgement needs beside the resource and the policy. */
export interface JudgeContext {
  /** What protects a resource, with the door's reason; undefined when nothing does. */
  readonly protection: (resource: Resource) => { readonly because: Exclusion; readonly detail?: string } | undefined
  readonly owners: OwnerSources
  readonly ledger: UseHistory
  readonly now: number
}

/** The recorded use of resources over time. */
export interface UseHistory {
  /** Since when use has been recorded without a long gap; undefined when it is not recorded. */
  readonly trackingSince: number | undefined
  readonly lastSeenUsed: (resource: Resource) => { readonly at: number; readonly by: string } | undefined
  readonly firstSeen: (resource: Resource) => number | undefined
}

export const noHistory: UseHistory = {
  trackingSince: undefined,
  lastSeenUsed: () => undefined,
  firstSeen: () => undefined,
}

/** A resource with its owner, resolved when first asked for. */
export function describe(
  resource: Resource,
  policy: CompiledPolicy,
  sources: OwnerSources,
): Described & { readonly resolveOwner: () => Owner | undefined } {
  let known: { readonly owner: Owner | undefined } | undefined
  const resolveOwner = () => (known ??= { owner: policy.owner(resource, sources) }).owner
  return { resource, resolveOwner, owner: () => resolveOwner()?.address }
}

/** Judges a resource. The order of these lines is the order of precedence: protection comes before any rule. */
export function judge(described: Described, policy: CompiledPolicy, context: JudgeContext): Verdict {
  const { resource } = described
  const { now, ledger } = context
  const exclusion = timelessExclusion(described, policy, context.protection) ?? ttlExclusion(resource, now)
  if (exclusion) return { is: 'excluded', ...exclusion }

  const createdAt = resource.createdAt ?? ledger.firstSeen(resource)
  if (createdAt === undefined && policy.minAgeMs > 0) return { is: 'unknown', because: 'age-unknown' }
  if (createdAt !== undefined && now - createdAt < policy.minAgeMs) return { is: 'excluded', because: 'too-young' }

  const aged = createdAt === undefined || resource.createdAt !== undefined ? described : withAge(described, createdAt)
  const answer = policy.rules(aged, now)
  if (answer.matches === false)
    return { is: 'compliant', because: 'no-rule-matches', ...(answer.because ? { detail: answer.because } : {}) }
  const use =
    policy.unusedForMs === undefined ? undefined : judgeUse(resource, policy.unusedForMs, { ...context, createdAt })
  if (use) return use
  if (answer.matches === 'undecided') {
    const { because: detail, fault } = answer
    const isUse = resource.use.state === 'unknown' && resource.use.because === detail
    const because = isUse ? 'use-unknown' : 'rule-undecided'
    return { is: 'unknown', because, detail, ...(fault === undefined ? {} : { fault }) }
  }
  return { is: 'violating', summaries: answer.summaries }
}

/** Why a resource is excluded, whatever the time. Only opt-outs passed in by `protection` may end. */
export function timelessExclusion(
  described: Described,
  policy: CompiledPolicy,
  protection: JudgeContext['protection'],
): { readonly because: Exclusion; readonly detail?: string } | undefined {
  const { resource } = described
  const reason = protection(resource)
  if (reason) return reason
  if (resource.object.metadata.deletionTimestamp) return { because: 'being-deleted' }
  return resource.shield ?? policy.exclude(described)
}

/** A verdict for a resource that is or was recently in use, or whose use has not been recorded for long enough. */
function judgeUse(
  resource: Resource,
  unusedForMs: number,
  { ledger, now, createdAt }: JudgeContext & { readonly createdAt: number | undefined },
): Verdict | undefined {
  const { use } = resource
  if (use.state === 'unknown') return { is: 'unknown', because: 'use-unknown', detail: use.because }
  const recently = (detail: string): Verdict => ({ is: 'compliant', because: 'recently-used', detail })
  if (use.state === 'used') return recently(`in use by ${use.by}`)
  const seen = ledger.lastSeenUsed(resource)
  if (seen && now - seen.at < unusedForMs)
    return recently(`unused for ${ofDays(now - seen.at, unusedForMs)}, last used by ${seen.by}`)
  if (use.since !== undefined)
    return now - use.since < unusedForMs ? recently(`unused for ${ofDays(now - use.since, unusedForMs)}`) : undefined
  const recordedSince = Math.max(ledger.trackingSince ?? now, createdAt ?? 0)
  return now - recordedSince < unusedForMs || ledger.trackingSince === undefined
    ? { is: 'unknown', because: 'use-not-followed-long-enough', detail: ofDays(now - recordedSince, unusedForMs) }
    : undefined
}

/** A resource's own ttl protects it until it is over, whether or not the policy has a rule about it. */
function ttlExclusion(resource: Resource, now: number): { because: Exclusion; detail?: string } | undefined {
  const ttl = timeToLiveOf(resource)
  if (ttl.says === 'nothing') return undefined
  if (ttl.says === 'never') return { because: 'never-expires' }
  if (ttl.says === 'malformed') return { because: 'ttl-malformed', detail: ttl.text }
  return isExpired(ttl, resource.createdAt, now) === true ? undefined : { because: 'ttl-not-over' }
}

/** `3 of 30 days`. */
function ofDays(passedMs: number, wantedMs: number): string {
  const days = (ms: number) => Number((ms / 86_400_000).toFixed(ms < 86_400_000 ? 2 : 0))
  return `${days(Math.max(0, passedMs))} of ${days(wantedMs)} days`
}

function withAge(described: Described, createdAt: number): Described {
  return { ...described, resource: { ...described.resource, createdAt } }
}
