import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Forecast } from '../../forecast/event.ts'
import { forecastWorld, type ForecastOptions } from './forecast.ts'
import type { World } from '../../forecast/world.ts'

/** The input of the worker thread. */
export interface ForecastTask {
  readonly world: World
  readonly options: Pick<ForecastOptions, 'config' | 'now' | 'forMs' | 'assumptions' | 'withinMs'>
}

/** The result: a forecast, or what is wrong with the assumptions. */
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
