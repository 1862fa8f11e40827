import type { Bond } from '../../../apis/bond.ts'
import { grants } from '../../../apis/bond-guard.ts'
import { parseApiVersion, type StoredObject } from '../../../kube/object.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import type { Graph } from '../graph/graph.ts'
import { BondEdges } from '../graph/bond-edges.ts'

/** Bonds as edges of a graph that was read once: those that bind something, with the dependents in the graph. */
export function bondEdgesOf(graph: Graph, bonds: readonly Bond[]): BondEdges {
  const bondEdges = new BondEdges()
  for (const bond of bonds) {
    const { spec, status, metadata } = bond
    const dependency = status?.dependencyUid
    if (!dependency || spec.dependency.cluster || spec.onDelete === 'Orphan') continue
    const dependents = dependentsIn(graph, bond)
    const reason = status.conditions?.find(({ type }) => type === 'Ready')?.reason
    if (isIdle({ phase: status.phase, reason }, dependents.length)) continue
    const isInForce = isGranted(graph, bond, dependency)
    bondEdges.set({
      bond: `${metadata.namespace}/${metadata.name}`,
      uid: metadata.uid,
      dependency,
      dependents,
      cascades: spec.onDelete === 'Cascade',
      holds: isInForce && spec.onDelete !== 'Deny',
      denies: isInForce && spec.onDelete === 'Deny',
    })
  }
  return bondEdges
}

/**
 * Whether a Bond binds nothing any more. A Bond that was released because its dependents form a cycle with the dependency is still an edge of that cycle:
 * without it the others would wait again.
 */
export function isIdle(
  { phase, reason }: { readonly phase?: string | undefined; readonly reason?: string | undefined },
  dependents: number,
): boolean {
  return phase === 'Released' && !(reason === 'DependentsGone' && dependents > 0)
}

function dependentsIn(graph: Graph, { spec, metadata }: Bond): readonly string[] {
  const { name, selector, kind, apiVersion } = spec.dependent
  const { group } = parseApiVersion(apiVersion)
  const isDependent = (object: StoredObject) =>
    object.kind === kind &&
    parseApiVersion(object.apiVersion).group === group &&
    (object.metadata.namespace ?? metadata.namespace) === metadata.namespace &&
    (name === undefined
      ? matches(requirementsOf(selector ?? {}), object.metadata.labels)
      : object.metadata.name === name)
  const found: string[] = []
  for (let node = 0; node < graph.capacity; node++) {
    const object = graph.object(node)
    if (object && isDependent(object)) found.push(object.metadata.uid)
  }
  return found
}

/** Whether the dependency's namespace permits a Bond to block deletions. */
function isGranted(graph: Graph, { metadata }: Bond, dependency: string): boolean {
  const object = graph.object(graph.find(dependency) ?? -1)
  const home = object?.metadata.namespace
  if (!object || home === metadata.namespace) return object !== undefined
  return grants(home ? namespaceIn(graph, home) : object, metadata.namespace)
}

function namespaceIn(graph: Graph, name: string): StoredObject | undefined {
  for (let node = 0; node < graph.capacity; node++) {
    const object = graph.object(node)
    if (object?.kind === 'Namespace' && object.apiVersion === 'v1' && object.metadata.name === name) return object
  }
  return undefined
}
