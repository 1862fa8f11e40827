import type { Preview } from '../../queries/cascade.ts'

/**
 * The parent line of each line of a preview; -1 for the root. The contents of a deleted namespace are reached all at once: each is drawn
 * below its owner where that is in the namespace too.
 */
export function linesAbove(nodes: Preview['nodes']): Int32Array {
  const above = new Int32Array(nodes.length)
  const lineOf = new Map<string, number>()
  for (let line = 0; line < nodes.length; line++) {
    above[line] = nodes.throughOf(line)
    if (nodes.isInside(line)) lineOf.set(nodes.uidOf(line), line)
  }
  for (const line of lineOf.values()) {
    const owner = nodes.ownersOf(line).find((uid) => lineOf.has(uid))
    if (owner !== undefined) above[line] = lineOf.get(owner) ?? 0
  }
  openCircles(above, nodes)
  return above
}

/** Breaks cycles of owners: the first member reached is drawn where the preview reached it. */
function openCircles(above: Int32Array, nodes: Preview['nodes']): void {
  /** The walk that visited a line; lines of earlier walks lead to the root. */
  const metIn = new Int32Array(above.length)
  for (let start = 1; start < above.length; start++) {
    let line = start
    while (line > 0 && metIn[line] === 0) {
      metIn[line] = start
      line = above[line] ?? 0
    }
    if (line > 0 && metIn[line] === start) above[line] = nodes.throughOf(line)
  }
}
