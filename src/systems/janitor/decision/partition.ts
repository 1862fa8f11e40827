import { chunks } from '../../../kube/basics/chunks.ts'

/** Something that leaves together with others of its group. */
export interface Grouped {
  readonly group: string | undefined
}

export interface Batch<T> {
  readonly items: readonly T[]
  /** When its turn is, after the start. */
  readonly offsetMs: number
}

/** Batches that never mix groups, their turns spread evenly over a time; the biggest first among what is returned. */
export function partition<T extends Grouped>(
  items: readonly T[],
  { batchSize, spreadMs }: { readonly batchSize: number; readonly spreadMs: number },
): readonly Batch<T>[] {
  // What has no group depends on nothing: all of it may share batches.
  const groups = Map.groupBy(items, ({ group }) => group)
  const slices = [...groups.values()].flatMap((members) => chunks(members, batchSize))
  return slices
    .map((slice, index) => ({ items: slice, offsetMs: Math.floor((index * spreadMs) / slices.length) }))
    .toSorted((left, right) => right.items.length - left.items.length)
}
