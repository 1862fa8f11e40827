import type { KubeObject } from '../../kube/object.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import type { Columns } from '../http/response/presentation.ts'

/** A column of `kubectl get`: its heading and the cell of an object. */
export interface Column {
  readonly name: string
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly format?: string
  readonly description?: string
  /** Above zero: shown only with `-o wide`. */
  readonly priority?: number
  readonly cell: (object: KubeObject, now: number) => unknown
}

/** The columns of a Table. */
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

/** The first column of every kind. */
export const nameColumn: Column = {
  name: 'Name',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  cell: ({ metadata }) => metadata.name,
}

/** The age since creation. */
export const ageColumn: Column = {
  name: 'Age',
  description: 'How long ago the object was created.',
  cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
}

/** The time since an instant, as kubectl prints it. */
export function age(time: string | undefined, now: number): string {
  const at = parseTime(time)
  return at === undefined ? '<unknown>' : formatAge(now - at)
}
