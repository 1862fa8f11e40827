import { decideMark, type Mark, type MarkDecision } from './decide.ts'
import type { Verdict } from '../verdict/judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Resource } from '../model/resource.ts'

/** A resource of an inventory with its verdict and its mark, if any. `M` is the caller's representation of a mark. */
export interface Judged<M> {
  readonly resource: Resource | undefined
  /** Undefined when a complete listing does not contain the resource. */
  readonly verdict: Verdict | undefined
  readonly mark: { readonly mark: Mark; readonly candidate: M } | undefined
}

export interface Planned<M> {
  readonly judged: Judged<M>
  readonly decision: Exclude<MarkDecision, { do: 'nothing' }>
}

/** What a cycle does, or why its circuit opens: then it does nothing until a human has acknowledged the reason. */
export interface CyclePlan<M> {
  readonly circuit: string | undefined
  readonly steps: readonly Planned<M>[]
  readonly counts: CycleCounts
  /** A rule that could not be evaluated, and for how many resources. */
  readonly fault: RuleFault | undefined
}

export interface RuleFault {
  readonly field: string
  readonly because: string
  /** The first of the resources. */
  readonly resource: Resource | undefined
  count: number
}

export interface CycleCounts {
  readonly visited: number
  readonly excluded: number
  readonly unknown: number
  readonly violating: number
  /** New marks beyond the cap, which later cycles make. */
  readonly deferred: number
}

export interface CycleFacts<M> {
  readonly judged: Iterable<Judged<M>>
  /** How many more resources there are, excluded and without a mark. */
  readonly skipped: number
  readonly policy: CompiledPolicy
  /** How many resources the last complete inventory found, and when; undefined at the first. */
  readonly previous: { readonly visited: number; readonly at: number } | undefined
  /** A human has acknowledged what opened the circuit. */
  readonly circuitAcknowledged: boolean
  readonly now: number
}

/** Plans a mark cycle within the policy's caps, oldest resources first. Opt-outs are applied even with an open circuit. */
export function planCycle<M>(facts: CycleFacts<M>): CyclePlan<M> {
  const { judged, skipped, policy, previous, circuitAcknowledged, now } = facts
  const counts = { visited: skipped, excluded: skipped, unknown: 0, violating: 0, deferred: 0 }
  const steps: Planned<M>[] = []
  let deletedByUs = 0
  let fault: RuleFault | undefined
  for (const item of judged) {
    if (!item.verdict && item.mark && wasDeletedByUs(item.mark.mark, previous?.at ?? 0)) deletedByUs++
    if (item.verdict) counts.visited++
    if (item.verdict?.is === 'excluded') counts.excluded++
    if (item.verdict?.is === 'unknown') {
      counts.unknown++
      const { fault: field, detail = '' } = item.verdict
      if (field !== undefined) (fault ??= { field, because: detail, resource: item.resource, count: 0 }).count++
    }
    if (item.verdict?.is === 'violating') counts.violating++
    const decision = decideMark(item.verdict, item.mark?.mark, now)
    if (decision.do !== 'nothing') steps.push({ judged: item, decision })
  }
  const expected = previous && previous.visited - deletedByUs
  const circuit = circuitAcknowledged ? undefined : circuitOf(steps, policy, { visited: counts.visited, expected })
  if (circuit !== undefined)
    return { circuit, steps: steps.filter(({ decision }) => decision.do === 'opt-out'), counts, fault }
  const fresh = steps.filter(({ decision }) => decision.do === 'mark').toSorted(byAge)
  counts.deferred = Math.max(0, fresh.length - policy.limits.maxMarks)
  const others = steps.filter(({ decision }) => decision.do !== 'mark')
  return { circuit, steps: [...others, ...fresh.slice(0, policy.limits.maxMarks)], counts, fault }
}

/** How many resources one cycle may delete: at most the cap and the percentage of all listed, but at least one. */
export function deleteAllowance({ limits }: Pick<CompiledPolicy, 'limits'>, visited: number): number {
  if (limits.maxDeletePercent === 0) return 0
  return Math.min(limits.maxDeletes, Math.max(1, Math.floor((visited * limits.maxDeletePercent) / 100)))
}

/** Why the circuit opens, if it does. `expected` is how many resources should be listed; undefined at first. */
function circuitOf<M>(
  steps: readonly Planned<M>[],
  { limits, safety }: CompiledPolicy,
  { visited, expected }: { readonly visited: number; readonly expected: number | undefined },
): string | undefined {
  const unmarks = steps.filter(({ decision }) => decision.do === 'unmark').length
  if (unmarks > limits.maxUnmarks)
    return `${unmarks} marks would be lifted at once, more than spec.limits.maxUnmarks (${limits.maxUnmarks})`
  const dropped = (expected ?? 0) - visited
  // Small absolute changes are normal, whatever their percentage.
  if (expected === undefined || dropped < 10) return undefined
  const percent = Math.floor((dropped / expected) * 100)
  return percent > safety.maxInventoryDropPercent
    ? `${dropped} of ${expected} resources are no longer listed (${percent} %)`
    : undefined
}

/** Whether a resource is no longer listed because the janitor deleted it since that time. */
function wasDeletedByUs({ phase, finishedAt = 0 }: Mark, since: number): boolean {
  return phase === 'Deleting' || (phase === 'Deleted' && finishedAt >= since)
}

function byAge<M>(left: Planned<M>, right: Planned<M>): number {
  return (left.judged.resource?.createdAt ?? 0) - (right.judged.resource?.createdAt ?? 0)
}
