import type { BondSpec } from '../../apis/bond.ts'
import type { StoredObject } from '../../kube/object.ts'

/** What is known of the object a Bond needs. */
export type DependencyFact =
  | { readonly is: 'present'; readonly uid: string; readonly isMarked: boolean; readonly holdsFinalizer: boolean }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown'; readonly reason: string; readonly message: string }

/** What is known of the objects that need it. */
export type DependentsFact =
  | { readonly are: 'known'; readonly objects: readonly StoredObject[] }
  | { readonly are: 'unknown'; readonly reason: string; readonly message: string }

export interface BondObserved {
  readonly spec: BondSpec
  readonly isMarked: boolean
  /** The uid that was pinned when the dependency was first seen, or that the spec names. */
  readonly pinnedUid: string | undefined
  readonly dependency: DependencyFact
  readonly dependents: DependentsFact
  /** Whether the dependency's namespace lets this one hold its deletions up. */
  readonly isGranted: boolean
}

/** What a Bond asks for now. At most one of the effects is set, next to how it stands. */
export interface BondDecision {
  readonly phase: 'Pending' | 'Active' | 'Broken' | 'Released'
  readonly reason: string
  readonly message: string
  readonly pin?: string
  readonly effect?: 'hold-dependency' | 'release-dependency' | 'remove-dependents'
  /** Look again soon: something could not be known. */
  readonly retry: boolean
}

/** One rule for all bonds, from what is. Unknown deletes nothing and releases nothing. */
export function decideBond({
  spec,
  isMarked,
  pinnedUid,
  dependency,
  dependents,
  isGranted,
}: BondObserved): BondDecision {
  const quiet = (phase: BondDecision['phase'], reason: string, message: string): BondDecision => ({
    phase,
    reason,
    message,
    retry: false,
  })
  if (dependents.are === 'unknown')
    return { ...quiet(pinnedUid ? 'Active' : 'Pending', dependents.reason, dependents.message), retry: true }
  if (dependency.is === 'unknown')
    return { ...quiet(pinnedUid ? 'Active' : 'Pending', dependency.reason, dependency.message), retry: true }
  const living = dependents.objects.filter(({ metadata }) => !metadata.deletionTimestamp)
  if (isMarked) return release(dependency, quiet('Released', 'BondDeleted', 'the Bond is going'))
  if (dependency.is === 'absent' || (pinnedUid !== undefined && dependency.uid !== pinnedUid)) {
    if (pinnedUid === undefined) return quiet('Pending', 'DependencyNotFound', 'what it needs has not been seen yet')
    return gone(spec, living.length, dependents.objects.length, quiet)
  }
  const pin = pinnedUid === undefined ? { pin: dependency.uid } : {}
  if (dependency.isMarked)
    return { ...leaving(spec, { living: living.length, all: dependents.objects.length, dependency, quiet }), ...pin }
  if (dependents.objects.length === 0)
    return { ...release(dependency, quiet('Pending', 'NoDependents', 'nothing needs it at the moment')), ...pin }
  if (!isGranted && spec.onDelete !== 'Orphan' && spec.onDelete !== 'Cascade')
    return {
      ...quiet(
        'Pending',
        'NotGranted',
        'its namespace does not let this one hold its deletions up: annotate it with sojourn.dev/allow-bonds-from',
      ),
      ...pin,
    }
  const holds = (spec.onDelete === 'Cascade' || spec.onDelete === 'Hold') && isGranted
  const active = quiet('Active', 'Bound', `${dependents.objects.length} bound`)
  return { ...active, ...pin, ...(holds && !dependency.holdsFinalizer ? { effect: 'hold-dependency' as const } : {}) }
}

type Quiet = (phase: BondDecision['phase'], reason: string, message: string) => BondDecision

/** What it needs is no more. */
function gone({ onDelete }: BondSpec, living: number, all: number, quiet: Quiet): BondDecision {
  if (onDelete !== 'Cascade') return quiet('Released', 'DependencyGone', 'what it needed is gone')
  if (living > 0)
    return {
      ...quiet('Broken', 'RemovingDependents', `what it needed is gone: ${living} follow`),
      effect: 'remove-dependents',
    }
  return all > 0
    ? quiet('Broken', 'DependentsLeaving', `${all} are on their way`)
    : quiet('Released', 'DependentsGone', 'what needed it is gone too')
}

/** What it needs is on its way out. */
function leaving(
  spec: BondSpec,
  {
    living,
    all,
    dependency,
    quiet,
  }: { living: number; all: number; dependency: Extract<DependencyFact, { is: 'present' }>; quiet: Quiet },
): BondDecision {
  if (all === 0 || spec.onDelete === 'Orphan')
    return release(
      dependency,
      quiet(
        'Released',
        spec.onDelete === 'Orphan' ? 'Orphaned' : 'DependentsGone',
        'nothing holds what it needed any more',
      ),
    )
  if (spec.onDelete === 'Cascade' && living > 0)
    return {
      ...quiet('Broken', 'RemovingDependents', `what it needs is going: ${living} go first`),
      effect: 'remove-dependents',
    }
  return quiet(
    'Active',
    spec.onDelete === 'Cascade' ? 'DependentsLeaving' : 'Holding',
    `${all} must go before what they need can`,
  )
}

function release(dependency: DependencyFact, decision: BondDecision): BondDecision {
  return dependency.is === 'present' && dependency.holdsFinalizer
    ? { ...decision, effect: 'release-dependency' }
    : decision
}
