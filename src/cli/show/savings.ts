import { grouped, groupings, readSavings, type Grouping, type GroupedSavings } from '../../app/operations/savings.ts'
import { formatTime } from '../../kube/time.ts'
import { durationFlag, readFlags, textFlag, UsageError, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print, table } from '../terminal/output.ts'

/** Shows what sleep and deletions saved. */
export const savings: Command = {
  name: 'savings',
  summary: 'Show what sleep and deletions saved, in hours and money',
  usage: '[flags]',
  help: `
Counts the requested capacity that Sojourn released: of sleeping workloads while they sleep, of deleted objects for at most 30 days.
It needs the right to list savingsreports in the namespace sojourn-system.

Examples:
  sojourn savings --since 7d --by owner -o json`,
  flags: {
    ...readFlags,
    namespace: { ...readFlags.namespace, help: 'Only this namespace (default: all)' },
    'all-namespaces': { ...readFlags['all-namespaces'], help: 'All namespaces, as without it' },
    since: { type: 'string', value: 'DURATION', help: 'How far to look back (default: 30d)' },
    by: { type: 'string', value: 'FIELD', help: `${groupings.join(', ')} (default: namespace)`, completes: groupings },
  },
  async run(call) {
    const { flags, io } = call
    const by = (textFlag(flags, 'by') ?? 'namespace') as Grouping
    if (!groupings.includes(by)) throw new UsageError(`--by is "${by}": it must be one of ${groupings.join(', ')}`)
    const sinceMs = durationFlag(flags, 'since') ?? 30 * 86_400_000
    using connection = connect(call)
    const namespace = flags['all-namespaces'] ? undefined : textFlag(flags, 'namespace')
    // Reports are by day: the day in which the time begins counts whole.
    const since = formatTime(io.now() - sinceMs).slice(0, 10)
    const { rows, uncounted } = await readSavings(connection.client, since, namespace)
    const [items, totals] = [grouped(rows, by), grouped(rows, 'total')]
    print(call, { kind: 'Savings', since, by, uncounted, items, totals }, () =>
      [
        items.length === 0
          ? `Nothing was saved since ${since}. Workloads save while they sleep: see docs/guide/savings.md.`
          : `${savingsTable(by, items, totals)}\nRequested capacity released since ${since}. Money is saved only if nodes follow.`,
        ...(uncounted > 0 ? [`Not counted: ${uncounted} sleeping workloads without requests.`] : []),
      ].join('\n'),
    )
  },
}

function savingsTable(by: string, items: readonly GroupedSavings[], totals: readonly GroupedSavings[]): string {
  const money = (cost = 0) => cost.toFixed(Math.abs(cost) < 1 ? 4 : 2)
  const hours = (seconds = 0) => money(seconds / 3600)
  const rows = [...items, ...totals].map((row) => [
    row.group,
    hours(row.cpuSeconds),
    hours(row.memoryGiBSeconds),
    ((row.storageGiBSeconds ?? 0) / 3600 / 730).toFixed(1),
    `${money(row.cost)} ${row.currency}`,
    money(row.asleep),
    money((row.cost ?? 0) - row.asleep),
  ])
  return table([by.toUpperCase(), 'CPU H', 'MEM GIB H', 'STORAGE GIB MONTH', 'COST', 'ASLEEP', 'DELETED'], rows)
}
