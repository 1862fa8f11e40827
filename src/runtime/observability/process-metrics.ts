import type { Clock } from '../time/clock.ts'
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
