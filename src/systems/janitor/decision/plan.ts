import { decideMark, type Mark, type MarkDecision } from './decide.ts'
import type { Verdict } from '../verdict/judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Resource } from '../model/resource.ts'

/** One thing of an inventory, judged, with its mark if it has one. `M` is how the caller knows a mark. */
export interface Judged<M> {
  readonly resource: Resource | undefined
  /** Undefined: a complete listing does not have it. */
  readonly verdict: Verdict | undefined
  readonly mark: { readonly mark: Mark; readonly of: M } | undefined
}

export interface Planned<M> {
  readonly judged: Judged<M>
  readonly decision: Exclude<MarkDecision, { do: 'nothing' }>
}

/** What a cycle does, or why it must do nothing until a human has looked. */
export interface CyclePlan<M> {
  readonly circuit: string | undefined
  readonly steps: readonly Planned<M>[]
  readonly counts: CycleCounts
}

export interface CycleCounts {
  readonly visited: number
  readonly excluded: number
  readonly unknown: number
  readonly violating: number
  /** New marks that the cap left for later cycles. */
  readonly deferred: number
}

export interface CycleFacts<M> {
  readonly judged: Iterable<Judged<M>>
  /** How many more there are, excluded and without a mark. */
  readonly aside: number
  readonly policy: CompiledPolicy
  /** How many the last complete look found, and when; undefined at the first. */
  readonly previous: { readonly visited: number; readonly at: number } | undefined
  /** A human has looked at what opened the circuit. */
  readonly circuitForgiven: boolean
  readonly now: number
}

/** Plans a mark cycle within the policy's caps: oldest resources first, opt-outs whatever else happens. */
export function planCycle<M>({ judged, aside, policy, previous, circuitForgiven, now }: CycleFacts<M>): CyclePlan<M> {
  const counts = { visited: aside, excluded: aside, unknown: 0, violating: 0, deferred: 0 }
  const steps: Planned<M>[] = []
  let leftByUs = 0
  for (const item of judged) {
    if (!item.verdict && item.mark && hasLeftByUs(item.mark.mark, previous?.at ?? 0)) leftByUs++
    if (item.verdict) counts.visited++
    if (item.verdict?.is === 'excluded') counts.excluded++
    if (item.verdict?.is === 'unknown') counts.unknown++
    if (item.verdict?.is === 'violating') counts.violating++
    const decision = decideMark(item.verdict, item.mark?.mark, now)
    if (decision.do !== 'nothing') steps.push({ judged: item, decision })
  }
  const expected = previous && previous.visited - leftByUs
  const circuit = circuitForgiven ? undefined : circuitOf({ steps, visited: counts.visited, expected, policy })
  if (circuit !== undefined)
    return { circuit, steps: steps.filter(({ decision }) => decision.do === 'opt-out'), counts }
  const fresh = steps.filter(({ decision }) => decision.do === 'mark').toSorted(byAge)
  counts.deferred = Math.max(0, fresh.length - policy.limits.maxMarks)
  const others = steps.filter(({ decision }) => decision.do !== 'mark')
  return { circuit, steps: [...others, ...fresh.slice(0, policy.limits.maxMarks)], counts }
}

/** How many may leave in one cycle: at most the cap, at most the share of everything listed, but never none for good. */
export function deleteAllowance({ limits }: Pick<CompiledPolicy, 'limits'>, visited: number): number {
  if (limits.maxDeletePercent === 0) return 0
  return Math.min(limits.maxDeletes, Math.max(1, Math.floor((visited * limits.maxDeletePercent) / 100)))
}

/** What is unusual, if anything. `expected` is how many should be listed; undefined when nobody can say. */
function circuitOf<M>({
  steps,
  visited,
  expected,
  policy,
}: {
  readonly steps: readonly Planned<M>[]
  readonly visited: number
  readonly expected: number | undefined
  readonly policy: CompiledPolicy
}): string | undefined {
  const { limits, safety } = policy
  const unmarks = steps.filter(({ decision }) => decision.do === 'unmark').length
  if (unmarks > limits.maxUnmarks) return `${unmarks} marks would be lifted at once; at most ${limits.maxUnmarks} may`
  const dropped = (expected ?? 0) - visited
  // A handful more or less is everyday life.
  if (expected === undefined || dropped < 10) return undefined
  const percent = Math.floor((dropped / expected) * 100)
  return percent > safety.maxInventoryDropPercent
    ? `${dropped} of ${expected} resources are no longer listed (${percent} %)`
    : undefined
}

/** Whether something is not listed any more because we let it leave, since then. */
function hasLeftByUs({ phase, finishedAt = 0 }: Mark, since: number): boolean {
  return phase === 'Deleting' || (phase === 'Deleted' && finishedAt >= since)
}

function byAge<M>(left: Planned<M>, right: Planned<M>): number {
  return (left.judged.resource?.createdAt ?? 0) - (right.judged.resource?.createdAt ?? 0)
}
