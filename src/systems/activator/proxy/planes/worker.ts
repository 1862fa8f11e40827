import { parentPort, workerData } from 'node:worker_threads'
import { randomInt } from 'node:crypto'
import { systemClock } from '../../../../runtime/time/clock.ts'
import { Counters } from '../routing/counters.ts'
import { Proxy } from './proxy.ts'
import type { FromWorker, ToWorker, WorkerStart } from './worker-messages.ts'

const port = parentPort!
const tell = (message: FromWorker) => port.postMessage(message)
const { limits, tls } = workerData as WorkerStart
const counters = new Counters()
const proxy = new Proxy(
  {
    clock: systemClock,
    wake: (target, fault) => tell({ did: 'wake', target, ...(fault === undefined ? {} : { fault }) }),
    random: smallRandom(randomInt(1, 0x7fffffff)),
  },
  { limits, tls, counters },
)

port.on('message', (message: ToWorker) => {
  handle(message).catch((error: unknown) => {
    if ('id' in message)
      tell({ did: 'fail', id: message.id, message: error instanceof Error ? error.message : String(error) })
    else throw error
  })
})

async function handle(message: ToWorker): Promise<void> {
  switch (message.do) {
    case 'page':
      counters.pages.push(message.page)
      return
    case 'set-route':
      return proxy.setRoute(message.config)
    case 'remove-route':
      return proxy.removeRoute(message.route)
    case 'set-target':
      return proxy.setTarget(message.target, message.state)
    case 'drain':
      proxy.setTarget(message.target, { is: 'draining' })
      return tell({ did: 'drain', id: message.id, load: proxy.loadOf(message.target) })
    case 'certificates':
      return tell({ did: 'certificates', id: message.id, faults: proxy.setCertificates(message.certificates) })
    case 'listen':
      return tell({ did: 'listen', id: message.id, port: await proxy.listen(message.options) })
    case 'unlisten':
      return proxy.unlisten(message.port)
    case 'close':
      await proxy.close(message.withinMs)
      tell({ did: 'close', id: message.id })
      port.close()
  }
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
