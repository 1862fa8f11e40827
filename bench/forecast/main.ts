import { enableCompileCache } from 'node:module'
import { readConfig } from '../../src/app/config/config.ts'
import { startCopy, countObjects, readSnapshot } from '../../src/forecast/cluster-snapshot.ts'
import { forecastSnapshot } from '../../src/app/forecast/forecast.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { populate } from './populate.ts'

// As the program itself does: the systems are loaded when they are started, within the time that is measured.
enableCompileCache()

/** Thirty days over ten thousand objects, all five systems: less than ten seconds. */
const share = Number(process.argv[2] ?? 1)
await using source = await startCopy({ kinds: [], unread: [] }, systemClock)
await populate(source.client, share)

const startedAt = performance.now()
const cpuBefore = process.cpuUsage()
const snapshot = await readSnapshot(source.client)
const readMs = performance.now() - startedAt
const { events } = await forecastSnapshot(snapshot, {
  config: readConfig({ flags: process.argv[3] ? { only: process.argv[3] } : {}, env: {} }),
  now: systemClock.now(),
  forMs: 30 * 86_400_000,
})
const { user, system } = process.cpuUsage(cpuBefore)
const seconds = (ms: number) => (ms / 1000).toFixed(1)
console.log(
  `30 days over ${countObjects(snapshot)} objects: ${seconds(performance.now() - startedAt)} s (${seconds((user + system) / 1000)} s of CPU, ${seconds(readMs)} s of it reading), ${events.length} events`,
)
for (const [what, some] of Map.groupBy(events, (event) => `${event.system} ${event.what}`))
  console.log(`  ${what}: ${some.length}`)
