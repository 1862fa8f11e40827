import { expect, it } from 'vitest'
import { Client } from '../../../client/client.ts'
import { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import { silentLogger } from '../../../runtime/observability/log.ts'
import { Metrics } from '../../../runtime/observability/metrics.ts'
import { FakeApi } from '../../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts'
import { EffectRunner } from './effect-runner.ts'
import { promoterMetrics } from './promoter-metrics.ts'
import { pushed, start, World } from '../../../../test/promoter/world.ts'

it('waits before it repeats an effect whose result could not be written', async () => {
  const clock = new VirtualClock(start)
  const api = new FakeApi()
  api.faults.push(({ method }) => {
    if (method === 'GET') throw new Error('the API server is unavailable')
    return undefined
  })
  const client = new Client(api.transport)
  const endedAt: number[] = []
  const metrics = new Metrics()
  const runner = new EffectRunner({
    client,
    perform: () => Promise.resolve(pushed),
    clock,
    random: () => 0.5,
    log: silentLogger,
    events: new EventRecorder('sojourn-promoter', { client, clock, log: silentLogger, metrics }),
    metrics: promoterMetrics(metrics),
    onEnd: () => void endedAt.push(clock.now() - start),
    signal: new AbortController().signal,
  })
  const world = new World()
  world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
  const effect = world.step().effect!
  runner.start(effect, world.pipeline)
  await clock.run(start + 60_000)
  expect(endedAt).toEqual([10_000])
  expect(runner.busy.size).toBe(0)
})
