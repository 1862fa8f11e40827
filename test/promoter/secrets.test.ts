import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Pipeline } from '../../src/apis/pipeline.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { createLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { environments, pipelineOf } from './world.ts'
import { ForgeServer, forgeUser, type Fault } from '../forge/forge-server.ts'
import { events, TestCluster, TestPromoter } from './cluster.ts'
import { manifest } from './stage.ts'

const password = 'pass-W0rd-kept-quiet'
const token = 'tok3n-kept-quiet'
const hmacKey = 'hmac-kept-quiet'
const echo = JSON.stringify({
  message: `you sent ${password} and ${token}`,
  error: token,
  errors: [{ message: token }],
})

let forge: ForgeServer
let home: TestCluster
let test: TestPromoter
let lines: string[]

beforeEach(async () => {
  forge = await ForgeServer.start()
  forge.password = password
  forge.token = token
  home = await TestCluster.start()
  lines = []
  const log = createLogger({ clock: systemClock, write: (line) => void lines.push(line), level: 'debug' })
  test = new TestPromoter(home, {}, { ports: { clock: systemClock, log, metrics: new Metrics() } })
})
afterEach(async () => {
  await test.stop()
  await home.close()
  await forge.close()
})

async function promote(strategy: 'pull-request' | 'webhook', secret: Record<string, string>): Promise<void> {
  const repository = await forge.createRepository('deploy')
  await repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.0.0') })
  await home.secret('team', 'git', { username: forgeUser, caFile: forge.ca, 'hmac-key': hmacKey, ...secret })
  await home.release('dev', '1.1.0')
  await home.release('prod', '1.0.0')
  const place = { url: forge.url('github', 'deploy'), secretRef: { name: 'git' } }
  const chosen =
    strategy === 'webhook'
      ? { webhook: place }
      : { 'pull-request': { ...place, type: 'github' as const, baseBranch: 'main' } }
  await test.pipeline(
    'app',
    pipelineOf({ environments: environments('dev', 'prod'), promotion: { strategy: chosen } }).spec,
  )
}

const promotionOf = ({ status }: Pipeline) => status?.environments?.['prod']?.promotion
const faults: [string, Fault[], Record<string, string>][] = [
  ['everything goes well', [], { password, token }],
  ['git is refused', [], { password: `${password}-wrong`, token }],
  ['the API is refused', [], { password, token: `${token}-wrong` }],
  ...[400, 403, 422, 500].flatMap((status): [string, Fault[], Record<string, string>][] => [
    [`git repeats them in a ${status}`, [{ path: /info\/refs/, status, body: echo }], { password, token }],
    [`the API repeats them in a ${status}`, [{ path: /pulls/, status, body: echo, times: 9 }], { password, token }],
  ]),
]

it.each(faults)('no secret is in status, Events or logs when %s', async (_, given, secret) => {
  for (const fault of given) forge.fail(fault)
  await promote('pull-request', secret)
  const seen = await test.until(
    'app',
    (pipeline) => promotionOf(pipeline)?.pullRequest ?? promotionOf(pipeline)?.lastError,
  )
  await expectQuiet(seen)
})

it('no secret is in status, Events or logs when a webhook repeats them', async () => {
  forge.fail({ status: 400, body: `${token} ${hmacKey}`, times: 9 })
  await promote('webhook', { token })
  await expectQuiet(await test.until('app', (pipeline) => promotionOf(pipeline)?.lastError))
})

async function expectQuiet(pipeline: Pipeline): Promise<void> {
  await test.promoter.controller.whenIdle()
  const { items } = await home.client.list(events, { namespace: 'team' })
  const said = [JSON.stringify(pipeline), JSON.stringify(await test.get('app')), JSON.stringify(items), ...lines].join(
    '\n',
  )
  expect(lines.length).toBeGreaterThan(0)
  expect(said).not.toMatch(/kept-quiet/)
}
