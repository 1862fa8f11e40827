import { cleaner } from '../../apis/cleaner.ts'
import { cleanupPolicy } from '../../apis/cleanup-policy.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { addRow, rowKey, savedAmounts, savingsReport, type SavingsRow } from '../../apis/savings-report.ts'
import { doorStateName } from '../../departures/door/door-state.ts'
import type { ClusterSnapshot } from '../../forecast/cluster-snapshot.ts'
import { configMaps } from '../../kube/core-types.ts'
import { groupResource, type StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { readSavings, type Savings } from '../operations/savings.ts'
import { forecastSnapshot, type ForecastOptions } from './forecast.ts'

/** What the cluster will save from now on, by a forecast: the real controllers and the real count, on a virtual clock. */
export async function savingsAhead(
  snapshot: ClusterSnapshot,
  options: ForecastOptions,
): Promise<Savings & { readonly until: number }> {
  let found: Savings = { rows: [], uncounted: 0 }
  const onEnd: ForecastOptions['onEnd'] = async (client) => void (found = await readSavings(client, ''))
  const { until } = await forecastSnapshot(countedFrom(snapshot, options.now), { ...options, onEnd })
  return { ...found, until }
}

/** What the first saves more than the second; less is negative. */
export function savingsBeyond(those: Savings['rows'], others: Savings['rows']): Savings['rows'] {
  const totals = new Map<string, SavingsRow>()
  const keyOf = (row: Savings['rows'][number]) => `${row.day}\n${rowKey(row)}`
  for (const row of those) addRow(totals, row, keyOf(row))
  for (const row of others) {
    const negated = Object.fromEntries(savedAmounts.map((name) => [name, -(row[name] ?? 0)]))
    addRow(totals, { ...row, ...negated }, keyOf(row))
  }
  const differing = [...totals.values()].filter((row) => savedAmounts.some((name) => Math.abs(row[name] ?? 0) > 1e-9))
  return differing as unknown as Savings['rows']
}

/** The cluster with every dry run turned off: of the deletion safeguards, of Cleaners and of CleanupPolicies. */
export function withoutDryRuns({ kinds, unread }: ClusterSnapshot): ClusterSnapshot {
  const rules = new Set([cleanupPolicy, cleaner].map(({ type }) => groupResource(type)))
  const carriedOut = (resource: string) => (item: StoredObject) => {
    if (rules.has(resource)) return { ...item, spec: { ...(item.spec as object), dryRun: false } }
    if (resource !== groupResource(configMaps) || item.metadata.name !== doorStateName) return item
    return { ...item, data: { ...(item.data as object), dryRun: 'false' } }
  }
  const changed = kinds.map(({ type, items }) => ({ type, items: items.map(carriedOut(groupResource(type))) }))
  return { kinds: changed, unread }
}

/** The cluster with one empty report, which says that everything is counted until now. */
function countedFrom({ kinds, unread }: ClusterSnapshot, now: number): ClusterSnapshot {
  const { apiVersion, kind, type } = savingsReport
  const at = formatTime(now)
  const report: StoredObject = {
    apiVersion,
    kind,
    metadata: {
      name: 'savings-begin',
      namespace: sojournNamespace,
      uid: 'begin',
      resourceVersion: '1',
      creationTimestamp: at,
    },
    spec: { day: at.slice(0, 10), accruedTo: at, rows: [] },
  }
  const others = kinds.filter((each) => groupResource(each.type) !== groupResource(type))
  const own = { ...type, singular: '', shortNames: [], verbs: [], subresources: [] }
  return { kinds: [...others, { type: own, items: [report] }], unread }
}
