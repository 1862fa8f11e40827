import { namespaces } from '../../../kube/core-types.ts'
import type { Bond } from '../../../apis/bond.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { setCondition } from '../../../kube/conditions.ts'
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
  { status, spec, metadata }: Bond,
  { decision, dependents, found }: BondFindings,
  now: number,
): NonNullable<Bond['status']> {
  const { phase, reason, message, pin, isUnknown, isPowerless = false } = decision
  const uid = pin ?? spec.dependency.uid
  const isReady = (phase === 'Active' || phase === 'Released') && !isPowerless
  const condition = {
    type: 'Ready',
    status: isReady ? (isUnknown ? ('Unknown' as const) : ('True' as const)) : ('False' as const),
    reason,
    message,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  }
  return {
    ...status,
    phase,
    ...(uid === undefined ? {} : { dependencyUid: uid }),
    ...(found.object?.metadata.uid === (uid ?? status?.dependencyUid) ? namespaceOf(found.object) : {}),
    ...(found.clusterId === undefined ? {} : { dependencyCluster: found.clusterId }),
    ...(dependents.are === 'known' ? countOf(dependents.objects) : {}),
    conditions: [...setCondition(status?.conditions, condition, now)],
  }
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
