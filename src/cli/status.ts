import type { Stay } from '../app/stays.ts'
import { formatAge, formatTime } from '../kube/time.ts'
import { readFlags, type Call, type Command } from './command.ts'
import { connect, type Connection } from './connect.ts'
import { checkVersions } from './same-version.ts'
import { print, table, type Paint } from './output.ts'
import { pause } from './pause.ts'

/** One table: what is here, in what state, what happens to it next. */
export const status: Command = {
  name: 'status',
  summary: 'What is here, in what state, what happens to it next, when and why',
  usage: '[-w] [flags]',
  help: `
Examples:
  sojourn status -A
  sojourn status -n team -w`,
  flags: {
    ...readFlags,
    watch: { type: 'boolean', short: 'w', help: 'Keep it on the screen, renewed every two seconds' },
  },
  async run(call) {
    using connection = connect(call)
    await checkVersions(connection, call.io)
    const { readStays } = await import('../app/stays.ts')
    const read = () => readStays(connection.client, { namespace: connection.namespace, now: call.io.now() })
    if (!call.flags.watch) return show(call, connection, await read())
    while (!call.io.signal.aborted) {
      const stays = await read()
      if (call.io.isTerminal) call.io.out('\u001B[H\u001B[2J')
      show(call, connection, stays, call.io.isTerminal ? call.io.height - linesBeside : undefined)
      await pause(2000, call.io.signal)
    }
  },
}

/** The heading, the line that counts what does not fit, and the one the cursor is in. */
const linesBeside = 3

function show(call: Call, { namespace }: Connection, stays: readonly Stay[], most = Infinity): void {
  const data = {
    kind: 'StayList',
    items: stays.map(({ next, ...stay }) => ({
      ...stay,
      ...(next ? { next: { what: next.what, ...(next.at === undefined ? {} : { at: formatTime(next.at) }) } } : {}),
    })),
  }
  print(call, data, () =>
    stays.length === 0
      ? `Nothing is in our care${namespace ? ` in namespace ${namespace}; try -A` : ''}.`
      : [
          staysTable(stays.slice(0, most), call, namespace === undefined),
          ...(stays.length > most ? [`… and ${stays.length - most} more, which have longer`] : []),
        ].join('\n'),
  )
}

function staysTable(stays: readonly Stay[], { io }: Call, all: boolean): string {
  const headings = [...(all ? ['NAMESPACE'] : []), 'OBJECT', 'BY', 'STATE', 'NEXT', 'IN', 'WHY']
  const rows = stays.map(({ object, system, state, next, why }) => [
    ...(all ? [object.namespace ?? ''] : []),
    `${object.kind.toLowerCase()}/${object.name}`,
    system,
    state,
    next?.what ?? '',
    next?.at === undefined ? '' : next.at <= io.now() ? 'now' : formatAge(next.at - io.now()),
    why,
  ])
  if (!io.isTerminal) return table(headings, rows)
  const taken = headings.slice(0, -1).map((heading, column) => {
    const cells = rows.map((row) => row[column]?.length ?? 0)
    return Math.max(heading.length, ...cells) + gap
  })
  const room = Math.max(leastRoom, io.width - taken.reduce((sum, width) => sum + width, 0))
  const fitting = rows.map((row) => [...row.slice(0, -1), shorten(row.at(-1) ?? '', room)])
  return table(headings, fitting, io.colours ? paint : undefined)
}

/** Between two columns. */
const gap = 2
/** A reason shorter than this says nothing: then lines may be longer than the terminal. */
const leastRoom = 30

/** Bold headings; states in the colour of how much they want a look. */
const paint: Paint = (text, { heading, isHeading }) => {
  if (isHeading) return `\u001B[1m${text}\u001B[0m`
  if (heading === 'WHY') return `\u001B[2m${text}\u001B[0m`
  const colour = heading === 'STATE' ? stateColours[text] : heading === 'IN' && text === 'now' ? yellow : undefined
  return colour === undefined ? text : `\u001B[${colour}m${text}\u001B[0m`
}

const [red, green, yellow, blue] = [31, 32, 33, 34]

/** What wants a look is red, what is about to happen yellow, what goes well green, what rests blue; the rest is as it is. */
const stateColours: Readonly<Record<string, number>> = Object.fromEntries(
  (
    [
      [red, ['Failed', 'Broken', 'Unknown', 'TargetNotReadable', 'KindNotFound', 'TargetForbidden', 'TooManyTargets']],
      [red, ['InvalidSpec', 'ConditionCompileError', 'ConditionEvaluationError', 'ConditionResultNotBoolean']],
      [red, ['TargetResolveError']],
      [yellow, ['Marked', 'Notified', 'Due', 'Deleting', 'Leaving', 'Terminating', 'AwaitingApproval']],
      [green, ['Awake', 'Active', 'Complete']],
      [blue, ['Asleep', 'Suspended', 'OptedOut', 'Unmarked', 'Released', 'NoRevision', 'New']],
    ] as const
  ).flatMap(([colour, states]) => states.map((state) => [state, colour])),
)

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
