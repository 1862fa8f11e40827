import { parentPort, workerData } from 'node:worker_threads'
import { forecastWorld, type ForecastOptions } from './forecast.ts'
import type { World } from './world.ts'

/** What a forecast on a thread of its own is given. */
export interface ForecastTask {
  readonly world: World
  readonly options: Pick<ForecastOptions, 'config' | 'now' | 'forMs'>
}

if (parentPort) {
  const { world, options } = workerData as ForecastTask
  parentPort.postMessage(await forecastWorld(world, options))
}
