import { addRow, rowKey, type SavingsRow } from '../../../apis/savings-report.ts'
import { times } from '../../../kube/basics/requests.ts'
import { formatTime } from '../../../kube/time.ts'
import { hourlyPrice } from '../../../prices/aws-prices.ts'
import { costOf, pricesIn, type Prices } from '../../../prices/prices.ts'
import type { Source } from './released.ts'

/** What is counted and not stored yet: rows by day in UTC, such as `2026-11-18`. */
export type Pending = Map<string, Map<string, SavingsRow>>

export const dayMs = 86_400_000

export function dayOf(at: number): string {
  return formatTime(at).slice(0, 10)
}

/** Adds what the sources released between two instants. Each uid counts once for each instant, whatever put it to sleep or deleted it. */
export function accrue(
  pending: Pending,
  { sources, from: start, to: now, prices }: { sources: readonly Source[]; from: number; to: number; prices: Prices },
): void {
  const counted = new Set<string>()
  for (const source of sources) {
    if (counted.has(source.uid)) continue
    counted.add(source.uid)
    const end = Math.min(now, source.until)
    for (let from = Math.max(start, source.from), to; from < end; from = to) {
      to = Math.min(end, (Math.floor(from / dayMs) + 1) * dayMs)
      const rows = pending.getOrInsertComputed(dayOf(from), () => new Map())
      addRow(rows, rowOf(source, to - from, prices))
    }
  }
}

function rowOf({ place, system, state, amounts, region, parts }: Source, ms: number, prices: Prices): SavingsRow {
  const hours = ms / 3_600_000
  // A part without a known price counts as nothing: never too much.
  const ofCloud = parts?.map((part) => hourlyPrice([part], pricesIn(prices.aws, region ?? '')) ?? 0)
  const seconds = times(amounts, ms / 1000)
  return {
    ...place,
    system,
    state,
    currency: prices.currency,
    cpuSeconds: seconds.cpu,
    memoryGiBSeconds: seconds.memory,
    gpuSeconds: seconds.gpu,
    storageGiBSeconds: seconds.storage,
    loadBalancerSeconds: seconds.loadBalancers,
    cost: ofCloud
      ? ofCloud.reduce((sum, price) => sum + price, 0) * hours
      : costOf(amounts, hours, prices.namespaces[place.namespace ?? ''] ?? prices.unit),
  }
}

/** Beyond this many rows a report counts the rest together: an object of the API has a maximum size. */
const maxRows = 2000
/** Tenants write owners, and change them: the rest of a namespace counts without one, and takes no room from other namespaces. */
const maxRowsOfNamespace = 50
/** As long as the owner of an Environment may be; an annotation may be as long as a whole report. */
const maxOwnerLength = 320

/** The rows of a report with others added. */
export function mergedRows(stored: readonly SavingsRow[], added: Iterable<SavingsRow>): SavingsRow[] {
  const rows = new Map(stored.map((row) => [rowKey(row), row]))
  const counts = new Map<string | undefined, number>()
  for (const { namespace } of stored) counts.set(namespace, (counts.get(namespace) ?? 0) + 1)
  const fits = (row: SavingsRow, count: number) =>
    rows.has(rowKey(row)) ||
    (rows.size < maxRows &&
      (row.namespace === undefined || count < maxRowsOfNamespace) &&
      (row.owner?.length ?? 0) <= maxOwnerLength)
  for (const each of added) {
    const { owner: _, class: __, ...rest } = each
    const count = counts.get(each.namespace) ?? 0
    const row = fits(each, count) ? each : fits(rest, 0) ? rest : { ...rest, namespace: '(other)' }
    if (!rows.has(rowKey(row))) counts.set(row.namespace, (counts.get(row.namespace) ?? 0) + 1)
    addRow(rows, row)
  }
  return [...rows.values()]
}
