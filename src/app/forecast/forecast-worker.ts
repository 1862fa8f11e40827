import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Forecast } from '../../forecast/event.ts'
import { forecastWorld, type ForecastOptions } from './forecast.ts'
import type { World } from '../../forecast/world.ts'

/** What a forecast on a thread of its own is given. */
export interface ForecastTask {
  readonly world: World
  readonly options: Pick<ForecastOptions, 'config' | 'now' | 'forMs' | 'assumptions' | 'withinMs'>
}

/** What comes of it: a forecast, or what is wrong with the assumptions. */
export type ForecastAnswer = { readonly forecast: Forecast } | { readonly problem: string }

if (parentPort) {
  const { world, options } = workerData as ForecastTask
  const answer: ForecastAnswer = await forecastWorld(world, options).then(
    (forecast) => ({ forecast }),
    (error: unknown) => {
      if (error instanceof ConfigError) return { problem: error.message }
      throw error
    },
  )
  parentPort.postMessage(answer)
}
