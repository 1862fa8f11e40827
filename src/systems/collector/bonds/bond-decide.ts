import { boundHere, permissionEntry } from '../../../apis/bond-guard.ts'
import { bondFinalizer, grantAnnotation, inUsePolicy, type BondSpec, type Bond } from '../../../apis/bond.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { namespaces } from '../../../kube/core-types.ts'
import { healthStatus, type Health } from '../../../kube/conditions.ts'
import type { FoundDependency } from './bond-observe.ts'

/** What is known of the dependency: the object that a Bond's dependents need. */
export type DependencyFact =
  | {
      readonly is: 'present'
      readonly uid: string
      readonly isMarked: boolean
      readonly holdsFinalizer: boolean
      /** Whether it carries the label by which its API server refuses a DELETE. */
      readonly isGuarded: boolean
    }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown'; readonly reason: string; readonly message: string }

/** What is known of the dependents of a Bond. */
export type DependentsFact =
  | { readonly are: 'known'; readonly objects: readonly StoredObject[] }
  | { readonly are: 'unknown'; readonly reason: string; readonly message: string }

/**
 * How an API server can refuse to delete the dependency: it asks Bonds itself (`asked`), its admission policy reads our label (`marked`), or it has no such
 * policy (`ignored`). `unknown`: whether it has one cannot be read.
 */
export type Denial = 'asked' | 'marked' | 'ignored' | 'unknown'

export interface BondObserved {
  readonly spec: BondSpec
  /** The Bond's own namespace. */
  readonly namespace: string
  /** The id of the Bond's own cluster if the dependency is in another one; else ''. */
  readonly origin: string
  /** Its phase after the last reconcile. */
  readonly phase: BondPhase | undefined
  /** Whether the Bond itself is being deleted. */
  readonly isMarked: boolean
  /** The uid of the dependency: named in the spec, or pinned when it was first found. */
  readonly pinnedUid: string | undefined
  readonly dependency: DependencyFact
  readonly dependents: DependentsFact
  /** Whether the dependency's namespace permits the Bond's namespace to block deletions. */
  readonly isGranted: boolean
  readonly denial: Denial
  /** Uids that wait for each other in a cycle with the dependency: none of them may wait for another. */
  readonly cycle: ReadonlySet<string>
}

type BondPhase = 'Pending' | 'Active' | 'Broken' | 'Released'

/** What a Bond puts on its dependency: a finalizer (`hold`), or the label by which its API server refuses a DELETE (`guard`). */
export type Mark = 'hold' | 'guard' | 'none'

/** The new state of a Bond, and what has to be done for it. */
export interface BondDecision {
  readonly phase: BondPhase
  readonly reason: string
  readonly message: string
  readonly pin?: string
  /** The one mark that the dependency should carry; absent when its marks must not be changed. */
  readonly mark?: Mark
  /** Whether the dependents have to be deleted. */
  readonly removesDependents?: true
  /** Whether a fact that the decision depends on could not be read. */
  readonly isUnknown?: true
  /** Whether the protection it asks for is not in force, or not yet. */
  readonly isPowerless?: true
  /** Whether to reconcile again soon: a fact could not be read, or may change without an event. */
  readonly retry: boolean
}

/** The one rule of all Bonds. What is unknown deletes nothing and releases nothing. */
export function decideBond(observed: BondObserved): BondDecision {
  const { spec, phase, isMarked, pinnedUid, dependency, dependents } = observed
  if (dependents.are === 'unknown') return unknownDependents(observed, dependents)
  if (dependency.is === 'unknown') return unknown(phase, isMarked ? stillHolding(dependency) : dependency)
  const { objects } = dependents
  const living = objects.filter(({ metadata }) => !metadata.deletionTimestamp).length
  if (isMarked) return bondDeleted(observed, objects.length - living)
  if (dependency.is === 'absent' || (pinnedUid !== undefined && dependency.uid !== pinnedUid)) {
    if (pinnedUid === undefined) return say('Pending', 'DependencyNotFound', 'the dependency has not been found yet')
    // An object that was recreated from a copy may carry marks of ours, which only this Bond removes.
    return release(dependency, dependencyGone(spec, living, objects.length))
  }
  const pin = pinnedUid === undefined ? { pin: dependency.uid } : {}
  if (!dependency.isMarked) return { ...dependencyPresent(observed, dependency, objects.length), ...pin }
  const blocking = objects.filter(({ metadata }) => !metadata.deletionTimestamp || !observed.cycle.has(metadata.uid))
  return { ...dependencyDeleted(observed, dependency, { living, blocking }), ...pin }
}

type Present = Extract<DependencyFact, { is: 'present' }>

function say(phase: BondDecision['phase'], reason: string, message: string): BondDecision {
  return { phase, reason, message, retry: false }
}

/** The phase stays as it was: an unreadable fact neither adds nor removes protection. */
function unknown(
  phase: BondPhase = 'Pending',
  { reason, message }: { readonly reason: string; readonly message: string },
): BondDecision {
  return { ...say(phase, reason, message), isUnknown: true, retry: true }
}

/** Without permission a Bond blocks nothing, even while its dependents are unknown. */
function unknownDependents(
  { spec, phase, isMarked, isGranted, dependency }: BondObserved,
  why: { readonly reason: string; readonly message: string },
): BondDecision {
  const decision = unknown(phase, isMarked ? stillHolding(why) : why)
  if (dependency.is !== 'present' || isGranted) return decision
  const isInForce = spec.onDelete === 'Cascade' || spec.dependency.cluster
  return release(dependency, isInForce ? decision : { ...decision, phase: 'Pending' })
}

/** The Bond itself is being deleted. It protects the dependency until the dependents that are being deleted, too, are gone. */
function bondDeleted({ spec, isGranted, dependency }: BondObserved, terminating: number): BondDecision {
  if (terminating > 0 && isGranted && spec.onDelete !== 'Orphan')
    return say(
      'Active',
      'WaitsForDependents',
      `the Bond is removed after its ${terminating} dependents that are being deleted`,
    )
  return release(dependency, say('Released', 'BondDeleted', 'the Bond is being deleted'))
}

/** The Bond is being deleted, but it may still protect something, or its marks in another cluster cannot be removed yet. */
function stillHolding({ reason, message }: { readonly reason: string; readonly message: string }) {
  const until = `the Bond stays until its marks can be removed, or until you remove its finalizer ${bondFinalizer}`
  return { reason, message: `${message}: ${until}` }
}

/** The dependency exists and is not being deleted. */
function dependencyPresent(observed: BondObserved, dependency: Present, all: number): BondDecision {
  const { spec, isGranted } = observed
  if (all === 0) return release(dependency, say('Pending', 'NoDependents', 'no dependent exists'))
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

/** Users are not stopped. A dependency in another cluster is still protected from Sojourn itself, whose door knows both clusters. */
function withoutPermission({ spec, namespace, origin }: BondObserved, all: number): BondDecision {
  const permission = `${grantAnnotation}=${permissionEntry(namespace, origin)}`
  const { cluster } = spec.dependency
  if (cluster)
    return say(
      'Active',
      boundHere,
      `${all} bound: Sojourn keeps the dependency, but users of cluster "${cluster}" can delete it: annotate its namespace there with ${permission}`,
    )
  return say(
    'Pending',
    'NotGranted',
    `the dependency's namespace does not permit this Bond to block deletions: annotate it with ${permission}`,
  )
}

function hold(decision: BondDecision, { holdsFinalizer, isGuarded }: Present): BondDecision {
  if (!holdsFinalizer) return { ...notYet(decision), mark: 'hold' }
  return isGuarded ? { ...decision, mark: 'hold' } : decision
}

function deny(decision: BondDecision, denial: Denial, dependency: Present): BondDecision {
  // The server needs no mark; a finalizer from an earlier `onDelete: Hold` must be removed.
  if (denial === 'asked') return dependency.holdsFinalizer ? { ...decision, mark: 'none' } : decision
  // Written again each time: the annotation lists the denying Bonds for the user who is refused, and those may have changed.
  const mark = 'guard' as const
  if (denial === 'ignored') return { ...decision, ...notEnforced, mark, isPowerless: true, retry: true }
  if (!dependency.isGuarded) return { ...notYet(decision), mark }
  return denial === 'unknown'
    ? { ...decision, mark, isUnknown: true, message: `${decision.message}: ${notChecked}` }
    : { ...decision, mark }
}

/** Until its mark is on the dependency, a Bond blocks no deletion. */
function notYet(decision: BondDecision): BondDecision {
  return {
    ...decision,
    reason: 'TakingHold',
    message: `${decision.message}: the deletion of the dependency is not blocked yet`,
    isPowerless: true,
  }
}

const notEnforced = {
  reason: 'NotEnforced',
  message: `the cluster of the dependency refuses no deletion: its admission policy ${inUsePolicy} is missing (sojourn install)`,
}
const notChecked = `whether the cluster of the dependency has the admission policy ${inUsePolicy}, which refuses its deletion, cannot be read`

/** The dependency is gone. */
function dependencyGone({ onDelete }: BondSpec, living: number, all: number): BondDecision {
  if (onDelete !== 'Cascade') return say('Released', 'DependencyGone', 'the dependency is gone')
  if (living > 0)
    return {
      ...say('Broken', 'RemovingDependents', `the dependency is gone: ${living} dependents are deleted`),
      removesDependents: true,
    }
  return all > 0
    ? say('Broken', 'DependentsLeaving', `${all} dependents are being deleted`)
    : say('Released', 'DependentsGone', 'all dependents are gone, too')
}

/** The dependency is being deleted. */
function dependencyDeleted(
  observed: BondObserved,
  dependency: Present,
  { living, blocking }: { readonly living: number; readonly blocking: readonly StoredObject[] },
): BondDecision {
  const { onDelete } = observed.spec
  // Without permission the dependency does not wait for the dependents that follow it.
  const ifPermitted = (decision: BondDecision) => (observed.isGranted ? decision : release(dependency, decision))
  if (onDelete === 'Cascade' && living > 0)
    return ifPermitted({
      ...say('Broken', 'RemovingDependents', `the dependency is being deleted: ${living} dependents are deleted first`),
      removesDependents: true,
    })
  const isOrphan = onDelete === 'Orphan'
  if (blocking.length === 0 || isOrphan || (onDelete === 'Cascade' && !observed.isGranted))
    return release(
      dependency,
      say('Released', isOrphan ? 'Orphaned' : 'DependentsGone', 'the dependency is no longer held'),
    )
  if (!observed.isGranted) return release(dependency, withoutPermission(observed, blocking.length))
  if (onDelete !== 'Cascade' && !dependency.holdsFinalizer) return notHeld
  const reason = onDelete === 'Cascade' ? 'DependentsLeaving' : 'Holding'
  // If all are being deleted they may form a cycle, and no event says when the last object that it waits for is gone.
  return {
    ...say('Active', reason, `${blocking.length} dependents must be deleted first: ${named(blocking)}`),
    retry: living === 0,
  }
}

/** No finalizer can be added to an object that is being deleted. */
const notHeld: BondDecision = {
  ...say('Active', 'NotHeld', 'the dependency was deleted before this Bond could mark it: its deletion does not wait'),
  isPowerless: true,
}

/** The first few, with the finalizers that they wait for. */
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

/** What was read about a Bond, and the decision that follows from it. */
export interface BondFindings {
  readonly decision: BondDecision
  readonly dependents: DependentsFact
  readonly found: FoundDependency
}

/** The new status of a Bond. */
export function statusOf(
  bond: Bond,
  { decision, dependents, found }: BondFindings,
  now: number,
): NonNullable<Bond['status']> {
  const { status, spec } = bond
  const { phase, reason, message, pin } = decision
  const uid = pin ?? spec.dependency.uid
  return {
    ...status,
    phase,
    ...(uid === undefined ? {} : { dependencyUid: uid }),
    ...(found.object?.metadata.uid === (uid ?? status?.dependencyUid) ? namespaceOf(found.object) : {}),
    ...(found.clusterId === undefined ? {} : { dependencyCluster: found.clusterId }),
    ...(dependents.are === 'known' ? countOf(dependents.objects) : {}),
    ...healthStatus(bond, { health: healthOf(decision), reason, message }, now),
  }
}

function healthOf({ phase, reason, isUnknown, isPowerless }: BondDecision): Health {
  const isInForce = (phase === 'Active' || phase === 'Released') && !isPowerless
  if (!isInForce) return stalling.has(reason) ? 'stalled' : 'not-ready'
  return isUnknown ? 'reconciling' : 'ready'
}

/** Reasons that last until a user changes the Bond, a permission or the installation. */
const stalling: ReadonlySet<string> = new Set([
  'NotGranted',
  'NotEnforced',
  'InvalidSpec',
  'NotAllowed',
  'ClusterNotLent',
  'Confined',
  'Forbidden',
  'CreatorForbidden',
  'CreatorUnknown',
  'ServiceAccountRequired',
  'TargetForbidden',
])

/** The namespace of an object, or its own name if it is a Namespace. */
function namespaceOf(object: StoredObject | undefined): { readonly dependencyNamespace?: string } {
  if (!object) return {}
  const { namespace, name } = object.metadata
  const isNamespace = object.kind === namespaces.kind && object.apiVersion === namespaces.version
  const home = isNamespace ? name : namespace
  return home === undefined ? {} : { dependencyNamespace: home }
}

function countOf(objects: readonly StoredObject[]) {
  return {
    dependents: objects.length,
    dependentUids: objects.slice(0, maxUids).map(({ metadata }) => metadata.uid),
  }
}

const maxUids = 100
