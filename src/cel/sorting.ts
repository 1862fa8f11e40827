import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import { compare } from './ordering.ts'
import type { CelValue } from './values.ts'

/** Elements in ascending order of their keys, ties in the order given; an error when keys cannot be compared. */
export function sortByKeys(
  frame: Frame,
  pairs: readonly { readonly key: CelValue; readonly element: CelValue }[],
): CelValue {
  frame.charge(Math.ceil(pairs.length * Math.log2(pairs.length + 1)))
  let error: CelError | undefined
  const single = pairs.length === 1 ? compare(frame, pairs[0]!.key, pairs[0]!.key) : 0
  if (single instanceof CelError) return single
  const sorted = pairs.toSorted((a, b) => {
    const order = compare(frame, a.key, b.key)
    if (!(order instanceof CelError)) return order
    error ??= order
    return 0
  })
  return error ?? sorted.map(({ element }) => element)
}
