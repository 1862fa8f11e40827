import type { PageLine } from './pages.ts'

/** The lines in an order in which each comes after its owners, otherwise as they are. Owners in a circle keep their places. */
function ownersFirst(lines: readonly PageLine[]): readonly PageLine[] {
  const byUid = new Map(lines.map((line) => [line.uid, line]))
  const entered = new Set<PageLine>()
  const placed = new Set<PageLine>()
  // Each is met twice: first to call its owners, then, below them on the stack, to take its place.
  const stack = lines.toReversed()
  for (let line = stack.pop(); line; line = stack.pop()) {
    if (entered.has(line)) {
      placed.add(line)
      continue
    }
    entered.add(line)
    stack.push(line)
    for (const { uid } of line.manifest.metadata.ownerReferences ?? []) {
      const owner = byUid.get(uid)
      if (owner && !entered.has(owner)) stack.push(owner)
    }
  }
  return [...placed]
}

/** The lines in groups of which none owns another: all of one may be made at once, after those before it. What has no namespace comes first. */
export function wavesOf(lines: readonly PageLine[]): readonly (readonly PageLine[])[] {
  const depths = new Map<string, number>()
  const ordered = ownersFirst(lines)
  for (const { uid, manifest } of ordered) {
    const { namespace, ownerReferences = [] } = manifest.metadata
    const ofOwners = ownerReferences.map((owner) => (depths.get(owner.uid) ?? -1) + 1)
    depths.set(uid, Math.max(namespace ? 1 : 0, ...ofOwners))
  }
  const waves = Map.groupBy(ordered, ({ uid }) => depths.get(uid) ?? 0)
  return [...waves].toSorted(([left], [right]) => left - right).map(([, wave]) => wave)
}
