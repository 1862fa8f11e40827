import { Worker } from 'node:worker_threads'
import { ConfigError } from '../../client/cluster-config.ts'
import type { Forecast } from '../../forecast/event.ts'
import { threadEntry } from '../../packaging/package-files.ts'
import type { ForecastAnswer, ForecastTask } from './forecast-worker.ts'

/** Runs a forecast on a worker thread, so that the server keeps answering. */
export function forecastOnThread(task: ForecastTask): Promise<Forecast> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(threadEntry('forecast'), { workerData: task })
    worker.once('message', (answer: ForecastAnswer) => {
      if ('forecast' in answer) resolve(answer.forecast)
      else reject(new ConfigError(answer.problem))
      void worker.terminate()
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the forecast thread exited with code ${code}`)))
  })
}
