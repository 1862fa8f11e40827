import { boundHere, leaveOf } from '../../../apis/bond-guard.ts'
import { bondFinalizer, grantAnnotation, inUsePolicy, type BondSpec } from '../../../apis/bond.ts'
import type { StoredObject } from '../../../kube/object.ts'

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
  readonly cycle: ReadonlySet<string>
}

type BondPhase = 'Pending' | 'Active' | 'Broken' | 'Released'

/** What a Bond puts on what it needs: a finalizer, or the mark that makes its server refuse a DELETE. */
export type Mark = 'hold' | 'guard' | 'none'

/** What a Bond asks for now, next to how it stands. */
export interface BondDecision {
  readonly phase: BondPhase
  readonly reason: string
  readonly message: string
  readonly pin?: string
  /** The one mark of its own that is to be on what it needs; absent where all is as it should be, or must stay as it is. */
  readonly mark?: Mark
  /** Whether those who need it are to leave. */
  readonly removesDependents?: true
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
  if (dependents.are === 'unknown') return unknownDependents(observed, dependents)
  if (dependency.is === 'unknown') return unknown(phase, isMarked ? stillHolding(dependency) : dependency)
  const { objects } = dependents
  const living = objects.filter(({ metadata }) => !metadata.deletionTimestamp).length
  if (isMarked) return going(observed, objects.length - living)
  if (dependency.is === 'absent' || (pinnedUid !== undefined && dependency.uid !== pinnedUid)) {
    if (pinnedUid === undefined) return say('Pending', 'DependencyNotFound', 'what it needs has not been seen yet')
    // One that was made anew from a copy carries marks of ours that nobody else would take off.
    return release(dependency, gone(spec, living, objects.length))
  }
  const pin = pinnedUid === undefined ? { pin: dependency.uid } : {}
  if (!dependency.isMarked) return { ...standing(observed, dependency, objects.length), ...pin }
  const inTheWay = objects.filter(({ metadata }) => !metadata.deletionTimestamp || !observed.cycle.has(metadata.uid))
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

/** Who has no leave holds nothing up, whatever cannot be read of those who need it. */
function unknownDependents(
  { spec, phase, isMarked, isGranted, dependency }: BondObserved,
  why: { readonly reason: string; readonly message: string },
): BondDecision {
  const decision = unknown(phase, isMarked ? stillHolding(why) : why)
  if (dependency.is !== 'present' || isGranted) return decision
  const isInForce = spec.onDelete === 'Cascade' || spec.dependency.cluster
  return release(dependency, isInForce ? decision : { ...decision, phase: 'Pending' })
}

/** The Bond itself was deleted. While those it speaks for are on their way out too, it goes on protecting what they need. */
function going({ spec, isGranted, dependency }: BondObserved, leavers: number): BondDecision {
  if (leavers > 0 && isGranted && spec.onDelete !== 'Orphan')
    return say('Active', 'WaitsForDependents', `the Bond goes when the ${leavers} that are leaving are gone`)
  return release(dependency, say('Released', 'BondDeleted', 'the Bond is going'))
}

/** A Bond of which nobody can tell whether it still has to hold something, or whose own marks elsewhere cannot be taken off yet. */
function stillHolding({ reason, message }: { readonly reason: string; readonly message: string }) {
  const until = `the Bond stays until what it may hold can be let go, or until somebody takes the finalizer ${bondFinalizer} off it`
  return { reason, message: `${message}: ${until}` }
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
      return isGranted ? hold(active, dependency) : release(dependency, withoutPermission(observed, all))
    case 'Deny':
      return isGranted
        ? deny(active, observed.denial, dependency)
        : release(dependency, withoutPermission(observed, all))
  }
}

/** Others' deletions are not held up. In another cluster it still binds our own door, which knows of both. */
function withoutPermission({ spec, namespace, origin }: BondObserved, all: number): BondDecision {
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

function hold(decision: BondDecision, { holdsFinalizer, isGuarded }: Present): BondDecision {
  if (!holdsFinalizer) return { ...notYet(decision), mark: 'hold' }
  return isGuarded ? { ...decision, mark: 'hold' } : decision
}

function deny(decision: BondDecision, denial: Denial, dependency: Present): BondDecision {
  // It needs no mark of its own; one by which it held before must go.
  if (denial === 'asked') return dependency.holdsFinalizer ? { ...decision, mark: 'none' } : decision
  // Whoever is refused reads in it which Bonds say so, and those may have changed.
  const mark = 'guard' as const
  if (denial === 'ignored') return { ...decision, ...notEnforced, mark, isPowerless: true, retry: true }
  if (!dependency.isGuarded) return { ...notYet(decision), mark }
  return denial === 'unknown'
    ? { ...decision, mark, isUnknown: true, message: `${decision.message}: ${notChecked}` }
    : { ...decision, mark }
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
      removesDependents: true,
    }
  return all > 0
    ? say('Broken', 'DependentsLeaving', `${all} are on their way`)
    : say('Released', 'DependentsGone', 'what needed it is gone too')
}

/** What it needs is on its way out. */
function leaving(
  observed: BondObserved,
  dependency: Present,
  { living, inTheWay }: { readonly living: number; readonly inTheWay: readonly StoredObject[] },
): BondDecision {
  const { onDelete } = observed.spec
  // What it has no leave to hold up does not wait for those who follow it.
  const unlessLeft = (decision: BondDecision) => (observed.isGranted ? decision : release(dependency, decision))
  if (onDelete === 'Cascade' && living > 0)
    return unlessLeft({
      ...say('Broken', 'RemovingDependents', `what it needs is going: ${living} go first`),
      removesDependents: true,
    })
  const isOrphan = onDelete === 'Orphan'
  if (inTheWay.length === 0 || isOrphan || (onDelete === 'Cascade' && !observed.isGranted))
    return release(
      dependency,
      say('Released', isOrphan ? 'Orphaned' : 'DependentsGone', 'nothing holds what it needed any more'),
    )
  if (!observed.isGranted) return release(dependency, withoutPermission(observed, inTheWay.length))
  if (onDelete !== 'Cascade' && !dependency.holdsFinalizer) return notHeld
  const reason = onDelete === 'Cascade' ? 'DependentsLeaving' : 'Holding'
  // Where all are on their way they may be a circle, of which nobody tells when the last it waits for has gone.
  return {
    ...say('Active', reason, `${inTheWay.length} must go before what they need can: ${named(inTheWay)}`),
    retry: living === 0,
  }
}

/** No finalizer can be put on what has been told to go. */
const notHeld: BondDecision = {
  ...say('Active', 'NotHeld', 'what it needs was told to go while no mark of this Bond was on it: it does not wait'),
  isPowerless: true,
}

/** The first few of many, with the finalizers that keep them. */
function named(objects: readonly StoredObject[]): string {
  const names = objects.slice(0, maxNames).map(({ kind, metadata: { name, deletionTimestamp, finalizers = [] } }) => {
    const waits = deletionTimestamp && finalizers.length > 0 ? ` (waits for ${finalizers.join(', ')})` : ''
    return `${kind} ${name}${waits}`
  })
  return [...names, ...(objects.length > maxNames ? ['…'] : [])].join(', ')
}

const maxNames = 3

function release(dependency: DependencyFact, decision: BondDecision): BondDecision {
  return dependency.is === 'present' && (dependency.holdsFinalizer || dependency.isGuarded)
    ? { ...decision, mark: 'none' }
    : decision
}
