import { cells } from './cells.ts'
import { ageColumn, nameColumn, type Column } from './column.ts'
import table from './columns.json' with { type: 'json' }
import { read, readText } from './read.ts'

/** A column as `columns.json` has it. `"Name"` and `"Age"` stand for the columns of every kind. */
interface ColumnRow {
  readonly name: string
  /** The path of the field it shows. */
  readonly field?: string
  /** The text without that field; the default is nothing, and 0 for integers. */
  readonly or?: string
  /** The function that computes it instead. */
  readonly cell?: keyof typeof cells
  /** What that function shows of the field. */
  readonly of?: string
  readonly type?: 'integer'
  /** Shown only with `-o wide`. */
  readonly wide?: boolean
}

const rows = table as Readonly<Record<string, readonly (ColumnRow | string)[]>>

/** The columns of a built-in kind by its resource, such as `deployments.apps`: name and age where none are listed. */
export function builtinColumns(resource: string): readonly Column[] {
  return (rows[resource] ?? ['Name', 'Age']).map(toColumn)
}

/** The resources with columns of their own. */
export const columnResources = Object.keys(rows)

function toColumn(row: ColumnRow | string): Column {
  if (typeof row === 'string') return row === 'Name' ? nameColumn : ageColumn
  const { name, field = '', or = '', of = '', type, cell, wide } = row
  const shared: Omit<Column, 'cell'> = {
    ...(name === nameColumn.name ? nameColumn : { name }),
    ...(type === 'integer' ? { type } : {}),
    ...(wide ? { priority: 1 } : {}),
  }
  const compute = cell && cells[cell]
  if (compute) return { ...shared, cell: (object, now) => compute(object, { field, or, of, now }) }
  if (type === 'integer') return { ...shared, cell: (object) => Number(read(object, field) ?? 0) }
  return { ...shared, cell: (object) => readText(object, field, or) }
}
