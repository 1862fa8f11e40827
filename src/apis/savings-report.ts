import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { integer, list, number, object, oneOf, string, time, type Static } from './schema.ts'

const row = object({
  'namespace?': string('Namespace; absent outside of namespaces, and after 35 days.'),
  'owner?': string('Owner, if one is known; absent after 35 days.'),
  'class?': string('EnvironmentClass of the namespace, if it is an environment.'),
  system: string('System that put the workloads to sleep or deleted the objects.'),
  state: oneOf('Whether the capacity was released by sleep or by deletion.', ['Asleep', 'Deleted']),
  currency: string('Currency of cost.'),
  'cpuSeconds?': number('Requested CPU, in core seconds.'),
  'memoryGiBSeconds?': number('Requested memory, in GiB seconds.'),
  'gpuSeconds?': number('Requested GPUs, in GPU seconds.'),
  'storageGiBSeconds?': number('Storage of deleted claims, in GiB seconds.'),
  'loadBalancerSeconds?': number('Deleted load balancers, in seconds.'),
  'cost?': number('What that costs at the prices of the time.'),
})

const spec = object('Requested capacity that Sojourn released in one day.', {
  day: string('Day in UTC.', { pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  accruedTo: time('Until when everything is counted.'),
  'uncounted?': integer('Number of sleeping workloads without requests, which count as nothing.', { minimum: 0 }),
  rows: list('Released capacity by namespace, owner, class, system and state.', row),
})

/** What sleep and deletions saved in one day. Kept in the namespace of Sojourn, which outlives the others. */
export const savingsReport = defineOwnKind({
  kind: 'SavingsReport',
  scope: 'Namespaced',
  description: 'Records the requested capacity that sleep and deletions released in one day, and what it costs.',
  spec,
  status: object({}),
  columns: [
    { name: 'Day', type: 'string', jsonPath: '.spec.day' },
    { name: 'Counted To', type: 'date', jsonPath: '.spec.accruedTo' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type SavingsReport = ObjectOf<typeof savingsReport>
export type SavingsRow = Static<typeof row>

const dimensions = ['namespace', 'owner', 'class', 'system', 'state', 'currency'] as const
export const savedAmounts = [
  'cpuSeconds',
  'memoryGiBSeconds',
  'gpuSeconds',
  'storageGiBSeconds',
  'loadBalancerSeconds',
  'cost',
] as const

/** What tells two rows of a day apart. */
export function rowKey(one: SavingsRow): string {
  return dimensions.map((dimension) => one[dimension] ?? '').join('\n')
}

/** Adds the amounts of a row to the row under this key, or begins it. */
export function addRow(rows: Map<string, SavingsRow>, added: SavingsRow, key = rowKey(added)): void {
  const before = rows.get(key)
  const merged: Record<string, unknown> = { ...(before ?? added) }
  for (const name of savedAmounts) {
    const total = Math.round(((before?.[name] ?? 0) + (added[name] ?? 0)) * 1e9) / 1e9
    if (total !== 0) merged[name] = total
    else delete merged[name]
  }
  rows.set(key, merged as unknown as SavingsRow)
}
