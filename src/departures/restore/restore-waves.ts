import type { PageLine } from '../records/pages.ts'

/** The uids of the objects that must exist before a line's object. */
export type Before = (line: PageLine) => readonly string[]

/** Orders lines so that each comes after what it needs; otherwise, and within a cycle, they keep their order. */
function inOrder(lines: readonly PageLine[], before: Before): readonly PageLine[] {
  const byUid = new Map(lines.map((line) => [line.uid, line]))
  const entered = new Set<PageLine>()
  const placed = new Set<PageLine>()
  // Each line is popped twice: first it pushes what it needs, then it is placed.
  const stack = lines.toReversed()
  for (let line = stack.pop(); line; line = stack.pop()) {
    if (entered.has(line)) {
      placed.add(line)
      continue
    }
    entered.add(line)
    stack.push(line)
    for (const uid of before(line)) {
      const earlier = byUid.get(uid)
      if (earlier && !entered.has(earlier)) stack.push(earlier)
    }
  }
  return [...placed]
}

/**
 * Groups lines into waves. The objects of a wave do not need each other and can be created at once, after all earlier waves. Owners come before their
 * dependents, cluster-scoped objects before namespaced ones.
 */
export function wavesOf(lines: readonly PageLine[], before: Before = () => []): readonly (readonly PageLine[])[] {
  const all: Before = (line) => [...ownersOf(line), ...before(line)]
  const depths = new Map<string, number>()
  const ordered = inOrder(lines, all)
  for (const line of ordered) {
    const depthsBefore = all(line).map((uid) => (depths.get(uid) ?? -1) + 1)
    depths.set(line.uid, Math.max(line.manifest.metadata.namespace ? 1 : 0, ...depthsBefore))
  }
  const waves = Map.groupBy(ordered, ({ uid }) => depths.get(uid) ?? 0)
  return [...waves].toSorted(([left], [right]) => left - right).map(([, wave]) => wave)
}

function ownersOf({ manifest }: PageLine): readonly string[] {
  return (manifest.metadata.ownerReferences ?? []).map(({ uid }) => uid)
}
