import { sojournNamespace } from '../../apis/group.ts'
import { addRow, savedAmounts, savingsReport, type SavingsReport, type SavingsRow } from '../../apis/savings-report.ts'
import type { Client } from '../../client/client.ts'

export { notCounted } from '../../systems/savings/decision/letters.ts'

export const groupings = ['namespace', 'owner', 'class', 'system', 'day'] as const
export type Grouping = (typeof groupings)[number]

/** What was saved. */
export interface Savings {
  readonly rows: readonly (SavingsRow & { readonly day: string })[]
  /** Sleeping workloads without requests. */
  readonly uncounted: number
}

/** Reads the reports since this day. */
export async function readSavings(client: Client, since: string): Promise<Savings> {
  const { items } = await client.list<SavingsReport>(savingsReport.type, { namespace: sojournNamespace })
  const counted = items.filter(({ spec }) => spec.day >= since)
  const rows = counted.flatMap(({ spec }) => spec.rows.map((row) => ({ ...row, day: spec.day })))
  // A list is ordered by name, and names are days.
  return { rows, uncounted: counted.at(-1)?.spec.uncounted ?? 0 }
}

/** Totals of one group, and the part of their cost that sleep saved. */
export type GroupedSavings = Pick<SavingsRow, (typeof savedAmounts)[number] | 'currency'> & {
  readonly group: string
  readonly asleep: number
}

/** Sums rows by a field, the largest cost first; days in order. Currencies are never added. */
export function grouped(rows: Savings['rows'], by: Grouping | 'total'): readonly GroupedSavings[] {
  const groupOf = (row: Savings['rows'][number]) => (by === 'total' ? 'Total' : row[by]) ?? `(no ${by})`
  const totals = new Map<string, SavingsRow>()
  const asleep = new Map<string, SavingsRow>()
  for (const row of rows) {
    const key = JSON.stringify([groupOf(row), row.currency])
    addRow(totals, row, key)
    if (row.state === 'Asleep') addRow(asleep, row, key)
  }
  const groups = [...totals].map(([key, total]) => {
    const [group = ''] = JSON.parse(key) as readonly string[]
    // Not the fields of the first row: a group may have rows of many namespaces, owners and days.
    const amounts = savedAmounts.flatMap((name) => (total[name] === undefined ? [] : [[name, total[name]] as const]))
    const sums: Pick<SavingsRow, (typeof savedAmounts)[number]> = Object.fromEntries(amounts)
    return { group, currency: total.currency, ...sums, asleep: asleep.get(key)?.cost ?? 0 }
  })
  const byName = (left: GroupedSavings, right: GroupedSavings) => (left.group < right.group ? -1 : 1)
  return groups.toSorted((left, right) =>
    by === 'day' ? byName(left, right) : (right.cost ?? 0) - (left.cost ?? 0) || byName(left, right),
  )
}
