import type { PageLine } from '../records/pages.ts'

/** The uids of what has to be there before a line may come. */
export type Before = (line: PageLine) => readonly string[]

/** The lines in an order in which each comes after what has to be there before it, otherwise as they are. Those in a circle keep their places. */
function inOrder(lines: readonly PageLine[], before: Before): readonly PageLine[] {
  const byUid = new Map(lines.map((line) => [line.uid, line]))
  const entered = new Set<PageLine>()
  const placed = new Set<PageLine>()
  // Each is met twice: first to call those before it, then, below them on the stack, to take its place.
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
 * The lines in groups of which none has to wait for another: all of one may be made at once, after those before it. Owners come before what they own, what has
 * no namespace before what has one.
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
