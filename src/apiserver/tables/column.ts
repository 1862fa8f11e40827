import type { KubeObject } from '../../kube/object.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import type { Columns } from '../http/response/presentation.ts'

/** One column: its heading, and what it shows of an object at this time. */
export interface Column {
  readonly name: string
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format?: string
  readonly description?: string
  /** Above zero: only with `-o wide`. */
  readonly priority?: number
  readonly cell: (object: KubeObject, now: number) => unknown
}

/** Columns in the form a Table is made from. */
export function columnsOf(columns: readonly Column[], now: () => number): Columns {
  return {
    definitions: columns.map(({ name, type = 'string', format = '', description = '', priority = 0 }) => ({
      name,
      type,
      format,
      description,
      priority,
    })),
    cells: (object) => {
      const at = now()
      return columns.map(({ cell }) => cell(object, at) ?? null)
    },
  }
}

export const nameColumn: Column = {
  name: 'Name',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  cell: ({ metadata }) => metadata.name,
}

export const ageColumn: Column = {
  name: 'Age',
  description: 'How long ago the object was created.',
  cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
}

/** A column that shows text. */
export function column(name: string, cell: (object: KubeObject) => unknown): Column {
  return { name, cell }
}

/** A column that shows a number. */
export function count(name: string, cell: (object: KubeObject) => unknown): Column {
  return { name, type: 'integer', cell: (object) => Number(cell(object) ?? 0) }
}

/** The same columns, shown only with `-o wide`. */
export function wide(...columns: readonly Column[]): Column[] {
  return columns.map((one) => Object.assign({}, one, { priority: 1 }))
}

/** How long ago, as kubectl says it. */
export function age(time: string | undefined, now: number): string {
  const at = parseTime(time)
  return at === undefined ? '<unknown>' : formatAge(now - at)
}
