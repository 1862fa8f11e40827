import type { Graph } from './graph.ts'

/**
 * The cycle of owners that includes this node, if nothing outside the cycle owns any of them; otherwise empty. An owner that is not in the graph counts as
 * outside: what is unknown never causes a deletion.
 */
export function unanchoredWith(graph: Graph, node: number): readonly number[] {
  const seen = new Set([node])
  for (const member of seen) {
    const owners = graph.owners(member)
    if (owners.length === 0) return []
    for (const { owner } of owners) {
      if (!graph.object(owner)) return []
      seen.add(owner)
    }
  }
  return [...seen]
}

/** Every object that no ownerless node owns, directly or through others: the candidates for `unanchoredWith`. */
export function unanchoredNodes(graph: Graph): readonly number[] {
  const isAnchored = new Uint8Array(graph.capacity)
  const open: number[] = []
  const anchor = (node: number) => {
    if (isAnchored[node] === 1) return
    isAnchored[node] = 1
    open.push(node)
  }
  for (let node = 0; node < graph.capacity; node++) if (!graph.hasOwners(node)) anchor(node)
  for (let node = open.pop(); node !== undefined; node = open.pop()) graph.eachDependent(node, anchor)
  const found: number[] = []
  for (let node = 0; node < graph.capacity; node++) if (isAnchored[node] === 0 && graph.object(node)) found.push(node)
  return found
}
