import { addRow, type SavingsRow } from '../../../apis/savings-report.ts'
import { mailboxOf, maxOwners, ownersIn } from '../../../notices/addresses.ts'
import { oneLine, type Letter } from '../../../notices/notice.ts'

/** What was saved in a week, and the environments at its end. */
export interface Week {
  /** The Monday of the week after it: `2026-11-23`. */
  readonly until: string
  readonly rows: readonly SavingsRow[]
  readonly uncounted: number
  readonly environments: readonly { readonly namespace: string; readonly owner: string }[]
}

/** Less than this is not worth a mail. */
const minCost = 0.01
const named = 10

/** A mail to each owner who has an address: what their environments released, which most, and which never slept. */
export function ownerLetters({ until, rows, environments }: Week): readonly Letter[] {
  const addressed = rows.flatMap((row) => recipientsIn(row.owner).map((address) => ({ address, row })))
  const allowed = [...Map.groupBy(addressed, ({ row }) => row.namespace)].flatMap(([, entries]) => allowedOf(entries))
  // By mailbox, not by the owner's text: tenants write that, and could multiply the mails by combining addresses.
  return [...Map.groupBy(allowed, ({ address }) => mailboxOf(address)).values()].flatMap((entries) => {
    const [{ address } = { address: '' }] = entries
    const own = entries.map(({ row }) => row)
    if (totalsOf(own).every(({ cost = 0 }) => cost < minCost)) return []
    const counted = new Set(own.map(({ namespace }) => namespace))
    const awake = environments.filter(
      (each) => recipientsIn(each.owner).includes(address) && !counted.has(each.namespace),
    )
    const released = releasedBy(own)
    const text = [
      `Your environments released ${released} in the week before ${until}.`,
      `Most: ${largest(own, 'namespace', 3).join(', ')}.`,
      ...(awake.length > 0
        ? [
            `Never slept: ${awake
              .slice(0, named)
              .map((each) => each.namespace)
              .join(', ')}.`,
          ]
        : []),
      '',
      note,
    ]
    return [
      { to: [address], subject: oneLine(`Your environments released ${released} last week`), text: text.join('\n') },
    ]
  })
}

type Addressed = { readonly address: string; readonly row: SavingsRow }

/** How many mailboxes get a mail about one namespace, whose tenants may name another owner every minute. */
const maxMailboxes = 20

/** Of what addresses released in one namespace, that of the mailboxes which released most. */
function allowedOf(entries: readonly Addressed[]): readonly Addressed[] {
  const byCost = entries.toSorted(({ row: left }, { row: right }) => (right.cost ?? 0) - (left.cost ?? 0))
  const mailboxes = [...new Set(byCost.map(({ address }) => mailboxOf(address)))].slice(0, maxMailboxes)
  return entries.filter(({ address }) => mailboxes.includes(mailboxOf(address)))
}

function recipientsIn(owner = ''): readonly string[] {
  return ownersIn(owner.toLowerCase()).slice(0, maxOwners)
}

/** The mail to the platform team: totals, the largest namespaces and owners, and what was not counted. */
export function teamLetter({ until, rows, uncounted }: Week): Omit<Letter, 'to'> | undefined {
  if (rows.length === 0 && uncounted === 0) return undefined
  const asleep = releasedBy(rows.filter(({ state }) => state === 'Asleep'))
  const deleted = releasedBy(rows.filter(({ state }) => state === 'Deleted'))
  const text = [
    `Sojourn released ${releasedBy(rows)} in the week before ${until}.`,
    `Asleep: ${asleep}. Deleted: ${deleted}.`,
    '',
    'Namespaces:',
    ...largest(rows, 'namespace', named).map((line) => `  ${line}`),
    '',
    'Owners:',
    ...largest(rows, 'owner', named).map((line) => `  ${line}`),
    '',
    ...notCounted(uncounted),
    note,
  ]
  return { subject: `Sojourn released ${releasedBy(rows)} last week`, text: text.join('\n') }
}

/** Sleepers that request nothing; no line without any. */
export function notCounted(workloads: number): readonly string[] {
  if (workloads === 0) return []
  return [`Not counted: ${workloads} sleeping workload${workloads === 1 ? '' : 's'} without requests.`]
}

const note =
  'Requested capacity that sleep and deletions released, at the configured prices. Money is saved only if nodes follow. More: sojourn savings --since 7d'

/** One row for each currency: currencies are never added. */
function totalsOf(rows: readonly SavingsRow[]): readonly SavingsRow[] {
  const totals = new Map<string, SavingsRow>()
  for (const row of rows) addRow(totals, row, row.currency)
  return [...totals.values()]
}

/** `61.0 CPU h and 122.0 GiB h, about 2.45 USD`. */
function releasedBy(rows: readonly SavingsRow[]): string {
  const hours = (name: 'cpuSeconds' | 'memoryGiBSeconds') =>
    (rows.reduce((sum, row) => sum + (row[name] ?? 0), 0) / 3600).toFixed(1)
  const cost = totalsOf(rows).map((total) => `${(total.cost ?? 0).toFixed(2)} ${total.currency}`)
  return `${hours('cpuSeconds')} CPU h and ${hours('memoryGiBSeconds')} GiB h, about ${cost.join(' and ') || '0.00'}`
}

/** `shop-pr-42 (1.80 USD)`, the largest cost first. */
function largest(rows: readonly SavingsRow[], by: 'namespace' | 'owner', count: number): readonly string[] {
  const groups = [...Map.groupBy(rows, (row) => `${row[by] ?? `(no ${by})`}\n${row.currency}`)].map(([key, own]) => {
    const [group = '', currency = ''] = key.split('\n')
    return { group, currency, cost: own.reduce((sum, row) => sum + (row.cost ?? 0), 0) }
  })
  return groups
    .toSorted((left, right) => right.cost - left.cost || (left.group < right.group ? -1 : 1))
    .slice(0, count)
    .map(({ group, currency, cost }) => oneLine(`${group} (${cost.toFixed(2)} ${currency})`))
}
