import { PerformanceObserver } from 'node:perf_hooks'
import { systemClock } from '../../src/runtime/clock.ts'
import { KeyTable } from '../../src/runtime/key-table.ts'
import { Schedule } from '../../src/runtime/schedule.ts'
import { keyBatch, repeatable } from './keys.ts'
import { ObjectHeap } from './object-heap.ts'

/** What a schedule of so many entries costs; nanoseconds per operation. */
export interface ScheduleFigures {
  readonly addNs: number
  readonly rescheduleNs: number
  readonly removeNs: number
  readonly popNs: number
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
  const addNs = inBatches(entries, (keys) => {
    for (let from = 0; from < keys.length; from += 1000) {
      const beganAt = performance.now()
      for (const key of keys.slice(from, from + 1000)) contender.set(key, soon())
      longestAddMs = Math.max(longestAddMs, performance.now() - beganAt)
    }
  })
  const longestPauseMs = await pauses()
  const bytesPerEntry = (liveBytes() - before) / entries
  const fullGcMs = timed(() => globalThis.gc?.())
  const rescheduleNs = inBatches(entries, (keys) => {
    for (const key of keys) contender.set(key, soon())
  })
  const removeNs = inBatches(entries / 2, (keys) => {
    for (const key of keys) contender.delete(key)
  })
  let popped = 0
  const popMs = timed(() => {
    for (let now = startAt; now <= startAt + month; now += 60_000) contender.drain(now, () => popped++)
  })
  if (popped !== entries / 2) throw new Error(`${popped} entries came out of ${entries / 2}`)
  const popNs = (popMs * 1e6) / popped
  return { addNs, rescheduleNs, removeNs, popNs, bytesPerEntry, fullGcMs, longestPauseMs, longestAddMs }
}

/** Nanoseconds per key; making the keys does not count. */
function inBatches(entries: number, work: (keys: readonly string[]) => void): number {
  let totalMs = 0
  for (let from = 0; from < entries; from += batch) {
    const keys = keyBatch(from, Math.min(batch, entries - from))
    totalMs += timed(() => work(keys))
  }
  return (totalMs * 1e6) / entries
}

/** Milliseconds of processor time, so that a busy machine does not count. */
function timed(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
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
