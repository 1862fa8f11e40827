import { boundHere, leaveOf } from '../../apis/bond-guard.ts'
import { grantAnnotation, inUsePolicy, type BondSpec } from '../../apis/bond.ts'
import type { StoredObject } from '../../kube/object.ts'

/** What is known of the object a Bond needs. */
export type DependencyFact =
  | {
      readonly is: 'present'
      readonly uid: string
      readonly isMarked: boolean
      readonly holdsFinalizer: boolean
      /** Whether it carries our mark that makes its server refuse a DELETE. */
      readonly isGuarded: boolean
    }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown'; readonly reason: string; readonly message: string }

/** What is known of the objects that need it. */
export type DependentsFact =
  | { readonly are: 'known'; readonly objects: readonly StoredObject[] }
  | { readonly are: 'unknown'; readonly reason: string; readonly message: string }

/**
 * How the deletion of something can be refused: its server asks Bonds itself (`asked`), or heeds a mark on it (`marked`), or heeds none (`ignored`). It may not
 * be known which (`unknown`).
 */
export type Denial = 'asked' | 'marked' | 'ignored' | 'unknown'

export interface BondObserved {
  readonly spec: BondSpec
  /** The Bond's own namespace. */
  readonly namespace: string
  /** The id of its cluster, where what it needs is in another; else ''. */
  readonly origin: string
  /** How it stood when it was last looked at. */
  readonly phase: BondPhase | undefined
  readonly isMarked: boolean
  /** The uid that was pinned when the dependency was first seen, or that the spec names. */
  readonly pinnedUid: string | undefined
  readonly dependency: DependencyFact
  readonly dependents: DependentsFact
  /** Whether the dependency's namespace lets this one hold its deletions up. */
  readonly isGranted: boolean
  readonly denial: Denial
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
  /** Whether what it asks for is not in force, or not yet. */
  readonly isPowerless?: true
  /** Look again soon: something could not be known, or may change without a word. */
  readonly retry: boolean
}

/** One rule for all bonds, from what is. Unknown deletes nothing and releases nothing. */
export function decideBond(observed: BondObserved): BondDecision {
  const { spec, phase, isMarked, pinnedUid, dependency, dependents } = observed
  if (dependents.are === 'unknown') return unknown(phase, dependents)
  if (dependency.is === 'unknown') return unknown(phase, isMarked ? stillHolding(dependency) : dependency)
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

/** A Bond whose own marks elsewhere cannot be taken off yet. */
function stillHolding({ reason, message }: { readonly reason: string; readonly message: string }) {
  return { reason, message: `${message}: the Bond stays until what it may hold can be let go` }
}

/** What it needs is there and stays. */
function standing(observed: BondObserved, dependency: Present, all: number): BondDecision {
  const { spec, isGranted } = observed
  if (all === 0) return release(dependency, say('Pending', 'NoDependents', 'nothing needs it at the moment'))
  const active = say('Active', 'Bound', `${all} bound`)
  switch (spec.onDelete) {
    case 'Orphan':
      return release(dependency, active)
    case 'Cascade':
      return isGranted ? hold(active, dependency) : release(dependency, active)
    case 'Hold':
      return isGranted ? hold(active, dependency) : release(dependency, withoutLeave(observed, all))
    case 'Deny':
      return isGranted ? deny(active, observed.denial, dependency) : release(dependency, withoutLeave(observed, all))
  }
}

/** Others' deletions are not held up. In another cluster it still binds our own door, which knows of both. */
function withoutLeave({ spec, namespace, origin }: BondObserved, all: number): BondDecision {
  const leave = `${grantAnnotation}=${leaveOf(namespace, origin)}`
  const { cluster } = spec.dependency
  if (cluster)
    return say(
      'Active',
      boundHere,
      `${all} bound: Sojourn lets it stay, but whoever deletes it in cluster "${cluster}" is not held up: annotate its namespace there with ${leave}`,
    )
  return say(
    'Pending',
    'NotGranted',
    `its namespace does not let this one hold its deletions up: annotate it with ${leave}`,
  )
}

function hold(decision: BondDecision, { holdsFinalizer }: Present): BondDecision {
  return holdsFinalizer ? decision : { ...notYet(decision), effect: 'hold-dependency' }
}

function deny(decision: BondDecision, denial: Denial, { isGuarded }: Present): BondDecision {
  if (denial === 'asked') return decision
  const guard = isGuarded ? {} : { effect: 'guard-dependency' as const }
  if (denial === 'ignored') return { ...decision, ...notEnforced, ...guard, isPowerless: true, retry: true }
  if (!isGuarded) return { ...notYet(decision), ...guard }
  return denial === 'unknown'
    ? { ...decision, isUnknown: true, message: `${decision.message}: ${notChecked}` }
    : decision
}

/** Until its mark is on what it needs, nobody is held up by it. */
function notYet(decision: BondDecision): BondDecision {
  return {
    ...decision,
    reason: 'TakingHold',
    message: `${decision.message}: its deletion is not held up yet`,
    isPowerless: true,
  }
}

const notEnforced = {
  reason: 'NotEnforced',
  message: `its cluster refuses no deletion: the admission policy ${inUsePolicy} is missing there (sojourn install)`,
}
const notChecked = `whether its cluster has the admission policy ${inUsePolicy}, and so refuses its deletion, cannot be read`

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
