import { readConfig } from '../../app/config/config.ts'
import { savingsSettings } from '../../app/config/savings-config.ts'
import {
  grouped,
  groupings,
  notCounted,
  readSavings,
  type Grouping,
  type GroupedSavings,
  type Savings,
} from '../../app/operations/savings.ts'
import { formatTime } from '../../kube/time.ts'
import { durationFlag, readFlags, textFlag, UsageError, type Call, type Command } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { print, table } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'
import { assumptionsIn } from './forecast.ts'

/** Shows what sleep and deletions saved. */
export const savings: Command = {
  name: 'savings',
  summary: 'Show what sleep and deletions saved, in hours and money',
  usage: '[flags]',
  help: `
Counts the requested capacity that Sojourn released: of sleeping workloads while they sleep, of deleted objects for at most 30 days.
It needs the right to list savingsreports in the namespace sojourn-system.

With --what-if it says what more would be saved if these manifests were applied, and with --dry-run what would be saved if every dry run
were turned off: by a forecast, which changes nothing. No requests are assumed, so that what sleeps when idle may save less.

Examples:
  sojourn savings --since 7d --by owner -o json
  sojourn savings --what-if policy.yaml --for 30d
  sojourn savings --dry-run --by class`,
  flags: {
    ...readFlags,
    namespace: { ...readFlags.namespace, help: 'Only this namespace (default: all)' },
    'all-namespaces': { ...readFlags['all-namespaces'], help: 'All namespaces, as without it' },
    since: { type: 'string', value: 'DURATION', help: 'How far to look back (default: 30d)' },
    by: { type: 'string', value: 'FIELD', help: `${groupings.join(', ')} (default: namespace)`, completes: groupings },
    'what-if': {
      type: 'string',
      multiple: true,
      value: 'FILE',
      help: 'Price a policy, class or schedule before it is applied; also what "forecast --assume" takes',
      completes: 'files',
    },
    'dry-run': { type: 'boolean', help: 'Price what would happen if every dry run were turned off' },
    for: { type: 'string', value: 'DURATION', help: 'How far --what-if and --dry-run look ahead (default: 30d)' },
    prices: savingsSettings.prices.flag,
  },
  async run(call) {
    const { flags } = call
    const by = (textFlag(flags, 'by') ?? 'namespace') as Grouping
    if (!groupings.includes(by)) throw new UsageError(`--by is "${by}": it must be one of ${groupings.join(', ')}`)
    const assumptions = assumptionsIn('what-if', call)
    const isAhead = assumptions.length > 0 || flags['dry-run'] === true
    const surplus = isAhead ? 'since' : ['for', 'prices'].find((flag) => flags[flag] !== undefined)
    if (surplus !== undefined && flags[surplus] !== undefined)
      throw new UsageError(`--${surplus} cannot be used ${isAhead ? 'with' : 'without'} --what-if or --dry-run`)
    const found = isAhead ? await potential(call, assumptions) : await past(call)
    const wanted = flags['all-namespaces'] ? undefined : textFlag(flags, 'namespace')
    const rows = found.rows.filter((row) => wanted === undefined || row.namespace === wanted)
    const [items, totals] = [grouped(rows, by), grouped(rows, 'total')]
    const { uncounted, about, notes, facts } = found
    print(call, { kind: 'Savings', ...facts, by, uncounted, items, totals }, () =>
      [
        ...(items.length === 0 ? [about.none] : [savingsTable(by, items, totals), about.some]),
        ...notes,
        ...notCounted(uncounted),
      ].join('\n'),
    )
  },
}

/** Savings, and what the command says of them. */
interface Found extends Savings {
  readonly about: { readonly some: string; readonly none: string }
  readonly notes: readonly string[]
  readonly facts: object
}

async function past(call: Call): Promise<Found> {
  const sinceMs = durationFlag(call.flags, 'since') ?? 30 * 86_400_000
  using connection = connect(call)
  // Reports are by day: the day in which the time begins counts whole.
  const since = formatTime(call.io.now() - sinceMs).slice(0, 10)
  const some = `Requested capacity released since ${since}. Money is saved only if nodes follow.`
  const none = `Nothing was saved since ${since}. Workloads save while they sleep: see docs/guide/savings.md.`
  return { ...(await readSavings(connection.client, since)), about: { some, none }, notes: [], facts: { since } }
}

/** What would be saved, by forecasts of one snapshot: with and without what is assumed. */
async function potential(call: Call, assumptions: ReturnType<typeof assumptionsIn>): Promise<Found> {
  const { flags, io } = call
  const forMs = durationFlag(flags, 'for') ?? 30 * 86_400_000
  using connection = connect(call)
  const { readSnapshot } = await import('../../forecast/cluster-snapshot.ts')
  const { savingsAhead, savingsBeyond, withoutDryRuns } = await import('../../app/forecast/savings-ahead.ts')
  const prices = textFlag(flags, 'prices')
  const config = readConfig({ flags: prices === undefined ? {} : { prices }, env: io.env })
  using bar = progress(io)
  const read = await readSnapshot(connection.client, (done, of) => bar.show('reading', done / of))
  const isDryRun = flags['dry-run'] === true
  const snapshot = isDryRun ? withoutDryRuns(read) : read
  const common = { config, now: io.now(), forMs, onProgress: bar.show, signal: io.signal }
  const changed = await savingsAhead(snapshot, { ...common, assumptions })
  const today = assumptions.length > 0 ? await savingsAhead(snapshot, common) : undefined
  bar.end()
  const until = formatTime(changed.until)
  const cost = ({ rows }: Savings) =>
    grouped(rows, 'total')
      .map((total) => `${money(total.cost)} ${total.currency}`)
      .join(', ') || 'nothing'
  const compared = today ? [`Until ${until}: ${cost(today)} without it, ${cost(changed)} with it.`] : []
  const unread = read.unread.map((what) => `Not included, because it cannot be read: ${what}`)
  return {
    rows: today ? savingsBeyond(changed.rows, today.rows) : changed.rows,
    uncounted: changed.uncounted,
    about: {
      some: `Requested capacity ${today ? 'that would be released beside what is today' : 'that would be released'} until ${until}. Money is saved only if nodes follow.`,
      none: `It would save nothing ${today ? 'more ' : ''}until ${until}.`,
    },
    notes: [...compared, 'Assumes no requests: workloads that sleep when idle may save less.', ...unread],
    facts: { until, ...(today ? { without: grouped(today.rows, 'total'), with: grouped(changed.rows, 'total') } : {}) },
  }
}

/** Small amounts keep three digits that say something, so that a reader can recompute them. */
function money(cost = 0): string {
  const size = Math.abs(cost)
  if (size < 1e-9) return '0'
  return cost.toFixed(size < 0.01 ? Math.min(9, 2 - Math.floor(Math.log10(size))) : size < 1 ? 4 : 2)
}

function savingsTable(by: string, items: readonly GroupedSavings[], totals: readonly GroupedSavings[]): string {
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
