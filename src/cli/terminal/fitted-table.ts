import type { Io } from './command.ts'
import { table, type Paint } from './output.ts'

export interface FittedTable {
  readonly headings: readonly string[]
  /** The last cell of each is the longest: it is cut where it does not fit. */
  readonly rows: readonly (readonly string[])[]
  /** The columns that a line has on a narrow terminal, by their place. */
  readonly brief: readonly number[]
  /** What the line below says then, of the others. */
  readonly detail: (row: readonly string[]) => string
  readonly paint?: Paint
  /** How many lines there may be, the heading's included. Defaults to all. */
  readonly most?: number
}

/** A table as wide as the terminal: a line for each row, or two where it is narrow. In a pipe nothing is cut. `shown` counts the rows. */
export function fittedTable(
  { isTerminal, width }: Pick<Io, 'isTerminal' | 'width'>,
  given: FittedTable,
): { readonly text: string; readonly shown: number } {
  const { headings, rows, brief, detail, paint, most = Infinity } = given
  if (!isTerminal) return { text: table(headings, rows), shown: rows.length }
  const room = width - widthOf(headings.slice(0, -1), rows)
  if (room >= Math.min(leastRoom, longest(rows, headings.length - 1))) {
    const some = rows.slice(0, Math.max(0, most - 1))
    const fitting = some.map((row) => [...row.slice(0, -1), shorten(row.at(-1) ?? '', room)])
    return { text: table(headings, fitting, paint), shown: some.length }
  }
  const some = rows.slice(0, Math.max(0, Math.floor((most - 1) / 2)))
  const pick = (row: readonly string[]) => brief.map((column) => row[column] ?? '')
  const [heading = '', ...lines] = table(pick(headings), some.map(pick), paint).split('\n')
  const below = some.map((row) => {
    const text = shorten(`  ${detail(row)}`, width)
    return paint ? paint(text, { heading: 'WHY', isHeading: false }) : text
  })
  return { text: [heading, ...lines.flatMap((line, index) => [line, below[index]])].join('\n'), shown: some.length }
}

/** A reason shorter than this says nothing. */
const leastRoom = 30
/** Between two columns. */
const gap = 2

function widthOf(headings: readonly string[], rows: FittedTable['rows']): number {
  return headings.reduce((sum, heading, column) => sum + Math.max(heading.length, longest(rows, column)) + gap, 0)
}

function longest(rows: FittedTable['rows'], column: number): number {
  return rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0)
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`
}
