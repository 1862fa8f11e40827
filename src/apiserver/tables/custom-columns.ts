import { formatAge, parseTime } from '../../kube/time.ts'
import type { PrinterColumn } from '../kinds/contract/custom-kind.ts'
import { ageColumn, nameColumn, type Column } from './column.ts'
import { parseJsonPath } from './json-path.ts'

/** The columns of a custom resource: its name, then the CRD's printer columns, or its age if there are none. */
export function customColumns(printerColumns: readonly PrinterColumn[]): readonly Column[] {
  return [nameColumn, ...(printerColumns.length > 0 ? printerColumns.map(columnOf) : [ageColumn])]
}

function columnOf({ name, type, jsonPath, format, description, priority }: PrinterColumn): Column {
  const read = parseJsonPath(jsonPath)
  return {
    name,
    type: type as NonNullable<Column['type']>,
    ...(format ? { format } : {}),
    ...(description ? { description } : {}),
    ...(priority ? { priority } : {}),
    cell: (object, now) => cellOf(type, read?.(object) ?? [], now),
  }
}

function cellOf(type: string, found: readonly unknown[], now: number): unknown {
  const [value] = found
  if (value === undefined) return null
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? dateCell(value, now) : null
    default:
      return textOf(value)
  }
}

function dateCell(text: string, now: number): string {
  const at = parseTime(text)
  return at === undefined ? '<invalid>' : formatAge(now - at)
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean)
}
