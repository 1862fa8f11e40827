import { sojournNamespace } from '../../apis/group.ts'
import { savingsReport, type SavingsReport, type SavingsRow } from '../../apis/savings-report.ts'
import type { Client } from '../../client/client.ts'
import { removeOwn } from '../../departures/subjects/own-machinery.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { dayMs, dayOf, mergedRows, type Pending } from './decision/accrue.ts'

/** Reports of older days say no more who and where; still older ones are deleted. */
const detailedDays = 35
const keptDays = 400

/** The SavingsReports of the cluster, one a day. Each write rests on the version read: after a conflict, another replica has counted. */
export class Reports {
  readonly #client: Client
  readonly #byDay = new Map<string, SavingsReport>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Reads what is stored; returns until when everything is counted. */
  async load(): Promise<number> {
    this.#byDay.clear()
    for await (const { items } of this.#client.listAll<SavingsReport>(savingsReport.type, {
      namespace: sojournNamespace,
    }))
      for (const report of items) this.#byDay.set(report.spec.day, report)
    return Math.max(0, ...this.all().map(({ spec }) => parseTime(spec.accruedTo) ?? 0))
  }

  all(): readonly SavingsReport[] {
    return [...this.#byDay.values()]
  }

  /** Stores what is pending, the oldest day first: a crash in between leaves the later days to be counted again. */
  async add(pending: Pending, { now, uncounted }: { readonly now: number; readonly uncounted: number }): Promise<void> {
    for (const [day, added] of [...pending].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
      const accruedTo = formatTime(Math.min(now, (parseTime(`${day}T00:00:00Z`) ?? now) + dayMs))
      const rows = mergedRows(this.#byDay.get(day)?.spec.rows ?? [], added.values())
      await this.#put({ day, accruedTo, uncounted, rows })
    }
    for (const report of this.all()) await this.#shorten(report, now)
  }

  async #put(spec: SavingsReport['spec']): Promise<void> {
    const { apiVersion, kind, type } = savingsReport
    const stored = this.#byDay.get(spec.day)
    const metadata = { name: `savings-${spec.day}`, namespace: sojournNamespace }
    const written = stored
      ? await this.#client.update<SavingsReport>(type, { ...stored, spec })
      : await this.#client.create<SavingsReport>(type, { apiVersion, kind, metadata, spec })
    this.#byDay.set(spec.day, written)
  }

  async #shorten(report: SavingsReport, now: number): Promise<void> {
    const { day, rows } = report.spec
    if (day < dayOf(now - keptDays * dayMs)) {
      await removeOwn(this.#client, savingsReport.type, report)
      this.#byDay.delete(day)
    } else if (day < dayOf(now - detailedDays * dayMs) && rows.some(({ namespace, owner }) => namespace ?? owner)) {
      const shortened = rows.map(({ namespace: _, owner: __, ...row }): SavingsRow => row)
      await this.#put({ ...report.spec, rows: mergedRows([], shortened) })
    }
  }
}
