import type { Graph } from './graph.ts'
import type { BondEdges } from './bond-edges.ts'
import { isBond } from '../../../apis/bond-guard.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { ownerStateOf, type OwnerState } from '../../../kube/owner-rule.ts'

/**
 * The nodes that wait for each other in a cycle with this node, itself included; they need not wait for one another. Only waiting makes an edge: an owner that
 * does not wait for its dependent breaks the cycle. If any member waits for a node outside, the result is the node alone: otherwise the end state would
 * depend on which member is deleted first.
 */
export function componentOf(graph: Graph, root: number, bondEdges?: BondEdges): ReadonlySet<number> {
  if (reachesEnd(graph, root, bondEdges)) return new Set([root])
  const components = componentsOf([root], (node) => awaitedBy(graph, node, bondEdges))
  const own = components.get(root)
  const members = [...components.keys()].filter((node) => components.get(node) === own)
  const isClosed = members.every((member) =>
    awaitedBy(graph, member, bondEdges).every((node) => components.get(node) === own),
  )
  return new Set(isClosed ? members : [root])
}

/** Whether a node waits, directly or not, for one that waits for nothing: then its cycle, if any, is not closed. Depth first, so that a long chain costs little. */
function reachesEnd(graph: Graph, root: number, bondEdges: BondEdges | undefined): boolean {
  const seen = new Set([root])
  const pending = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const awaited = awaitedBy(graph, node, bondEdges)
    if (awaited.length === 0 && node !== root) return true
    for (const next of awaited) if (!seen.has(next)) pending.push((seen.add(next), next))
  }
  return false
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
        // A node without a component is still on the stack.
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

/** What the deletion of a node waits for: dependents that block a foreground deletion, and dependents of a Bond that holds it. */
function awaitedBy(graph: Graph, node: number, bondEdges: BondEdges | undefined): readonly number[] {
  const awaited: number[] = []
  const { deletionTimestamp, finalizers } = graph.object(node)?.metadata ?? {}
  if (!deletionTimestamp) return awaited
  if (finalizers?.includes('foregroundDeletion'))
    graph.eachDependent(node, (dependent, isBlocking) => {
      if (isBlocking && canBlock(graph.object(dependent))) awaited.push(dependent)
    })
  if (!bondEdges || bondEdges.size === 0) return awaited
  for (const { holds, dependents } of bondEdges.on(graph.uidOf(node)))
    if (holds) awaited.push(...dependents.map((uid) => graph.find(uid) ?? -1).filter((other) => graph.has(other)))
  return awaited
}

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

/** The owner rule for the collector: a Bond outlives an owner that is deleted in the foreground, because it protects others until that owner is gone. */
export function ownerStateFor(
  dependent: StoredObject,
  reference: OwnerReference,
  owner: StoredObject,
): OwnerState | 'mismatch' {
  const { namespace } = dependent.metadata
  return ownerStateOf(reference, owner, { namespace, outlivesForeground: isBond(dependent) })
}

/** Whether a foreground deletion of its owner may wait for this dependent: never for a Bond, which is deleted after its owner. */
export function canBlock(dependent: StoredObject | undefined): boolean {
  return dependent !== undefined && !isBond(dependent)
}
