import { silentLogger } from '../../src/runtime/observability/log.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Controller } from '../../src/runtime/controller/controller.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { settled } from '../../src/runtime/controller/outcome.ts'

/** Bytes that the schedule of so many Cleaners takes while they wait for their time, keys and all. */
export function measureEntries(count: number): number {
  const before = liveBytes()
  const controller = new Controller({
    name: 'cleaner',
    reconcile: () => Promise.resolve(settled),
    ports: { clock: systemClock, log: silentLogger, metrics: new Metrics() },
  })
  const dueFrom = systemClock.now() + 3_600_000
  for (let index = 0; index < count; index++) {
    const key = {
      cluster: '',
      kind: 'Cleaner.cleaner.vtex.dev',
      namespace: `faststore-${index % 1000}`,
      name: `sfj-commit-${index.toString(36)}--account`,
    }
    controller.enqueueAt(key, dueFrom + (index % 1_296_000) * 1000)
  }
  const bytes = liveBytes() - before
  if (
    controller.wakesAt({
      cluster: '',
      kind: 'Cleaner.cleaner.vtex.dev',
      namespace: 'faststore-0',
      name: 'sfj-commit-0--account',
    }) === undefined
  )
    throw new Error('the first entry is not there')
  return bytes
}

function liveBytes(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
