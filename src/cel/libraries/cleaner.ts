import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library } from '../functions.ts'
import { sortByKeys } from '../sorting.ts'
import { CelOpaque, type CelValue } from '../values.ts'

/** A key and the element it sorts, as `pair(key, element)` makes it. */
class Pair extends CelOpaque {
  readonly typeName = 'vtex.Pair'
  readonly key: CelValue
  readonly element: CelValue

  constructor(key: CelValue, element: CelValue) {
    super()
    this.key = key
    this.element = element
  }

  override toString(): string {
    return 'pair'
  }
}

function sort(frame: Frame, list: readonly CelValue[]): CelValue {
  const pairs = list.filter((element) => element instanceof Pair)
  return pairs.length === list.length ? sortByKeys(frame, pairs) : new CelError('sort() takes a list of pairs')
}

/** What cleaner-controller adds for its users: sorting by a key, and lists turned round. */
export const cleanerLibrary: Library = {
  name: 'cleaner',
  overloads: [
    overload('list(A).reverse_list() -> list(A)', (frame, list: readonly CelValue[]) => {
      frame.charge(list.length >> 2)
      return list.toReversed()
    }),
    overload('pair(A, B) -> vtex.Pair', (_frame, key: CelValue, element: CelValue) => new Pair(key, element)),
    overload('sort(list(vtex.Pair)) -> list(dyn)', sort),
  ],
  macros: ['sort_by'],
}
