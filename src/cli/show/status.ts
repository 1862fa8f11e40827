import type { ManagedItem } from '../../queries/managed-items.ts'
import { TransportError } from '../../client/transport-error.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatAge, formatTime } from '../../kube/time.ts'
import { readFlags, type Call, type Command, type Io } from '../terminal/command.ts'
import { connect, type Connection } from '../terminal/connect.ts'
import { fittedTable } from '../terminal/fitted-table.ts'
import { print, type Paint } from '../terminal/output.ts'
import { pause } from '../terminal/pause.ts'
import { checkVersions } from '../terminal/same-version.ts'
import { itemDocument } from './item-document.ts'

/** Lists what Sojourn manages. */
export const status: Command = {
  name: 'status',
  summary: 'List what Sojourn manages: state, what happens next, when and why',
  usage: '[-w] [flags]',
  help: `
Examples:
  sojourn status -A
  sojourn status -n team -w`,
  flags: {
    ...readFlags,
    watch: { type: 'boolean', short: 'w', help: 'Refresh every two seconds' },
  },
  async run(call) {
    using connection = connect(call)
    await checkVersions(connection, call.io)
    const read = () => readOverview(connection, call.io)
    if (!call.flags.watch) return show(call, connection, await read())
    let seen = await read()
    let lastError: string | undefined
    while (!call.io.signal.aborted) {
      const { isTerminal } = call.io
      if (isTerminal) call.io.out('\u001B[H\u001B[2J')
      if (isTerminal || lastError === undefined) show(call, connection, seen, lastError)
      else call.io.err(`sojourn status: ${lastError}\n`)
      await pause(2000, call.io.signal)
      try {
        seen = await read()
        lastError = undefined
      } catch (error) {
        if (!isTransient(error)) throw error
        lastError = `not refreshed since ${formatTime(seen.at)}: ${(error as Error).message}; retrying`
      }
    }
  },
}

interface Overview {
  readonly at: number
  readonly items: readonly ManagedItem[]
  /** Why nothing is deleted at the moment, in spite of the items' times. */
  readonly halts: readonly string[]
  /** Kinds that the caller may not read. */
  readonly unread: readonly string[]
}

async function readOverview({ client, namespace }: Connection, { now }: Io): Promise<Overview> {
  const { readManagedItems } = await import('../../queries/managed-items.ts')
  const { Reader } = await import('../../queries/reader.ts')
  const { haltsOf } = await import('../../queries/halts.ts')
  const reader = new Reader(client)
  const at = now()
  const items = await readManagedItems(reader, { namespace, now: at })
  const halts = await haltsOf(reader, at)
  // Deleted objects are listed by "sojourn departures".
  return { at, items: items.filter(({ state }) => state !== 'Deleted'), halts, unread: reader.unread }
}

/** A restarting server is back soon: --watch survives it. */
function isTransient(error: unknown): boolean {
  return error instanceof TransportError || (isStatusError(error) && error.code >= 429)
}

function show(call: Call, { namespace }: Connection, overview: Overview, lastError?: string): void {
  const { items, halts, unread } = overview
  const data = { kind: 'StayList', items: items.map(itemDocument), halts, unread }
  print(call, data, () => {
    const notes = [...(lastError ? [lastError] : []), ...halts]
    const gaps =
      unread.length > 0
        ? [`Not included, because you may not read them${namespace ? '' : ' in all namespaces'}: ${unread.join(', ')}.`]
        : []
    if (items.length === 0 && unread.length === 0) return [...notes, nothingManaged(namespace)].join('\n')
    const beside = notes.length + gaps.length + linesBeside
    const maxLines = call.flags.watch ? call.io.height - beside : Infinity
    const { text, shown } = itemsTable(items, call, { all: namespace === undefined, maxLines })
    const rest = items.length - shown
    return [...notes, text, ...(rest > 0 ? [`… and ${rest} more, due later`] : []), ...gaps].join('\n')
  })
}

/** The line that counts the rest, and the line of the cursor. */
const linesBeside = 2

function nothingManaged(namespace: string | undefined): string {
  const where = namespace ? ` in namespace ${namespace}; try -A` : ' here yet'
  return `Sojourn manages nothing${where}. Apply an EnvironmentClass, or try "sojourn demo" on a running "sojourn up".`
}

function itemsTable(
  items: readonly ManagedItem[],
  { io }: Call,
  { all, maxLines }: { readonly all: boolean; readonly maxLines: number },
): { readonly text: string; readonly shown: number } {
  const rows = items.map(({ object, system, state, next, why }) => [
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
    maxLines,
    ...(io.colours ? { paint } : {}),
  })
}

/** Bold headings, coloured states. */
const paint: Paint = (text, { heading, isHeading }) => {
  if (isHeading) return `\u001B[1m${text}\u001B[0m`
  if (heading === 'WHY') return `\u001B[2m${text}\u001B[0m`
  const colour = heading === 'STATE' ? stateColours[text] : heading === 'IN' && text === 'now' ? yellow : undefined
  return colour === undefined ? text : `\u001B[${colour}m${text}\u001B[0m`
}

const [red, green, yellow, blue] = [31, 32, 33, 34]

/** Red needs attention, yellow is about to happen, green is healthy, blue is idle. */
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
