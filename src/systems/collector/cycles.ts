import type { Graph } from './graph.ts'
import type { Ties } from './ties.ts'

/** Which nodes are in one strongly connected component with a node, walking from owners to dependents among those that `isLeaving` accepts. */
export function componentOf(
  graph: Graph,
  root: number,
  isLeaving: (node: number) => boolean,
  ties?: Ties,
): ReadonlySet<number> {
  const components = componentsOf([root], (node) => childrenOf(graph, node, ties).filter(isLeaving))
  const own = components.get(root)
  return new Set([...components.keys()].filter((node) => components.get(node) === own))
}

/**
 * The number of the strongly connected component of every node that these reach. Tarjan's algorithm with a stack of its own: a chain may be longer than
 * any call stack.
 */
export function componentsOf(
  roots: Iterable<number>,
  children: (node: number) => readonly number[],
): ReadonlyMap<number, number> {
  const index = new Map<number, number>()
  const low = new Map<number, number>()
  const stack: number[] = []
  const calls: { node: number; children: readonly number[]; at: number }[] = []
  const components = new Map<number, number>()

  const enter = (node: number) => {
    index.set(node, index.size)
    low.set(node, index.get(node) ?? 0)
    stack.push(node)
    calls.push({ node, children: children(node), at: 0 })
  }

  for (const root of roots) {
    if (!index.has(root)) enter(root)
    for (let call = calls.at(-1); call; call = calls.at(-1)) {
      const { node } = call
      const child = call.children[call.at++]
      if (child !== undefined) {
        if (!index.has(child)) enter(child)
        // What is on the stack has no component yet.
        else if (!components.has(child)) low.set(node, Math.min(low.get(node) ?? 0, index.get(child) ?? 0))
        continue
      }
      calls.pop()
      const parent = calls.at(-1)
      if (parent) low.set(parent.node, Math.min(low.get(parent.node) ?? 0, low.get(node) ?? 0))
      if (low.get(node) !== index.get(node)) continue
      for (const member of stack.splice(stack.lastIndexOf(node))) components.set(member, index.get(node) ?? 0)
    }
  }
  return components
}

/** Who waits to be let go before a node: those it owns and those who need it. */
function childrenOf(graph: Graph, node: number, ties: Ties | undefined): readonly number[] {
  if (!ties || ties.size === 0) return graph.dependents(node)
  const children = [...graph.dependents(node)]
  for (const { dependents } of ties.on(graph.uidOf(node)))
    for (const uid of dependents) {
      const dependent = graph.find(uid)
      if (dependent !== undefined) children.push(dependent)
    }
  return children
}
