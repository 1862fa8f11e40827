import { namespaces } from '../../../kube/core-types.ts'
import type { Bond } from '../../../apis/bond.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { healthStatus, type Health } from '../../../kube/conditions.ts'
import type { BondDecision, DependentsFact } from './bond-decide.ts'
import { type FoundDependency } from './bond-observe.ts'

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
  if (reason === 'NotGranted' || reason === 'NotEnforced') return 'stalled'
  const isInForce = (phase === 'Active' || phase === 'Released') && !isPowerless
  if (!isInForce) return 'not-ready'
  return isUnknown ? 'reconciling' : 'ready'
}

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
