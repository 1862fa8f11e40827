import type { Stay } from '../app/stays.ts'
import { formatAge, formatTime } from '../kube/time.ts'
import { readFlags, type Call, type Command } from './command.ts'
import { connect, type Connection } from './connect.ts'
import { checkVersions } from './same-version.ts'
import { print, table } from './output.ts'
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
      show(call, connection, stays)
      await pause(2000, call.io.signal)
    }
  },
}

function show(call: Call, { namespace }: Connection, stays: readonly Stay[]): void {
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
      : staysTable(stays, call, namespace === undefined),
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
    shorten(why, 80),
  ])
  return table(headings, rows)
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
