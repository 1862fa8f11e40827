import { sleep, type Clock } from '../time/clock.ts'
import type { Metrics } from './metrics.ts'

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
