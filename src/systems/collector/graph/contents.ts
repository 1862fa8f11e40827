import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { groupResource, parseApiVersion } from '../../../kube/object.ts'
import type { Graph } from './graph.ts'

/** The objects that the cluster deletes with an object: the contents of a Namespace, the instances of a CustomResourceDefinition. */
export function contentsOf(graph: Graph, node: number, types: Iterable<ResourceType>): Iterable<number> {
  const object = graph.object(node)
  if (!object) return []
  const { group } = parseApiVersion(object.apiVersion)
  const { name } = object.metadata
  if (group === '' && object.kind === 'Namespace')
    return nodesWhere(graph, ({ metadata }) => metadata.namespace === name)
  if (group !== 'apiextensions.k8s.io' || object.kind !== 'CustomResourceDefinition') return []
  const defined = Iterator.from(types).find((type) => groupResource(type) === name)
  if (!defined) return []
  return nodesWhere(
    graph,
    ({ kind, apiVersion }) => kind === defined.kind && parseApiVersion(apiVersion).group === defined.group,
  )
}

function* nodesWhere(graph: Graph, test: (object: StoredObject) => boolean): Generator<number, void, undefined> {
  for (let node = 0; node < graph.capacity; node++) {
    const object = graph.object(node)
    if (object && test(object)) yield node
  }
}
