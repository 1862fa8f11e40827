import type { Forecast, ForecastEvent } from '../app/forecast.ts'
import { readConfig } from '../app/config.ts'
import { describeRef } from '../kube/object.ts'
import { formatTime, parseLongDuration } from '../kube/time.ts'
import { readFlags, textFlag, UsageError, type Command } from './command.ts'
import { connect } from './connect.ts'
import { print, table } from './output.ts'

/** What will happen if nobody acts. */
export const forecast: Command = {
  name: 'forecast',
  summary: 'What will leave, when and why, if nobody acts',
  usage: '[flags]',
  help: `
The real controllers run on a copy of the cluster, in memory, on a clock that jumps. The cluster itself is only read.

Examples:
  sojourn forecast --for 30d
  sojourn forecast -n team -o json
  sojourn forecast -o ical > departures.ics`,
  flags: {
    ...readFlags,
    output: { ...readFlags.output, help: 'table, json, yaml or ical (default: table)' },
    for: { type: 'string', value: 'DURATION', help: 'How far to look ahead (default: 30d)' },
  },
  async run(call) {
    using connection = connect(call)
    const { flags, io } = call
    const forMs = parseLongDuration(textFlag(flags, 'for') ?? '30d')
    if (forMs === undefined || forMs <= 0)
      throw new UsageError(`--for is "${textFlag(flags, 'for')}": a duration looks like 36h or 30d`)
    const { forecast: lookAhead } = await import('../app/forecast.ts')
    const found = await lookAhead(connection.client, {
      config: readConfig({ flags: {}, env: io.env }),
      now: io.now(),
      forMs,
      ...(io.isTerminal ? { onProgress: (message: string) => io.err(`\r\u001B[K${message}`) } : {}),
    })
    if (io.isTerminal) io.err('\r\u001B[K')
    const shown: Forecast = {
      ...found,
      events: found.events.filter(
        ({ object }) => flags.namespace === undefined || object.namespace === textFlag(flags, 'namespace'),
      ),
    }
    if (textFlag(flags, 'output') === 'ical') return io.out(calendar(shown))
    print(call, { ...shown, events: shown.events.map((event) => ({ ...event, at: formatTime(event.at) })) }, () =>
      forecastTable(shown),
    )
  },
}

function forecastTable({ events, until, objects, unread }: Forecast): string {
  const lines =
    events.length === 0
      ? 'Nothing will happen by itself.'
      : table(
          ['WHEN', 'WHAT', 'OBJECT', 'BECAUSE', 'BY', 'WITH'],
          events.map((event) => [
            formatTime(event.at),
            event.what,
            describeRef(event.object),
            event.because,
            event.by,
            String(event.takes ?? 0),
          ]),
        )
  const notes = unread.map((kind) => `Not read, so not in it: ${kind}`)
  return [lines, '', `${objects} objects looked at, until ${formatTime(until)}.`, ...notes].join('\n')
}

/** RFC 5545: one event of no length for each departure. */
function calendar({ events, from }: Forecast): string {
  const stamp = (at: number) => formatTime(at).replaceAll(/[-:]/g, '')
  const escape = (text: string) => text.replaceAll(/[\\;,]/g, (character) => `\\${character}`).replaceAll('\n', '\\n')
  const entries = events.flatMap((event: ForecastEvent, index) => [
    'BEGIN:VEVENT',
    `UID:${index}-${event.at}@sojourn`,
    `DTSTAMP:${stamp(from)}`,
    `DTSTART:${stamp(event.at)}`,
    `SUMMARY:${escape(`${describeRef(event.object)} ${event.what}`)}`,
    `DESCRIPTION:${escape(`${event.because} (${event.by})`)}`,
    'END:VEVENT',
  ])
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//sojourn//forecast//EN', ...entries, 'END:VCALENDAR', ''].join(
    '\r\n',
  )
}
