import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Forecast } from '../../forecast/event.ts'
import { forecastSnapshot, type ForecastOptions } from '../forecast/forecast.ts'
import type { ClusterSnapshot } from '../../forecast/cluster-snapshot.ts'

/** The input of the worker thread. */
export interface ForecastTask {
  readonly snapshot: ClusterSnapshot
  readonly options: Pick<ForecastOptions, 'config' | 'now' | 'forMs' | 'assumptions' | 'withinMs'>
}

/** The result: a forecast, or what is wrong with the assumptions. */
export type ForecastAnswer = { readonly forecast: Forecast } | { readonly problem: string }

if (parentPort) {
  const { snapshot, options } = workerData as ForecastTask
  const answer: ForecastAnswer = await forecastSnapshot(snapshot, options).then(
    (forecast) => ({ forecast }),
    (error: unknown) => {
      if (error instanceof ConfigError) return { problem: error.message }
      throw error
    },
  )
  parentPort.postMessage(answer)
}
