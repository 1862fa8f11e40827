import { textFlag, UsageError, type Call } from './command.ts'
import { yaml } from '../../kube/yaml.ts'

/** How a cell is shown once its width is settled: colours take no room. */
export type Paint = (text: string, cell: { readonly heading: string; readonly isHeading: boolean }) => string

/** A table for people: columns as wide as they need, a heading in capitals, two spaces between. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint = (text) => text,
): string {
  const all = [headings, ...rows].map((row) => row.map(clean))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
  return all
    .map((row, index) => {
      const last = row.findLastIndex((cell) => cell !== '')
      return row
        .slice(0, last + 1)
        .map((cell, column) => {
          const padding = column === last ? '' : ' '.repeat((widths[column] ?? 0) - cell.length)
          return `${paint(cell, { heading: headings[column] ?? '', isHeading: index === 0 })}${padding}`
        })
        .join('  ')
    })
    .join('\n')
}

/** Prints data as asked: a table made by `show`, or the data itself. */
export function print(call: Call, data: unknown, show: () => string): void {
  const format = textFlag(call.flags, 'output') ?? 'table'
  switch (format) {
    case 'table':
      return call.io.out(`${show()}\n`)
    case 'json':
      return call.io.out(`${JSON.stringify(data, null, 2)}\n`)
    case 'yaml':
      return call.io.out(yaml().stringify(data))
    default:
      throw new UsageError(`--output is "${format}": it must be table, json or yaml`)
  }
}

/** Names and messages come from other people: nothing in them may move the cursor. */
function clean(cell: string): string {
  // eslint-disable-next-line no-control-regex
  return cell.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, ' ')
}
