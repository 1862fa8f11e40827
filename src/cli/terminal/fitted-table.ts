import type { Io } from './command.ts'
import { table, type Paint } from './output.ts'

export interface FittedTable {
  readonly headings: readonly string[]
  /** The last cell of a row is cut where it does not fit. */
  readonly rows: readonly (readonly string[])[]
  /** The indexes of the columns shown on a narrow terminal. */
  readonly brief: readonly number[]
  /** The second line of a row there, for the other columns. */
  readonly detail: (row: readonly string[]) => string
  readonly paint?: Paint
  /** The maximum number of lines, with the heading. Defaults to no limit. */
  readonly maxLines?: number
}

/** A table as wide as the terminal: one line per row, or two where it is narrow. In a pipe nothing is cut. `shown` counts the rows. */
export function fittedTable(
  { isTerminal, width }: Pick<Io, 'isTerminal' | 'width'>,
  given: FittedTable,
): { readonly text: string; readonly shown: number } {
  const { headings, rows, brief, detail, paint, maxLines = Infinity } = given
  if (!isTerminal) return { text: table(headings, rows), shown: rows.length }
  const room = width - widthOf(headings.slice(0, -1), rows)
  if (room >= Math.min(minRoom, maxLength(rows, headings.length - 1))) {
    const some = rows.slice(0, Math.max(0, maxLines - 1))
    const fitting = some.map((row) => [...row.slice(0, -1), shorten(row.at(-1) ?? '', room)])
    return { text: table(headings, fitting, paint), shown: some.length }
  }
  const some = rows.slice(0, Math.max(0, Math.floor((maxLines - 1) / 2)))
  const pick = (row: readonly string[]) => brief.map((column) => row[column] ?? '')
  const [heading = '', ...lines] = table(pick(headings), some.map(pick), paint).split('\n')
  const below = some.map((row) => {
    const text = shorten(`  ${detail(row)}`, width)
    return paint ? paint(text, { heading: 'WHY', isHeading: false }) : text
  })
  return { text: [heading, ...lines.flatMap((line, index) => [line, below[index]])].join('\n'), shown: some.length }
}

/** A reason cut shorter than this is not readable. */
const minRoom = 30
/** Between two columns. */
const gap = 2

function widthOf(headings: readonly string[], rows: FittedTable['rows']): number {
  return headings.reduce((sum, heading, column) => sum + Math.max(heading.length, maxLength(rows, column)) + gap, 0)
}

function maxLength(rows: FittedTable['rows'], column: number): number {
  return rows.reduce((longest, row) => Math.max(longest, row[column]?.length ?? 0), 0)
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1))}…`
}
