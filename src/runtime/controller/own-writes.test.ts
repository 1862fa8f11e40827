import { configMaps } from '../../kube/core-types.ts'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { keyOf } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { sleep, type Clock } from '../time/clock.ts'
import { Controller } from './controller.ts'
import { Informers } from '../cache/informers.ts'
import { silentLogger } from '../observability/log.ts'
import { Metrics } from '../observability/metrics.ts'
import { settled } from './outcome.ts'
import { seededRandom } from '../time/random.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const goal = 5

interface Tally extends StoredObject {
  readonly data?: { readonly count?: string }
}

/** A controller that counts an object up to a goal by what its cache shows, while every event arrives a second late. */
async function counted({ expecting }: { expecting: boolean }) {
  const clock = new VirtualClock()
  const api = new FakeApi()
  const client = new Client(late(api.transport, clock))
  const metrics = new Metrics()
  const informer = new Informers({ clock, random: seededRandom(1) }, { freeze: true }).open<Tally>(client, configMaps)
  let writes = 0
  const controller = new Controller({
    name: 'counter',
    ports: { clock, log: silentLogger, metrics, random: seededRandom(1) },
    reconcile: async (key) => {
      const tally = informer.get(key.namespace, key.name)
      const count = Number(tally?.data?.count ?? 0)
      if (!tally || count >= goal) return settled
      writes++
      const written = await client.update<Tally>(configMaps, { ...tally, data: { count: String(count + 1) } })
      if (expecting) controller.expect(key, written.metadata.resourceVersion)
      return settled
    },
  })
  controller.watch(informer)
  const stop = new AbortController()
  const stopped = controller.start(stop.signal)
  const stored = api.put('configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'a', name: 'b' },
  })
  for (let second = 0; second < 60; second += 0.1) {
    controller.enqueue(keyOf(stored))
    await clock.runFor(100)
  }
  stop.abort()
  await stopped
  const final = api.get('configmaps', 'a', 'b') as Tally
  return { writes, count: final.data?.count, conflicts: metrics.render().includes('result="conflict"') }
}

describe('Controller with an informer that lags', () => {
  it('acts once per write when it expects its own writes', async () => {
    expect(await counted({ expecting: true })).toEqual({ writes: goal, count: String(goal), conflicts: false })
  })

  it('acts on what has passed when it does not, which is why it should', async () => {
    const { writes, count, conflicts } = await counted({ expecting: false })
    expect(count).toBe(String(goal))
    expect(writes).toBeGreaterThan(goal)
    expect(conflicts).toBe(true)
  })
})

/** The same transport, with each event of a watch a second late. */
function late(transport: Transport, clock: Clock): Transport {
  return async (request) => {
    const response = await transport(request)
    const { stream } = response
    if (!stream) return response
    return {
      ...response,
      stream: (async function* () {
        for await (const event of stream) {
          await sleep(clock, 1000)
          yield event
        }
      })(),
    }
  }
}
