import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { pipeline as pipelineKind, type PipelineSpec } from '../../src/apis/pipeline.ts'
import { StatusError } from '../../src/kube/status-error.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { approve } from '../../src/systems/promoter/http/approve.ts'
import { environments, pipelineOf } from './world.ts'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import { TestCluster, TestPromoter } from './cluster.ts'
import { manifest } from './stage.ts'

let forge: ForgeServer
let home: TestCluster
let count = 0
const running: TestPromoter[] = []

beforeAll(async () => void (forge = await ForgeServer.start()))
beforeEach(async () => void (home = await TestCluster.start()))
afterEach(async () => {
  for (const promoter of running.splice(0)) await promoter.stop()
  await home.close()
})
afterAll(() => forge.close())

function start(): TestPromoter {
  const promoter = new TestPromoter(home)
  running.push(promoter)
  return promoter
}

async function specOf(manual = false): Promise<{ spec: PipelineSpec; name: string }> {
  const name = `replicas-${++count}`
  const repository = await forge.createRepository(name)
  await repository.commit('main', { 'prod/app.yaml': manifest('prod', '1.0.0') })
  await home.secret('team', 'git', {
    username: forgeUser,
    password: forgePassword,
    token: forgeToken,
    caFile: forge.ca,
  })
  const strategy = {
    'pull-request': {
      type: 'github' as const,
      url: forge.url('github', name),
      baseBranch: 'main',
      secretRef: { name: 'git' },
    },
  }
  await home.release('dev', '1.1.0')
  await home.release('prod', '1.0.0')
  return { name, spec: pipelineOf({ environments: environments('dev', 'prod'), promotion: { strategy, manual } }).spec }
}

const pullsOf = (name: string) => forge.pulls.all.filter(({ repository }) => repository === name)

describe('two promoters on one pipeline, as when a leader is lost in the middle', () => {
  it('N24: open one pull request between them', async () => {
    const { spec, name } = await specOf()
    const [one] = [start(), start()]
    await one.pipeline('app', spec)
    await one.until('app', ({ status }) => status?.environments?.['prod']?.promotion?.phase === 'Proposed')
    for (const promoter of running) await promoter.promoter.controller.whenIdle()
    expect(pullsOf(name).filter(({ state }) => state === 'open')).toHaveLength(1)
    expect(new Set(pullsOf(name).map(({ head }) => head)).size).toBe(1)
  })
})

describe('a status that cannot be written', () => {
  it('N36: lets nothing happen outside, and everything once it can', async () => {
    const { spec, name } = await specOf()
    let conflicts = 0
    let isQuiet = false
    const client = home.client
    const original = client.update.bind(client)
    client.update = (async (type, object, options) => {
      if (!isQuiet && type.kind === 'Pipeline') {
        conflicts++
        throw new StatusError('Conflict', 'the object has been modified')
      }
      return original(type, object, options)
    }) as typeof client.update
    const promoter = start()
    const before = forge.requests.length
    await promoter.pipeline('app', spec)
    await expect.poll(() => conflicts, { timeout: 10_000 }).toBeGreaterThan(1)
    expect(forge.requests.length).toBe(before)
    isQuiet = true
    await promoter.until('app', ({ status }) => status?.environments?.['prod']?.promotion?.phase === 'Proposed')
    expect(pullsOf(name)).toHaveLength(1)
  })
})

describe('an approval', () => {
  it('C52 N28: that was recorded before a crash counts after it, without a second one', async () => {
    const { spec, name } = await specOf(true)
    const first = start()
    await first.pipeline('app', spec)
    const waiting = await first.until(
      'app',
      ({ status }) => status?.environments?.['prod']?.waitingApproval?.promotionId,
    )
    await first.stop()
    running.length = 0
    expect(pullsOf(name)).toEqual([])
    const request = { environment: 'prod', revision: '1.1.0', decision: 'Approve', approver: 'ann' } as const
    const outcome = await approve(home.client, { namespace: 'team', name: 'app' }, { request, clock: systemClock })
    expect(outcome).toEqual({
      outcome: 'recorded',
      promotionId: waiting.status?.environments?.['prod']?.waitingApproval?.promotionId,
    })
    const second = start()
    const proposed = await second.until(
      'app',
      ({ status }) => status?.environments?.['prod']?.promotion?.phase === 'Proposed',
    )
    expect(proposed.status?.environments?.['prod']?.promotion?.approvedBy).toEqual(['ann'])
    expect(pullsOf(name)).toHaveLength(1)
  })
})

describe('a pipeline looked at many times', () => {
  it('C22: starts a promotion exactly once', async () => {
    const { spec, name } = await specOf()
    const promoter = start()
    await promoter.pipeline('app', spec)
    await promoter.until('app', ({ status }) => status?.environments?.['prod']?.promotion?.phase === 'Proposed')
    for (let touch = 0; touch < 10; touch++)
      await home.client.patch(
        pipelineKind.type,
        { namespace: 'team', name: 'app' },
        { type: 'merge', body: { metadata: { annotations: { touch: String(touch) } } } },
      )
    await promoter.promoter.controller.whenIdle()
    const { status } = await promoter.get('app')
    expect(status?.environments?.['prod']?.promotion).toMatchObject({ runSequence: 1, revision: '1.1.0' })
    expect(pullsOf(name)).toHaveLength(1)
  })
})
