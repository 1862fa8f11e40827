import type { SavingsReport, SavingsRow } from '../../apis/savings-report.ts'
import type { Metrics } from '../../runtime/observability/metrics.ts'

const gib = 2 ** 30
const counted = [
  ['cpuSeconds', 'cpu_seconds', 1, 'Requested CPU that sleep and deletions released, in core seconds'],
  ['memoryGiBSeconds', 'memory_byte_seconds', gib, 'Requested memory that sleep and deletions released'],
  ['gpuSeconds', 'gpu_seconds', 1, 'Requested GPUs that sleep and deletions released'],
  ['storageGiBSeconds', 'storage_byte_seconds', gib, 'Storage of claims that were deleted'],
  ['loadBalancerSeconds', 'load_balancer_seconds', 1, 'Load balancers that were deleted'],
  ['cost', 'cost', 1, 'What the released capacity costs at the configured prices'],
] as const

/** Savings as counters, which begin with the reports of earlier processes. Without owners, which are personal data. */
export function savingsMetrics(metrics: Metrics) {
  const labels = ['namespace', 'system', 'currency'] as const
  const counters = counted.map(([field, name, factor, help]) => ({
    field,
    factor,
    counter: metrics.counter({
      name: `sojourn_saved_${name}_total`,
      help,
      labels: labels.slice(0, field === 'cost' ? 3 : 2),
    }),
  }))
  const gauge = metrics.gauge({ name: 'sojourn_savings_uncounted_workloads', help: 'Asleep, without requests' })
  let hasBegun = false
  const add = (rows: Iterable<SavingsRow>, uncounted: number) => {
    gauge.set({}, uncounted)
    for (const { namespace = '', system, currency, ...row } of rows)
      for (const { counter, field, factor } of counters)
        if (row[field]) counter.inc({ namespace, system, currency }, row[field] * factor)
  }
  const begin = (reports: readonly SavingsReport[]) => {
    for (const { spec } of hasBegun ? [] : reports) add(spec.rows, 0)
    hasBegun = true
  }
  return { add, begin }
}
