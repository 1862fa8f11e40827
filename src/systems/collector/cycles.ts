import type { Graph } from './graph.ts'
import type { Ties } from './ties.ts'

/**
 * Which nodes are in one strongly connected component with a node, walking from owners to dependents among those that `isLeaving`
 * accepts. Tarjan's algorithm with a stack of its own: a chain may be longer than any call stack.
 */
export function componentOf(
  graph: Graph,
  root: number,
  isLeaving: (node: number) => boolean,
  ties?: Ties,
): ReadonlySet<number> {
  const index = new Map<number, number>()
  const low = new Map<number, number>()
  const onStack = new Set<number>()
  const stack: number[] = []
  const calls: { node: number; children: readonly number[]; at: number }[] = []
  let found: ReadonlySet<number> = new Set([root])

  const enter = (node: number) => {
    index.set(node, index.size)
    low.set(node, index.get(node) ?? 0)
    stack.push(node)
    onStack.add(node)
    calls.push({ node, children: childrenOf(graph, node, ties).filter(isLeaving), at: 0 })
  }

  enter(root)
  for (let call = calls.at(-1); call; call = calls.at(-1)) {
    const { node } = call
    const child = call.children[call.at++]
    if (child !== undefined) {
      if (!index.has(child)) enter(child)
      else if (onStack.has(child)) low.set(node, Math.min(low.get(node) ?? 0, index.get(child) ?? 0))
      continue
    }
    calls.pop()
    const parent = calls.at(-1)
    if (parent) low.set(parent.node, Math.min(low.get(parent.node) ?? 0, low.get(node) ?? 0))
    if (low.get(node) !== index.get(node)) continue
    const component = new Set(stack.splice(stack.lastIndexOf(node)))
    for (const member of component) onStack.delete(member)
    if (component.has(root)) found = component
  }
  return found
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
