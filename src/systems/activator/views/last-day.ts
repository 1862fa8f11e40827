const stepMs = 1_800_000
const steps = 48

/** What happened in half an hour. */
export interface DayStep {
  readonly requests: number
  readonly coldStarts: number
  readonly awakeSeconds: number
}

/** The last day of a workload, by half hours since 1970, as its annotation says: `991302:12/1/1740`, requests, cold starts and seconds awake. */
export class LastDay {
  readonly #steps: Map<number, DayStep>

  constructor(text = '') {
    const found = [...text.matchAll(/(\d{1,9}):(\d{1,9})\/(\d{1,9})\/(\d{1,9})/g)].map((entry) =>
      entry.slice(1).map(Number),
    )
    this.#steps = new Map(
      found.map(([step = 0, requests = 0, coldStarts = 0, awakeSeconds = 0]) => [
        step,
        { requests, coldStarts, awakeSeconds },
      ]),
    )
  }

  add(now: number, { requests, coldStarts, awakeSeconds }: DayStep): void {
    const step = Math.floor(now / stepMs)
    const known = this.#steps.get(step) ?? { requests: 0, coldStarts: 0, awakeSeconds: 0 }
    this.#steps.set(step, {
      requests: known.requests + requests,
      coldStarts: known.coldStarts + coldStarts,
      awakeSeconds: known.awakeSeconds + awakeSeconds,
    })
    for (const each of this.#steps.keys()) if (each <= step - steps || each > step) this.#steps.delete(each)
  }

  toString(): string {
    const entries = [...this.#steps].toSorted(([left], [right]) => left - right)
    return entries
      .map(
        ([step, { requests, coldStarts, awakeSeconds }]) =>
          `${step}:${requests}/${coldStarts}/${Math.round(awakeSeconds)}`,
      )
      .join(' ')
  }
}
