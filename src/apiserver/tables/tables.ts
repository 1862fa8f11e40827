import type { Columns } from '../http/response/presentation.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'
import { builtinColumns } from './builtin-columns.ts'
import { ageColumn, columnsOf, nameColumn, type Column } from './column.ts'
import { customColumns } from './custom-columns.ts'

/** The Table columns of every served kind. */
export class Tables {
  readonly #now: () => number
  readonly #known = new WeakMap<ServedKind, Columns>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** The columns of a kind; name and age for subresources other than `status`. */
  columnsOf(type: ServedKind, subresource: string): Columns {
    if (subresource !== '' && subresource !== 'status') return columnsOf([nameColumn, ageColumn], this.#now)
    const known = this.#known.get(type) ?? columnsOf(columnsFor(type), this.#now)
    this.#known.set(type, known)
    return known
  }
}

function columnsFor({ custom, group, plural }: ServedKind): readonly Column[] {
  if (custom) return customColumns(custom.printerColumns)
  // By group, not by `resource`: both kinds of Event share a resource and have different fields.
  return builtinColumns(group ? `${plural}.${group}` : plural)
}
