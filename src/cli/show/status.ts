import type { Stay } from '../../queries/stays.ts'
import { TransportError } from '../../client/transport-error.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatAge, formatTime } from '../../kube/time.ts'
import { readFlags, type Call, type Command, type Io } from '../terminal/command.ts'
import { connect, type Connection } from '../terminal/connect.ts'
import { fittedTable } from '../terminal/fitted-table.ts'
import { print, type Paint } from '../terminal/output.ts'
import { pause } from '../terminal/pause.ts'
import { checkVersions } from '../terminal/same-version.ts'
import { stayDocument } from './stay-document.ts'

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
    const read = () => readOverview(connection, call.io)
    if (!call.flags.watch) return show(call, connection, await read())
    let seen = await read()
    let trouble: string | undefined
    while (!call.io.signal.aborted) {
      const { isTerminal } = call.io
      if (isTerminal) call.io.out('\u001B[H\u001B[2J')
      if (isTerminal || trouble === undefined) show(call, connection, seen, trouble)
      else call.io.err(`sojourn status: ${trouble}\n`)
      await pause(2000, call.io.signal)
      try {
        seen = await read()
        trouble = undefined
      } catch (error) {
        if (!mayPass(error)) throw error
        trouble = `not renewed since ${formatTime(seen.at)}: ${(error as Error).message}; trying again`
      }
    }
  },
}

interface Overview {
  readonly at: number
  readonly stays: readonly Stay[]
  /** Why nothing leaves, whatever the stays say. */
  readonly halts: readonly string[]
  /** Kinds that we may not read. */
  readonly unread: readonly string[]
}

async function readOverview({ client, namespace }: Connection, { now }: Io): Promise<Overview> {
  const { readStays } = await import('../../queries/stays.ts')
  const { Reader } = await import('../../queries/reader.ts')
  const { haltsOf } = await import('../../queries/halts.ts')
  const reader = new Reader(client)
  const at = now()
  const stays = await readStays(reader, { namespace, now: at })
  const halts = await haltsOf(reader)
  // What has left is told by "sojourn departures".
  return { at, stays: stays.filter(({ state }) => state !== 'Deleted'), halts, unread: reader.unread }
}

/** A server that restarts is back soon: who keeps the table open need not open it again. */
function mayPass(error: unknown): boolean {
  return error instanceof TransportError || (isStatusError(error) && error.code >= 429)
}

function show(call: Call, { namespace }: Connection, overview: Overview, trouble?: string): void {
  const { stays, halts, unread } = overview
  const data = { kind: 'StayList', items: stays.map(stayDocument), halts, unread }
  print(call, data, () => {
    const notes = [...(trouble ? [trouble] : []), ...halts]
    const gaps =
      unread.length > 0
        ? [`You may not read ${unread.join(', ')}${namespace ? '' : ' everywhere'}: they are not in it.`]
        : []
    if (stays.length === 0 && unread.length === 0)
      return [...notes, `Nothing is in our care${namespace ? ` in namespace ${namespace}; try -A` : ''}.`].join('\n')
    const beside = notes.length + gaps.length + linesBeside
    const most = call.flags.watch ? call.io.height - beside : Infinity
    const { text, shown } = staysTable(stays, call, { all: namespace === undefined, most })
    const rest = stays.length - shown
    return [...notes, text, ...(rest > 0 ? [`… and ${rest} more, which have longer`] : []), ...gaps].join('\n')
  })
}

/** The line that counts what does not fit, and the one the cursor is in. */
const linesBeside = 2

function staysTable(
  stays: readonly Stay[],
  { io }: Call,
  { all, most }: { readonly all: boolean; readonly most: number },
): { readonly text: string; readonly shown: number } {
  const rows = stays.map(({ object, system, state, next, why }) => [
    ...(all ? [object.namespace ?? ''] : []),
    `${object.kind.toLowerCase()}/${object.name}`,
    system,
    state,
    next?.what ?? '',
    next?.at === undefined ? '' : next.at <= io.now() ? 'now' : formatAge(next.at - io.now()),
    why,
  ])
  return fittedTable(io, {
    headings: [...(all ? ['NAMESPACE'] : []), 'OBJECT', 'BY', 'STATE', 'NEXT', 'IN', 'WHY'],
    rows,
    brief: all ? [0, 1, 3, 4, 5] : [0, 2, 3, 4],
    detail: (row) => `${row.at(-5)}: ${row.at(-1)}`,
    most,
    ...(io.colours ? { paint } : {}),
  })
}

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
