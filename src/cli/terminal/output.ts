import { textFlag, UsageError, type Call } from './command.ts'
import { yaml } from '../../kube/yaml.ts'

/** Colours a cell after its width is computed. */
export type Paint = (text: string, cell: { readonly heading: string; readonly isHeading: boolean }) => string

/** A table with aligned columns, two spaces apart. */
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

/** Prints data in the format of --output; `show` makes the table. */
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

/** `NAME=VALUE` for all that have a value. A value with a space in it, such as a path, is a JSON string: the line can be split at spaces outside quotes. */
export function facts(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.map(([name, value]) => `${name}=${/^[^\s"]+$/.test(value) ? value : JSON.stringify(value)}`).join(' ')
}

/** Names and messages are untrusted text: control characters must not reach the terminal. */
function clean(cell: string): string {
  // eslint-disable-next-line no-control-regex
  return cell.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, ' ')
}
