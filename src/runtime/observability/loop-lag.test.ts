import { describe, expect, it } from 'vitest'
import { loopLag } from './process-metrics.ts'
import { Metrics } from './metrics.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

describe('loopLag', () => {
  it('looks twice a second, until it is told to stop', async () => {
    const clock = new VirtualClock()
    const metrics = new Metrics()
    const stop = new AbortController()
    const measured = loopLag({ clock, metrics }).start(stop.signal)
    await clock.runFor(5000)
    stop.abort()
    await measured
    await clock.runFor(5000)
    expect(metrics.render()).toContain('sojourn_event_loop_lag_seconds_count 10')
  })
})
