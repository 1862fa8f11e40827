import { readFileSync } from 'node:fs'
import { readConfig } from '../../app/config/config.ts'
import { assumptionHelp, readAssumption, type Assumption } from '../../forecast/assumption.ts'
import type { Forecast, ForecastEvent } from '../../forecast/event.ts'
import { describeRef } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import {
  durationFlag,
  readFlags,
  textFlag,
  textFlags,
  UsageError,
  type Call,
  type Command,
  type Io,
} from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { fittedTable } from '../terminal/fitted-table.ts'
import { print } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'

/** Shows what will happen without further action. */
export const forecast: Command = {
  name: 'forecast',
  summary: 'Forecast what will be deleted, put to sleep, promoted and announced, when and why',
  usage: '[flags]',
  help: `
Runs the real controllers on an in-memory copy of the cluster, on a simulated clock. The cluster is only read, and nothing is
sent: mails, calls, pushes and deletions of cloud resources are recorded instead.

Examples:
  sojourn forecast --for 30d
  sojourn forecast -n team -o json
  sojourn forecast -o ical > departures.ics
  sojourn forecast --assume policy.yaml
  sojourn forecast --assume delete:configmap/team/database@2d --assume opt-out:deployment/team/shop
  sojourn forecast --assume approve:team/shop/production --assume merge:2h

What can be assumed:
${assumptionHelp}`,
  flags: {
    ...readFlags,
    output: {
      ...readFlags.output,
      help: 'table, json, yaml or ical (default: table)',
      completes: ['table', 'json', 'yaml', 'ical'],
    },
    namespace: { ...readFlags.namespace, help: 'Only what happens in this namespace (default: all)' },
    'all-namespaces': { ...readFlags['all-namespaces'], help: 'All namespaces, as without it' },
    for: { type: 'string', value: 'DURATION', help: 'How far to look ahead (default: 30d)' },
    assume: {
      type: 'string',
      multiple: true,
      value: 'WHAT',
      help: 'An assumption; may be repeated',
    },
  },
  async run(call) {
    const { flags, io } = call
    const forMs = durationFlag(flags, 'for') ?? 30 * 86_400_000
    if (forMs > maxForMs) throw new UsageError(`--for is "${textFlag(flags, 'for')}": the maximum is ten years`)
    using connection = connect(call)
    const now = io.now()
    const assumptions = assumptionsIn('assume', call)
    const { forecast: lookAhead } = await import('../../app/forecast/forecast.ts')
    const { forecastDocument } = await import('../../forecast/event.ts')
    using bar = progress(io)
    const found = await lookAhead(connection.client, {
      config: readConfig({ flags: {}, env: io.env }),
      now,
      forMs,
      assumptions,
      onProgress: bar.show,
      signal: io.signal,
    })
    bar.end()
    const shown = { ...found, events: found.events.filter((event) => isWanted(event, call)) }
    if (textFlag(flags, 'output') === 'ical')
      return io.out((await import('../../forecast/calendar.ts')).forecastCalendar(shown))
    print(call, forecastDocument(shown), () => timeline(shown, io))
  },
}

/** The assumptions that a flag gives. Throws an error that names the flag. */
export function assumptionsIn(flag: string, { flags, io }: Call): readonly Assumption[] {
  const readFile = (path: string): string => {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      const words = 'delete:, opt-out:, approve:, merge:, rollout:'
      throw new UsageError(`--${flag} ${path}: not a readable file, and not one of ${words}`, { cause: error })
    }
  }
  return textFlags(flags, flag).map((text) => readAssumption(text, { now: io.now(), readFile, flag: `--${flag}` }))
}

const maxForMs = 3653 * 86_400_000

function isWanted({ object }: ForecastEvent, { flags }: Call): boolean {
  const wanted = textFlag(flags, 'namespace')
  // What happens to the Namespace itself happens to everything in it.
  const isItself = object.kind === 'Namespace' && object.apiVersion === 'v1' && object.name === wanted
  return wanted === undefined || object.namespace === wanted || isItself
}

function timeline({ events, until, objects, assumed, halts, lacking, unread }: Forecast, io: Io): string {
  const rows = events.map((event) => [
    formatTime(event.at),
    event.what,
    describeRef(event.object),
    event.by ?? event.system,
    event.to?.join(', ') ?? '',
    whyOf(event),
  ])
  const { text } = fittedTable(io, {
    headings: ['WHEN', 'WHAT', 'OBJECT', 'BY', 'TOLD', 'WHY'],
    rows,
    brief: [0, 1, 2],
    detail: ([, , , by, told, why]) => `${by}: ${why}${told ? `; to ${told}` : ''}`,
  })
  return [
    ...halts,
    events.length === 0 ? 'Nothing will happen in this time.' : text,
    '',
    `${objects} objects, until ${formatTime(until)}. Assumptions: ${assumed.join('; ')}.`,
    ...lacking.map((what) => `Will not happen without more rights: ${what}`),
    ...unread.map((what) => `Not included, because it cannot be read: ${what}`),
  ].join('\n')
}

function whyOf({ why, takes, environment, revision, leavesAt }: ForecastEvent): string {
  const facts = [
    ...(environment ? [`${revision} in ${environment}: ${why}`] : [why]),
    ...(takes ? [`with ${takes} ${takes === 1 ? 'dependent' : 'dependents'}`] : []),
    ...(leavesAt === undefined ? [] : [`deleted at ${formatTime(leavesAt)}`]),
  ]
  return facts.join('; ')
}
