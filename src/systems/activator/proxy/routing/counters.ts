/** What is counted per route and thread. Each cell only ever grows (and wraps), except `waiting`. */
export const cell = {
  started: 0,
  finished: 1,
  waiting: 2,
  coldStarts: 3,
  waitedMs: 4,
  informational: 5,
  success: 6,
  redirect: 7,
  clientError: 8,
  serverError: 9,
  refused: 10,
  clientLeft: 11,
  tunnels: 12,
  retries: 13,
  /** Answers that the workload broke off. */
  truncated: 14,
  /** Tenths of a millisecond that answered requests took. */
  tookTenthMs: 15,
  /** Twelve buckets of waiting time begin here. */
  waitBuckets: 16,
  /** Twelve buckets of the time that answered requests took begin here. */
  tookBuckets: 32,
} as const

/** Upper bounds of the waiting-time buckets in milliseconds; the last is open. */
export const waitBucketsMs = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 20_000, 30_000, 60_000] as const

/** The same for the time requests take. */
export const tookBucketsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const

export const cellsPerSlot = 48
/** So many of them, the first ones, tell of use: proxies report these to the process that scales. */
export const cellsOfUse = 32
const slotsPerPage = 1024

/** One thread's counters: pages of shared memory that only this thread writes and any thread may read, without locks. */
export class Counters {
  readonly pages: SharedArrayBuffer[]
  readonly #views: Int32Array[] = []

  constructor(pages: SharedArrayBuffer[] = []) {
    this.pages = pages
  }

  /** The cells of a slot. Pages are added as needed; a slot's memory never moves. */
  slot(index: number): Int32Array {
    const page = Math.floor(index / slotsPerPage)
    while (this.pages.length <= page) this.pages.push(new SharedArrayBuffer(slotsPerPage * cellsPerSlot * 4))
    this.#views[page] ??= new Int32Array(this.pages[page]!)
    const from = (index % slotsPerPage) * cellsPerSlot
    return this.#views[page].subarray(from, from + cellsPerSlot)
  }

  /** The thread that wrote here is gone, and with it all that was under way. */
  forget(): void {
    for (const page of this.pages) {
      const cells = new Int32Array(page)
      for (let from = 0; from < cells.length; from += cellsPerSlot) {
        cells[from + cell.finished] = cells[from + cell.started]!
        cells[from + cell.waiting] = 0
      }
    }
  }
}

/** Requests of this slot that have begun and not ended, those that wait included. */
export function inFlightOf(cells: Int32Array): number {
  return (cells[cell.started]! - cells[cell.finished]!) | 0
}

/** Notes how long a request waited for its workload. */
export function noteWait(cells: Int32Array, waitedMs: number): void {
  cells[cell.coldStarts]!++
  cells[cell.waitedMs] = (cells[cell.waitedMs]! + Math.round(waitedMs)) | 0
  cells[cell.waitBuckets + bucketOf(waitBucketsMs, waitedMs)]!++
}

/** Notes how long a request took, from its head to the end of its answer. */
export function noteDuration(cells: Int32Array, tookMs: number): void {
  cells[cell.tookTenthMs] = (cells[cell.tookTenthMs]! + Math.round(tookMs * 10)) | 0
  cells[cell.tookBuckets + bucketOf(tookBucketsMs, tookMs)]!++
}

function bucketOf(bounds: readonly number[], ms: number): number {
  let bucket = 0
  while (bucket < bounds.length && ms > bounds[bucket]!) bucket++
  return bucket
}

/** Notes a response by the class of its status. */
export function noteStatus(cells: Int32Array, status: number): void {
  const index = status < 200 ? 5 : status < 300 ? 6 : status < 400 ? 7 : status < 500 ? 8 : 9
  cells[index]!++
}
