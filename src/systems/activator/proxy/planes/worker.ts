import { parentPort, workerData } from 'node:worker_threads'
import { randomInt } from 'node:crypto'
import { stdout } from 'node:process'
import { systemClock } from '../../../../runtime/time/clock.ts'
import { Counters } from '../routing/counters.ts'
import { Proxy } from './proxy.ts'
import type { FromWorker, ToWorker, WorkerStart } from './threaded-data-plane.ts'

const port = parentPort!
const tell = (message: FromWorker) => port.postMessage(message)
const { limits, tls, accessLog } = workerData as WorkerStart
const counters = new Counters()
const proxy = new Proxy(
  {
    clock: systemClock,
    wake: (target, fault) => tell({ wake: target, fault }),
    random: smallRandom(randomInt(1, 0x7fffffff)),
    report: (answers) => tell({ answers }),
    ...(accessLog ? { accessLog: (lines: string) => void stdout.write(lines) } : {}),
  },
  { limits, tls, counters },
)

port.on('message', (message: ToWorker) => void handle(message))

async function handle(message: ToWorker): Promise<void> {
  if ('page' in message) return void counters.pages.push(message.page)
  const { method, args, id } = message
  try {
    const answer = await (proxy[method] as (...given: unknown[]) => unknown).apply(proxy, [...args])
    if (id !== undefined) tell({ id, answer })
  } catch (error) {
    // Without an id this ends the thread, and a new one takes its place.
    if (id === undefined) throw error
    return tell({ id, error: error instanceof Error ? error.message : String(error) })
  }
  if (method === 'close') port.close()
}

/** Xorshift: spreading load needs no better, and this costs a nanosecond. */
function smallRandom(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 4_294_967_296
  }
}
