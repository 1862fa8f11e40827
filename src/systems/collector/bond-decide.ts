import type { BondSpec } from '../../apis/bond.ts'
import type { StoredObject } from '../../kube/object.ts'

/** What is known of the object a Bond needs. */
export type DependencyFact =
  | {
      readonly is: 'present'
      readonly uid: string
      readonly isMarked: boolean
      readonly holdsFinalizer: boolean
      /** Whether it carries our label that makes an admission policy refuse its DELETE. */
      readonly isGuarded: boolean
    }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown'; readonly reason: string; readonly message: string }

/** What is known of the objects that need it. */
export type DependentsFact =
  | { readonly are: 'known'; readonly objects: readonly StoredObject[] }
  | { readonly are: 'unknown'; readonly reason: string; readonly message: string }

export interface BondObserved {
  readonly spec: BondSpec
  /** How it stood when it was last looked at. */
  readonly phase: BondPhase | undefined
  readonly isMarked: boolean
  /** The uid that was pinned when the dependency was first seen, or that the spec names. */
  readonly pinnedUid: string | undefined
  readonly dependency: DependencyFact
  readonly dependents: DependentsFact
  /** Whether the dependency's namespace lets this one hold its deletions up. */
  readonly isGranted: boolean
  /** Whether Deny needs a label on the dependency, because the server does not ask Bonds itself. */
  readonly guards: boolean
  /** Uids that go in a circle with the dependency: none of them may wait for another. */
  readonly ring: ReadonlySet<string>
}

type BondPhase = 'Pending' | 'Active' | 'Broken' | 'Released'

/** What a Bond asks for now. At most one of the effects is set, next to how it stands. */
export interface BondDecision {
  readonly phase: BondPhase
  readonly reason: string
  readonly message: string
  readonly pin?: string
  readonly effect?: 'hold-dependency' | 'guard-dependency' | 'release-dependency' | 'remove-dependents'
  /** Whether something it depends on could not be found out. */
  readonly isUnknown?: true
  /** Look again soon: something could not be known, or may change without a word. */
  readonly retry: boolean
}

/** One rule for all bonds, from what is. Unknown deletes nothing and releases nothing. */
export function decideBond(observed: BondObserved): BondDecision {
  const { spec, phase, isMarked, pinnedUid, dependency, dependents } = observed
  if (dependents.are === 'unknown') return unknown(phase, dependents)
  if (dependency.is === 'unknown') return unknown(phase, dependency)
  const { objects } = dependents
  const living = objects.filter(({ metadata }) => !metadata.deletionTimestamp).length
  if (isMarked) return going(spec, dependency, objects.length - living)
  if (dependency.is === 'absent' || (pinnedUid !== undefined && dependency.uid !== pinnedUid)) {
    if (pinnedUid === undefined) return say('Pending', 'DependencyNotFound', 'what it needs has not been seen yet')
    return gone(spec, living, objects.length)
  }
  const pin = pinnedUid === undefined ? { pin: dependency.uid } : {}
  if (!dependency.isMarked) return { ...standing(observed, dependency, objects.length), ...pin }
  const inTheWay = objects.filter(({ metadata }) => !metadata.deletionTimestamp || !observed.ring.has(metadata.uid))
  return { ...leaving(observed, dependency, { living, inTheWay }), ...pin }
}

type Present = Extract<DependencyFact, { is: 'present' }>

function say(phase: BondDecision['phase'], reason: string, message: string): BondDecision {
  return { phase, reason, message, retry: false }
}

/** What held before, holds; what did not is not made to by something that cannot be read. */
function unknown(
  phase: BondPhase = 'Pending',
  { reason, message }: { readonly reason: string; readonly message: string },
): BondDecision {
  return { ...say(phase, reason, message), isUnknown: true, retry: true }
}

/** The Bond itself was deleted. While those it speaks for are on their way out too, it goes on protecting what they need. */
function going({ onDelete }: BondSpec, dependency: DependencyFact, leavers: number): BondDecision {
  if (leavers > 0 && onDelete !== 'Orphan')
    return say('Active', 'WaitsForDependents', `the Bond goes when the ${leavers} that are leaving are gone`)
  return release(dependency, say('Released', 'BondDeleted', 'the Bond is going'))
}

/** What it needs is there and stays. */
function standing({ spec, isGranted, guards }: BondObserved, dependency: Present, all: number): BondDecision {
  if (all === 0) return release(dependency, say('Pending', 'NoDependents', 'nothing needs it at the moment'))
  const active = say('Active', 'Bound', `${all} bound`)
  switch (spec.onDelete) {
    case 'Orphan':
      return release(dependency, active)
    case 'Cascade':
      return isGranted ? hold(active, dependency) : release(dependency, active)
    case 'Hold':
      return isGranted ? hold(active, dependency) : release(dependency, withoutLeave(spec, all))
    case 'Deny':
      if (!isGranted) return release(dependency, withoutLeave(spec, all))
      return guards && !dependency.isGuarded ? { ...active, effect: 'guard-dependency' } : active
  }
}

/** Others' deletions are not held up. In another cluster, where nobody can give leave, it still binds our own door. */
function withoutLeave({ dependency: { cluster } }: BondSpec, all: number): BondDecision {
  if (cluster)
    return say(
      'Active',
      'BoundHere',
      `${all} bound: Sojourn lets it stay, but whoever deletes it in cluster "${cluster}" is not held up`,
    )
  return say(
    'Pending',
    'NotGranted',
    'its namespace does not let this one hold its deletions up: annotate it with sojourn.dev/allow-bonds-from',
  )
}

function hold(decision: BondDecision, { holdsFinalizer }: Present): BondDecision {
  return holdsFinalizer ? decision : { ...decision, effect: 'hold-dependency' }
}

/** What it needs is no more. */
function gone({ onDelete }: BondSpec, living: number, all: number): BondDecision {
  if (onDelete !== 'Cascade') return say('Released', 'DependencyGone', 'what it needed is gone')
  if (living > 0)
    return {
      ...say('Broken', 'RemovingDependents', `what it needed is gone: ${living} follow`),
      effect: 'remove-dependents',
    }
  return all > 0
    ? say('Broken', 'DependentsLeaving', `${all} are on their way`)
    : say('Released', 'DependentsGone', 'what needed it is gone too')
}

/** What it needs is on its way out. */
function leaving(
  { spec: { onDelete }, isGranted }: BondObserved,
  dependency: Present,
  { living, inTheWay }: { readonly living: number; readonly inTheWay: readonly StoredObject[] },
): BondDecision {
  if (onDelete === 'Cascade' && living > 0)
    return {
      ...say('Broken', 'RemovingDependents', `what it needs is going: ${living} go first`),
      effect: 'remove-dependents',
    }
  if (inTheWay.length === 0 || onDelete === 'Orphan' || !isGranted)
    return release(
      dependency,
      say('Released', onDelete === 'Orphan' ? 'Orphaned' : 'DependentsGone', 'nothing holds what it needed any more'),
    )
  const reason = onDelete === 'Cascade' ? 'DependentsLeaving' : 'Holding'
  // Where all are on their way they may be a circle, of which nobody tells when the last it waits for has gone.
  return {
    ...say('Active', reason, `${inTheWay.length} must go before what they need can: ${named(inTheWay)}`),
    retry: living === 0,
  }
}

/** The first few of many, with the finalizers that keep them. */
function named(objects: readonly StoredObject[]): string {
  const names = objects.slice(0, mostNames).map(({ kind, metadata: { name, deletionTimestamp, finalizers = [] } }) => {
    const waits = deletionTimestamp && finalizers.length > 0 ? ` (waits for ${finalizers.join(', ')})` : ''
    return `${kind} ${name}${waits}`
  })
  return [...names, ...(objects.length > mostNames ? ['…'] : [])].join(', ')
}

const mostNames = 3

function release(dependency: DependencyFact, decision: BondDecision): BondDecision {
  return dependency.is === 'present' && (dependency.holdsFinalizer || dependency.isGuarded)
    ? { ...decision, effect: 'release-dependency' }
    : decision
}
