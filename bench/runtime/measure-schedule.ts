import { PerformanceObserver } from 'node:perf_hooks'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { KeyTable } from '../../src/runtime/controller/key-table.ts'
import { Schedule } from '../../src/runtime/time/schedule.ts'
import { keyBatch, repeatable } from './keys.ts'
import { ObjectHeap } from './object-heap.ts'

/** Nanoseconds per operation. */
export interface OperationFigures {
  readonly addNs: number
  readonly rescheduleNs: number
  readonly removeNs: number
  readonly popNs: number
}

/** What a schedule of so many entries costs: its operations in processor time, and by the clock. */
export interface ScheduleFigures extends OperationFigures {
  readonly byTheClock: OperationFigures
  readonly bytesPerEntry: number
  readonly fullGcMs: number
  readonly longestPauseMs: number
  readonly longestAddMs: number
}

interface Contender {
  set(key: string, dueAt: number): void
  delete(key: string): void
  drain(now: number, due: (key: string) => void): void
}

const month = 30 * 86_400_000
const batch = 100_000
/** The collector's number for mark-sweep-compact. */
const fullCollection = 4
const startAt = Math.floor(systemClock.now())

const contenders: Record<string, () => Contender> = {
  'object-heap': () => new ObjectHeap(),
  sojourn: () => {
    const keys = new KeyTable()
    const schedule = new Schedule(systemClock)
    return {
      set(key, dueAt) {
        const handle = keys.intern(key)
        if (schedule.dueAt(handle) !== undefined) keys.release(handle)
        schedule.set(handle, dueAt)
      },
      delete(key) {
        const handle = keys.find(key)
        if (schedule.delete(handle)) keys.release(handle)
      },
      drain(now, due) {
        schedule.drain(now, Number.POSITIVE_INFINITY, (handle) => {
          due(keys.textOf(handle))
          keys.release(handle)
        })
      },
    }
  },
}

const [name = 'sojourn', count = '1000000'] = process.argv.slice(2)
console.log(JSON.stringify(await measure(name, Number(count))))

async function measure(which: string, entries: number): Promise<ScheduleFigures> {
  const random = repeatable(7)
  const soon = () => startAt + Math.floor(random() * month)
  const pauses = watchPauses()
  const before = liveBytes()
  const contender = contenders[which]?.()
  if (!contender) throw new Error(`there is no contender ${which}`)
  let longestAddMs = 0
  const add = inBatches(entries, (keys) => {
    for (let from = 0; from < keys.length; from += 1000) {
      const beganAt = performance.now()
      for (const key of keys.slice(from, from + 1000)) contender.set(key, soon())
      longestAddMs = Math.max(longestAddMs, performance.now() - beganAt)
    }
  })
  const longestPauseMs = await pauses()
  const bytesPerEntry = (liveBytes() - before) / entries
  const fullGcMs = timed(() => globalThis.gc?.()).cpuMs
  const reschedule = inBatches(entries, (keys) => {
    for (const key of keys) contender.set(key, soon())
  })
  const remove = inBatches(entries / 2, (keys) => {
    for (const key of keys) contender.delete(key)
  })
  let popped = 0
  const pop = timed(() => {
    for (let now = startAt; now <= startAt + month; now += 60_000) contender.drain(now, () => popped++)
  })
  if (popped !== entries / 2) throw new Error(`${popped} entries came out of ${entries / 2}`)
  const operations = (by: (spent: Spent) => number): OperationFigures => ({
    addNs: (by(add) * 1e6) / entries,
    rescheduleNs: (by(reschedule) * 1e6) / entries,
    removeNs: (by(remove) * 1e6) / (entries / 2),
    popNs: (by(pop) * 1e6) / popped,
  })
  return {
    ...operations(({ cpuMs }) => cpuMs),
    byTheClock: operations(({ clockMs }) => clockMs),
    bytesPerEntry,
    fullGcMs,
    longestPauseMs,
    longestAddMs,
  }
}

/** Work on so many keys; making them does not count. */
function inBatches(entries: number, work: (keys: readonly string[]) => void): Spent {
  const total = { cpuMs: 0, clockMs: 0 }
  for (let from = 0; from < entries; from += batch) {
    const keys = keyBatch(from, Math.min(batch, entries - from))
    const { cpuMs, clockMs } = timed(() => work(keys))
    total.cpuMs += cpuMs
    total.clockMs += clockMs
  }
  return total
}

interface Spent {
  /** Processor time: a busy machine hardly shows in it. */
  readonly cpuMs: number
  readonly clockMs: number
}

function timed(work: () => void): Spent {
  const beganAt = performance.now()
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return { cpuMs: (user + system) / 1000, clockMs: performance.now() - beganAt }
}

function liveBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Watches the collector until called: its longest full collection in milliseconds. */
function watchPauses(): () => Promise<number> {
  let longest = 0
  const note = (list: { getEntries(): readonly { duration: number; detail?: unknown }[] }) => {
    for (const { duration, detail } of list.getEntries()) {
      if ((detail as { kind?: number }).kind === fullCollection) longest = Math.max(longest, duration)
    }
  }
  const observer = new PerformanceObserver(note)
  observer.observe({ entryTypes: ['gc'] })
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    observer.disconnect()
    return longest
  }
}
