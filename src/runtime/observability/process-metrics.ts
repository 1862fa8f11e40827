import { type Clock, sleep } from '../time/clock.ts'
import type { Metrics } from './metrics.ts'

export interface ProcessFacts {
  readonly clock: Clock
  readonly version: string
  readonly process: {
    uptime(): number
    cpuUsage(): { readonly user: number; readonly system: number }
    readonly memoryUsage: { rss(): number }
  }
  /** The roles of which one process leads, and whether this one does. */
  readonly leaders: () => ReadonlyMap<string, boolean>
}

/** What Prometheus expects of every process, the version that runs, and which roles it leads. */
export function processMetrics(metrics: Metrics, { clock, version, process, leaders }: ProcessFacts): void {
  const memory = metrics.gauge({ name: 'process_resident_memory_bytes', help: 'Resident memory size in bytes.' })
  const cpu = metrics.counter({ name: 'process_cpu_seconds_total', help: 'User and system CPU time in seconds.' })
  const start = metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since the Unix epoch in seconds.',
  })
  const build = metrics.gauge({ name: 'sojourn_build_info', help: 'The version that runs.', labels: ['version'] })
  const leader = metrics.gauge({
    name: 'sojourn_leader',
    help: 'Whether this process leads the role.',
    labels: ['role'],
  })
  start.set({}, clock.now() / 1000 - process.uptime())
  build.set({ version }, 1)
  let counted = 0
  metrics.onCollect(() => {
    const { user, system } = process.cpuUsage()
    const seconds = (user + system) / 1e6
    cpu.inc({}, seconds - counted)
    counted = seconds
    memory.set({}, process.memoryUsage.rss())
    for (const [role, leads] of leaders()) leader.set({ role }, leads ? 1 : 0)
  })
}

const everyMs = 500

/** Measures, while it runs, how much later than asked the event loop gets round to things. */
export function loopLag({ clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }) {
  const lag = metrics.histogram({
    name: 'sojourn_event_loop_lag_seconds',
    help: 'How much later than asked the event loop got round to a timer.',
    buckets: [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5],
  })
  return {
    async start(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const dueAt = clock.monotonic() + everyMs
        try {
          await sleep(clock, everyMs, signal)
        } catch {
          return
        }
        lag.observe({}, Math.max(0, clock.monotonic() - dueAt) / 1000)
      }
    },
  }
}
