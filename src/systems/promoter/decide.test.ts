import { describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../apis/pipeline.ts'
import {
  environments,
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  start,
  targetOf,
  World,
} from './testing.ts'

const minute = 60_000
const open = { result: 'seen', pullRequest: pullRequest('open') } as const

describe('a run', () => {
  it('C14: carries a revision through every environment, one after the other', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.merge()
    expect(world.phase('prod')).toBeUndefined()
    world.runs({ staging: '1.1.0' })
    world.merge(2)
    world.runs({ prod: '1.1.0' })
    world.step()
    expect(world.status.run).toMatchObject({ sequence: 1, revision: '1.1.0', phase: 'Complete', direction: 'Forward' })
    expect(world.phase('staging')).toBe('Succeeded')
    expect(world.promotion('prod')).toMatchObject({ phase: 'Succeeded', revision: '1.1.0', fromRevision: '1.0.0' })
    expect(world.status.latestRevision).toBe('1.1.0')
  })

  it('C15: follows when the first environment is bumped again', () => {
    const world = new World(pipelineOf({ environments: environments('dev', 'prod') }))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.merge()
    world.runs({ prod: '1.1.0' })
    world.step()
    world.runs({ dev: '1.2.0' })
    world.merge(2)
    expect(world.status.run).toMatchObject({ sequence: 2, revision: '1.2.0', restarts: 0 })
    expect(world.status.recentRuns).toMatchObject([{ sequence: 1, phase: 'Complete' }])
  })

  it('does nothing when everything runs the revision already', () => {
    const world = new World()
    world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
    expect(world.step().effect).toBeUndefined()
    expect(world.status.run?.phase).toBe('Complete')
  })

  it('never promotes a completed revision twice, even where somebody has gone back by hand', () => {
    const world = new World()
    world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
    world.step()
    world.runs({ prod: '0.9.0' })
    expect(world.step().effect).toBeUndefined()
  })

  it('gives the revision to an environment that joins later', () => {
    const world = new World(pipelineOf({ environments: environments('dev', 'staging') }))
    world.runs({ dev: '1.0.0', staging: '1.0.0' })
    world.step()
    world.edit({ environments: environments('dev', 'staging', 'prod') })
    world.runs({ prod: '0.9.0' })
    expect(world.step().effect).toMatchObject({ do: 'push', environment: 'prod' })
  })

  it('N1: waits while the first environment disagrees, and names both', () => {
    const world = new World(
      pipelineOf({
        environments: [{ name: 'dev', targets: [{ namespace: 'a' }, { namespace: 'b' }] }, ...environments('prod')],
      }),
    )
    world.runs({ prod: '1.0.0' })
    world.targets['dev'] = [targetOf('1.1.0', { namespace: 'a' }), targetOf('1.2.0', { namespace: 'b' })]
    expect(world.step().effect).toBeUndefined()
    expect(world.status.run).toBeUndefined()
    expect(world.status.candidate).toBeUndefined()
    expect(world.condition('PromotionPending')).toMatchObject({ status: 'True', reason: 'EnvironmentNotReady' })
    expect(world.condition('PromotionPending')?.message).toMatch(/a\/app runs 1.1.0.*b\/app runs 1.2.0/)
  })

  it.each([
    ['C16: a target without a revision', [targetOf('1.1.0'), targetOf(undefined)]],
    ['C17: an unready target', [targetOf('1.1.0'), targetOf('1.1.0', { ready: false })]],
    ['a stale target', [targetOf('1.1.0'), targetOf('1.1.0', { ready: false, reason: 'Stale' })]],
    ['an unreachable target', [targetOf('1.1.0'), targetOf(undefined, { ready: false, reason: 'ClusterUnreachable' })]],
  ])('C18: is pending with %s in the first environment, and no longer once it is ready', (_, targets) => {
    const world = new World(
      pipelineOf({
        environments: [{ name: 'dev', targets: [{ namespace: 'a' }, { namespace: 'b' }] }, ...environments('prod')],
      }),
    )
    world.runs({ prod: '1.0.0' })
    world.targets['dev'] = targets.map((target, index) => ({ ...target, namespace: 'ab'[index] ?? '' }))
    world.step()
    expect(world.condition('PromotionPending')).toMatchObject({ status: 'True', reason: 'EnvironmentNotReady' })
    expect(world.status.run).toBeUndefined()
    world.runs({ dev: '1.1.0' })
    world.step()
    expect(world.condition('PromotionPending')).toBeUndefined()
  })
})

describe('settling', () => {
  const settled = { settle: { quietPeriod: '60s', maxWait: '15m' }, environments: environments('dev', 'prod') }

  it('waits until a revision has been unchanged for the quiet period', () => {
    const world = new World(pipelineOf(settled))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    expect(world.step().wakeAt).toBe(start + minute)
    expect(world.step(59_000).effect).toBeUndefined()
    expect(world.step(1000).effect).toMatchObject({ do: 'push' })
  })

  it('N14: makes one run of twenty revisions in a minute', () => {
    const world = new World(pipelineOf(settled))
    world.runs({ prod: '1.0.0' })
    for (let patch = 1; patch <= 20; patch++) {
      world.runs({ dev: `1.1.${patch}` })
      expect(world.step(3000).effect).toBeUndefined()
    }
    world.step(minute)
    expect(world.status.run).toMatchObject({ sequence: 1, revision: '1.1.20' })
  })

  it('takes the newest after the longest wait however busy it stays', () => {
    const world = new World(pipelineOf(settled))
    world.runs({ prod: '1.0.0' })
    let patch = 0
    while (!world.status.run) {
      world.runs({ dev: `1.1.${++patch}` })
      world.step(30_000)
    }
    expect(world.now - start).toBe(15 * minute + 30_000)
    expect(world.status.run.revision).toBe(`1.1.${patch}`)
  })

  it('forgets a revision that is gone before it has settled', () => {
    const world = new World(pipelineOf(settled))
    world.runs({ dev: '1.0.0', prod: '1.0.0' })
    world.step()
    world.step(minute)
    world.runs({ dev: '1.1.0' })
    world.step(1000)
    world.runs({ dev: '1.0.0' })
    world.step(1000)
    expect(world.status.candidate).toBeUndefined()
    expect(world.status.run?.sequence).toBe(1)
  })

  it('N39: is not thrown off by a clock that is set back an hour', () => {
    const world = new World(pipelineOf(settled))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    world.step(-60 * minute)
    expect(world.step(minute).effect).toMatchObject({ do: 'push' })
    expect(world.status.run?.sequence).toBe(1)
  })
})

describe('a new revision during a run', () => {
  it('N13: closes the open pull request first, then opens the next', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    const old = world.promotion('staging')?.id
    world.runs({ dev: '1.2.0' })
    const { effect } = world.step()
    expect(effect).toMatchObject({ do: 'withdraw', promotion: { id: old, phase: 'Superseded', supersededBy: '1.2.0' } })
    world.busy.add(old ?? '')
    expect(world.step().effect).toBeUndefined()
    world.busy.clear()
    world.answer('withdraw', { result: 'withdrawn', pullRequest: pullRequest('closed') })
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.2.0' } })
    expect(world.status.environments?.['staging']?.history).toMatchObject([{ id: old, phase: 'Superseded' }])
  })

  it('lets the environment have what was merged while it was being closed, then promotes the newer one', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.runs({ dev: '1.2.0' })
    world.answer('withdraw', { result: 'withdrawn', pullRequest: pullRequest('merged') })
    expect(world.step().effect).toBeUndefined()
    expect(world.phase('staging')).toBe('RollingOut')
    world.runs({ staging: '1.1.0' })
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.2.0', fromRevision: '1.1.0' } })
  })

  it('keeps the old pull request where that is asked for', () => {
    const keep = {
      strategy: { 'pull-request': { ...pullRequestPromotion.strategy['pull-request']!, supersede: 'Keep' as const } },
    }
    const world = new World(pipelineOf({ promotion: keep }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.runs({ dev: '1.2.0' })
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.2.0' } })
  })

  it('updates the same pull request where that is asked for', () => {
    const update = {
      strategy: { 'pull-request': { ...pullRequestPromotion.strategy['pull-request']!, supersede: 'Update' as const } },
    }
    const world = new World(pipelineOf({ promotion: update }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.runs({ dev: '1.2.0' })
    expect(world.step().effect).toMatchObject({
      do: 'push',
      promotion: {
        revision: '1.2.0',
        branch: 'promotion/team.app/staging',
        replacesSHA: 'head',
        pullRequest: { number: 1 },
      },
    })
  })

  it('waits for the run to end under Finish', () => {
    const world = new World(pipelineOf({ runPolicy: 'Finish', environments: environments('dev', 'staging', 'prod') }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.runs({ dev: '1.2.0' })
    world.answer('propose', open)
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') })
    world.runs({ staging: '1.1.0' })
    world.merge(2)
    world.runs({ prod: '1.1.0' })
    world.step()
    expect(world.status.recentRuns ?? world.status.run).toBeTruthy()
    world.step()
    expect(world.status.recentRuns).toMatchObject([{ revision: '1.1.0', phase: 'Complete' }])
    expect(world.status.run).toMatchObject({ revision: '1.2.0', sequence: 2 })
  })

  it('lets each environment follow the one before it under Pairwise', () => {
    const world = new World(pipelineOf({ runPolicy: 'Pairwise' }))
    world.runs({ dev: '1.2.0', staging: '1.1.0', prod: '1.0.0' })
    const first = world.step().effect
    expect(first).toMatchObject({ environment: 'staging', promotion: { revision: '1.2.0' } })
    world.busy.add(first?.promotion.id ?? '')
    expect(world.step().effect).toMatchObject({ environment: 'prod', promotion: { revision: '1.1.0' } })
  })

  it('gives the same revision another id when it comes round again under Pairwise', () => {
    const world = new World(
      pipelineOf({ runPolicy: 'Pairwise', rollback: 'Follow', environments: environments('dev', 'prod') }),
    )
    const ids = new Set<string>()
    for (const revision of ['b', 'a', 'b']) {
      world.runs({ dev: revision, prod: world.targets['prod']?.[0]?.revision ?? 'a' })
      world.merge()
      ids.add(world.promotion('prod')?.id ?? '')
      world.runs({ prod: revision })
      world.step()
    }
    expect(ids.size).toBe(3)
  })

  it('N15: completes one run under sustained churn', () => {
    const world = new World(pipelineOf({ environments: environments('dev', 'prod'), maxRestarts: 3 }))
    world.runs({ prod: '0.0.0' })
    for (let patch = 1; patch <= 5; patch++) {
      world.runs({ dev: `1.0.${patch}` })
      const { effect } = world.step()
      if (effect?.do === 'withdraw') world.answer('withdraw', { result: 'withdrawn' }, 600_000)
      else if (effect) world.step()
    }
    expect(world.status.run).toMatchObject({ revision: '1.0.4', restarts: 3, phase: 'Running' })
    expect(world.heard.map(({ because }) => because)).toContain('StarvationGuard')
    world.runs({ dev: '1.0.99', prod: '1.0.4' })
    world.step()
    expect(world.status.run?.revision === '1.0.4' ? world.status.run : world.status.recentRuns?.[0]).toMatchObject({
      revision: '1.0.4',
      phase: 'Complete',
    })
  })

  it('fails a run that takes longer than it may, and lets the next one go', () => {
    const world = new World(pipelineOf({ runPolicy: 'Finish', maxRunDuration: '1h' }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.runs({ dev: '1.2.0' })
    world.answer('propose', open, 61 * minute)
    world.step()
    expect(world.status.recentRuns?.[0] ?? world.status.run).toMatchObject({ revision: '1.1.0', phase: 'Failed' })
  })
})

describe('an older revision', () => {
  it.each([
    ['N30: lower by version', '1.1.0', '1.0.0'],
    ['completed before', 'aaa', 'bbb'],
  ])('waits for approval when it is %s', (_, newer, older) => {
    const world = new World(pipelineOf({ environments: environments('dev', 'prod') }))
    world.runs({ dev: older, prod: older })
    world.step()
    world.runs({ dev: newer })
    world.merge()
    world.runs({ prod: newer })
    world.step()
    world.runs({ dev: older })
    expect(world.step().effect).toBeUndefined()
    expect(world.status.run).toMatchObject({ direction: 'Backward' })
    expect(world.phase('prod')).toBe('AwaitingApproval')
  })

  it('N30: can be promoted again once it is approved, under an id of its own', () => {
    const world = new World(pipelineOf({ environments: environments('dev', 'prod') }))
    const ids: string[] = []
    for (const revision of ['a', 'b', 'a']) {
      world.runs({ dev: revision, prod: world.targets['prod']?.[0]?.revision ?? 'start' })
      world.step()
      if (world.phase('prod') === 'AwaitingApproval') world.approve('prod', 'ann')
      ids.push(world.promotion('prod')!.id)
      world.merge()
      world.runs({ prod: revision })
      world.step()
    }
    expect(new Set(ids).size).toBe(3)
    expect(world.status.run).toMatchObject({ revision: 'a', direction: 'Backward', phase: 'Complete' })
  })

  it('is followed or held where that is asked for', () => {
    for (const [rollback, expected] of [
      ['Follow', 'Intended'],
      ['Hold', 'Gated'],
    ] as const) {
      const world = new World(pipelineOf({ environments: environments('dev', 'prod'), rollback }))
      world.runs({ dev: '1.1.0', prod: '1.1.0' })
      world.step()
      world.runs({ dev: '1.0.0' })
      world.step()
      expect(world.phase('prod')).toBe(expected)
      expect(world.status.run?.phase).toBe(rollback === 'Hold' ? 'Held' : 'Running')
    }
  })
})

describe('gates', () => {
  it.each([
    ['suspend', { suspend: true }, 'Suspended'],
    ['C43: no promotion anywhere', { promotion: undefined as never }, 'NoPromotionConfigured'],
  ])('stay shut with %s', (_, spec, reason) => {
    const world = new World(pipelineOf(spec))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    expect(world.step().effect).toBeUndefined()
    expect(world.status.environments?.['staging']?.gates?.map((gate) => gate.reason)).toContain(reason)
  })

  it('stay shut while everything is frozen, and open with the thaw', () => {
    const world = new World()
    world.frozen = true
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    expect(world.step().effect).toBeUndefined()
    expect(world.condition('Suspended')).toMatchObject({ reason: 'Frozen' })
    world.frozen = false
    expect(world.step().effect).toMatchObject({ do: 'push' })
  })

  it('of a dry run let nothing through, and say what would be done', () => {
    const world = new World()
    world.dryRun = true
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    for (let step = 0; step < 5; step++) expect(world.step(60_000).effect).toBeUndefined()
    expect(world.phase('staging')).toBe('Gated')
    const would = 'would promote 1.1.0 into staging by pull-request on https://git.test/acme/deploy'
    expect(world.condition('Suspended')).toMatchObject({ reason: 'DryRun', message: would })
    expect(world.status.environments?.['staging']?.gates?.at(-1)).toMatchObject({ name: 'dry-run', state: 'Closed' })
    world.dryRun = false
    expect(world.step().effect).toMatchObject({ do: 'push' })
    expect(world.condition('Suspended')).toBeUndefined()
  })

  it('of a dry run leave what is open as it is, also when the pipeline is deleted', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
    world.dryRun = true
    expect(world.step(60_000).effect).toBeUndefined()
    expect(world.condition('Suspended')?.message).toContain('staging: would poll promotion')
    world.pipeline = {
      ...world.pipeline,
      metadata: { ...world.pipeline.metadata, deletionTimestamp: '2026-11-02T12:00:00Z' },
    }
    expect(world.step(60_000)).toMatchObject({ effect: undefined, mayGo: false })
    expect(world.condition('Suspended')?.message).toContain('staging: would withdraw promotion')
    world.dryRun = false
    expect(world.step().effect).toMatchObject({ do: 'withdraw' })
  })

  it('hold a promotion already intended while the pipeline is suspended', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.edit({ suspend: true })
    expect(world.step().effect).toBeUndefined()
  })

  it('soak until the environments before have been ready for long enough without a break', () => {
    const [dev, prod] = environments('dev', 'prod')
    const world = new World(pipelineOf({ environments: [dev!, { ...prod!, soak: '1h' }] }))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    expect(world.step().wakeAt).toBe(start + 5 * minute)
    world.step(50 * minute)
    world.targets['dev'] = [targetOf('1.1.0', { namespace: 'dev', ready: false })]
    world.step(minute)
    world.runs({ dev: '1.1.0' })
    expect(world.step(minute).effect).toBeUndefined()
    expect(world.step(59 * minute).effect).toBeUndefined()
    expect(world.step(minute).effect).toMatchObject({ do: 'push' })
  })

  it('open with a window and close with a denial', () => {
    const [dev, prod] = environments('dev', 'prod')
    const windows = [
      { kind: 'Allow' as const, schedule: '0 14 * * *', duration: '4h' },
      { kind: 'Deny' as const, schedule: '0 15 * * *', duration: '1h' },
    ]
    const world = new World(pipelineOf({ environments: [dev!, { ...prod!, windows }] }))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    expect(world.step().effect).toBeUndefined()
    const gate = world.status.environments?.['prod']?.gates?.find(({ name }) => name === 'window')
    expect(gate).toMatchObject({ state: 'Closed', nextCheckAt: '2026-11-02T14:00:00Z' })
    world.now = start + 3.5 * 60 * minute
    expect(world.step().effect).toBeUndefined()
    world.now = start + 4 * 60 * minute
    expect(world.step().effect).toMatchObject({ do: 'push' })
  })

  it.each(['ClusterUnreachable', 'NotFound', 'Forbidden', 'Stale', 'ClusterNotFound'] as const)(
    'keep promotions out of an environment with a target that is %s',
    (reason) => {
      const world = new World()
      world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
      world.targets['staging'] = [targetOf(undefined, { reason, ready: false, namespace: 'staging' })]
      expect(world.step().effect).toBeUndefined()
      expect(world.status.environments?.['staging']?.gates).toContainEqual(
        expect.objectContaining({ name: 'targets', state: 'Waiting', reason: 'TargetNotReadable' }),
      )
    },
  )

  it('wait for every environment of a graph before the one that depends on them', () => {
    const [dev, east, west, world0] = environments('dev', 'east', 'west', 'world')
    const world = new World(
      pipelineOf({
        environments: [
          dev!,
          { ...east!, dependsOn: ['dev'] },
          { ...west!, dependsOn: ['dev'] },
          { ...world0!, dependsOn: ['east', 'west'] },
        ],
      }),
    )
    world.runs({ dev: '2', east: '1', west: '1', world: '1' })
    const first = world.step().effect
    world.busy.add(first?.promotion.id ?? '')
    const second = world.step().effect
    expect([first?.environment, second?.environment]).toEqual(['east', 'west'])
    world.runs({ east: '2' })
    expect(world.step().effect?.environment).not.toBe('world')
    world.runs({ west: '2' })
    const done = Array.from({ length: 3 }, () => {
      const { effect } = world.step()
      if (effect) world.busy.add(effect.promotion.id)
      return effect?.environment
    })
    expect(done).toContain('world')
  })
})

describe('verification', () => {
  const checked = (over: Partial<PipelineSpec> = {}) => {
    const [dev, prod] = environments('dev', 'prod')
    const verification = { checks: [{ url: 'https://dev.test/' }], interval: '30s', deadline: '5m' }
    const world = new World(pipelineOf({ environments: [dev!, { ...prod!, verification }], ...over }))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    return world
  }
  const unverified = (world: World) =>
    ({ result: 'unverified', message: 'https://dev.test/ answered 503', retryAt: world.now + 30_000 }) as const
  const gateOf = (world: World) =>
    world.status.environments?.['prod']?.gates?.find(({ name }) => name === 'verification')

  it('comes before the promotion, and is done once', () => {
    const world = checked()
    world.answer('verify', { result: 'verified' })
    expect(world.phase('prod')).toBe('Gated')
    expect(world.step(minute).effect).toMatchObject({ do: 'push' })
  })

  it('that fails keeps the gate shut and is tried again, Stalled after its deadline, until it passes', () => {
    const world = checked()
    world.answer('verify', unverified(world))
    expect(world.step().effect).toBeUndefined()
    expect(gateOf(world)).toMatchObject({ state: 'Waiting', message: 'https://dev.test/ answered 503' })
    expect(world.condition('Stalled')).toBeUndefined()
    for (let time = 0; time < 12; time++) world.answer('verify', unverified(world), 30_000)
    world.step()
    expect(world.condition('Stalled')).toMatchObject({
      reason: 'VerificationFailed',
      message: 'prod: https://dev.test/ answered 503',
    })
    world.answer('verify', { result: 'verified' }, 30_000)
    expect(world.step().effect).toMatchObject({ do: 'push' })
    expect(world.condition('Stalled')).toBeUndefined()
  })

  it('is asked for only when nothing else is in the way', () => {
    const world = checked({ suspend: true })
    expect(world.step().effect).toBeUndefined()
    world.edit({ suspend: false })
    expect(world.step().effect).toMatchObject({ do: 'verify' })
  })

  it('has to be done again when what runs before was not ready in between', () => {
    const world = checked({ promotion: { ...pullRequestPromotion, manual: true } })
    world.answer('verify', { result: 'verified' })
    world.step()
    expect(world.phase('prod')).toBe('AwaitingApproval')
    world.targets['dev'] = [targetOf('1.1.0', { ready: false, namespace: 'dev' })]
    world.step(minute)
    world.runs({ dev: '1.1.0' })
    world.approve('prod', 'ann')
    world.answer('verify', { result: 'verified' }, minute)
    expect(world.step().effect).toMatchObject({ do: 'push' })
  })

  it('is not done in a dry run, which says what would be done after it', () => {
    const world = checked()
    world.dryRun = true
    expect(world.step().effect).toBeUndefined()
    expect(world.condition('Suspended')?.message).toContain('would promote 1.1.0 into prod')
  })
})

describe('approval', () => {
  const manual = {
    promotion: { ...pullRequestPromotion, approval: { required: 2, approvers: ['ann', 'bob', 'cy'] } },
    environments: environments('dev', 'prod'),
  }

  const states = ({ last }: World) => [...(last?.approvals.values() ?? [])].map(({ reason }) => reason)

  it('C45: needs enough different people who may approve', () => {
    const world = new World(pipelineOf(manual))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    expect(world.condition('AwaitingApproval')).toMatchObject({ status: 'True' })
    for (const approver of ['ann', 'ann', 'mallory']) world.approve('prod', approver)
    expect(world.step().effect).toBeUndefined()
    expect(world.status.environments?.['prod']?.waitingApproval?.approvals).toHaveLength(2)
    expect(states(world)).toEqual(['ApprovalCounted', 'ApprovalCounted', 'NotAnApprover'])
    world.approve('prod', 'bob')
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { approvedBy: ['ann', 'bob'] } })
    expect(states(world)).toEqual(['ApprovalCounted', 'ApprovalCounted', 'ApprovalStale', 'ApprovalCounted'])
    expect(world.condition('AwaitingApproval')).toBeUndefined()
  })

  it('N13 N25: does not count for another revision', () => {
    const world = new World(pipelineOf(manual))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    world.approve('prod', 'ann')
    world.runs({ dev: '1.2.0' })
    world.step()
    expect(states(world)).toEqual(['ApprovalStale'])
    expect(world.status.environments?.['prod']?.waitingApproval).toMatchObject({ revision: '1.2.0', approvals: [] })
  })

  it('does not open a gate that has closed meanwhile', () => {
    const world = new World(pipelineOf({ ...manual, promotion: { ...pullRequestPromotion, manual: true } }))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    world.approve('prod', 'ann')
    world.targets['dev'] = [targetOf('1.1.0', { ready: false, namespace: 'dev' })]
    expect(world.step().effect).toBeUndefined()
    world.runs({ dev: '1.1.0' })
    expect(world.step().effect).toMatchObject({ do: 'push' })
  })

  it('expires', () => {
    const world = new World(
      pipelineOf({ ...manual, promotion: { ...pullRequestPromotion, approval: { required: 2, ttl: '1h' } } }),
    )
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    world.approve('prod', 'ann')
    world.now += 61 * minute
    world.approve('prod', 'bob')
    expect(world.step().effect).toBeUndefined()
    expect(states(world)).toEqual(['ApprovalExpired', 'ApprovalCounted'])
  })

  it('refused means rejected, until the next revision', () => {
    const world = new World(pipelineOf(manual))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    world.approve('prod', 'ann', 'Reject')
    world.step()
    expect(states(world)).toEqual(['ApprovalCounted'])
    expect(world.promotion('prod')).toMatchObject({ phase: 'Rejected', because: 'ApprovalRefused' })
    expect(world.condition('Stalled')).toMatchObject({ reason: 'ApprovalRefused' })
    world.runs({ dev: '1.2.0' })
    world.step()
    expect(world.phase('prod')).toBe('AwaitingApproval')
  })
})

describe('what goes wrong', () => {
  const failed = (kind: 'Transient' | 'Permanent' | 'RateLimited', reason: string) =>
    ({ result: 'failed', error: { class: kind, reason, message: 'no' } }) as const

  it('C60 N20: is tried again later under the same id when it may pass', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', failed('Transient', 'GitProviderUnavailable'))
    const { id } = world.promotion('staging')!
    expect(world.step().effect).toBeUndefined()
    expect(world.step(600_000).effect).toMatchObject({ do: 'push', promotion: { id, attempt: 2 } })
  })

  it('N21: waits exactly as long as the forge says', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', { ...failed('RateLimited', 'RateLimited'), retryAt: world.now + 90_000 })
    expect(world.promotion('staging')?.nextAttemptAt).toBe('2026-11-02T12:01:30Z')
    expect(world.step(89_000).effect).toBeUndefined()
    expect(world.step(1000).effect).toMatchObject({ do: 'push' })
  })

  it.each([
    ['the Secret changes', (world: World) => void (world.secretVersions = { staging: '2' })],
    ['the spec changes', (world: World) => world.edit({ interval: '1m' })],
    ['a retry is asked for', (world: World) => world.annotate({ 'sojourn.dev/retry': 'now' })],
  ])('for good is Stalled until %s', (_, change) => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', failed('Permanent', 'MarkerNotFound'))
    const { id } = world.promotion('staging')!
    expect(world.step(3_600_000).effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'MarkerNotFound', message: 'staging: no' })
    expect(world.status.run?.phase).toBe('Failed')
    change(world)
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { id } })
    expect(world.condition('Stalled')).toBeUndefined()
  })

  it('N16: a pull request closed by a human is not opened again for this revision', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('closed') })
    expect(world.step(3_600_000).effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'PromotionRejected' })
    const { id } = world.promotion('staging')!
    world.annotate({ 'sojourn.dev/retry': '1' })
    const retried = world.step().effect
    expect(retried).toMatchObject({ do: 'push', promotion: { revision: '1.1.0' } })
    expect(retried?.promotion.id).not.toBe(id)
  })

  it('N2: a roll-out that one target does not follow is Stalled after its deadline, and recovers', () => {
    const world = new World(
      pipelineOf({
        environments: [...environments('dev'), { name: 'prod', targets: [{ namespace: 'a' }, { namespace: 'b' }] }],
      }),
    )
    world.runs({ dev: '1.1.0' })
    world.targets['prod'] = [targetOf('1.1.0', { namespace: 'a' }), targetOf('1.0.0', { namespace: 'b' })]
    expect(world.step().effect).toBeUndefined()
    expect(world.phase('prod')).toBe('RollingOut')
    expect(world.step(31 * minute).effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'RolloutTimedOut' })
    expect(world.condition('Stalled')?.message).toContain('b/app runs 1.0.0')
    world.runs({ prod: '1.1.0' })
    world.step()
    expect(world.condition('Stalled')).toBeUndefined()
    expect(world.status.run?.phase).toBe('Complete')
  })

  it('N3: an unhealthy environment on the right revision holds the next one back, until it recovers', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.1.0', prod: '1.0.0' })
    world.targets['staging'] = [targetOf('1.1.0', { ready: false, namespace: 'staging' })]
    expect(world.step().effect).toBeUndefined()
    world.runs({ staging: '1.1.0' })
    expect(world.step().effect).toMatchObject({ environment: 'prod' })
  })
})

describe('a changed pipeline', () => {
  function proposed(): World {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    return world
  }

  it.each([
    ['url', 'https://git.test/acme/other'],
    ['baseBranch', 'release'],
    ['type', 'gitea'],
  ])('with another %s takes the old pull request back and opens one where it now belongs', (field, value) => {
    const world = proposed()
    const old = world.promotion('staging')!
    const pullRequestSpec = { ...pullRequestPromotion.strategy['pull-request']!, [field]: value }
    world.edit({ promotion: { strategy: { 'pull-request': pullRequestSpec } } })
    const withdrawal = world.step().effect
    expect(withdrawal).toMatchObject({ do: 'withdraw', promotion: { id: old.id, strategy: old.strategy } })
    world.answer('withdraw', { result: 'withdrawn' }, 600_000)
    const next = world.step().effect
    expect(next).toMatchObject({ do: 'push', promotion: { strategy: { [field]: value } } })
    expect(next?.promotion.id).not.toBe(old.id)
  })

  it('N11: without the environment closes its pull request, forgets it, and chains the next to the one before', () => {
    const world = proposed()
    world.edit({ environments: environments('dev', 'prod') })
    world.answer('withdraw', { result: 'withdrawn' })
    const { effect } = world.step()
    expect(Object.keys(world.status.environments ?? {})).toEqual(['dev', 'prod'])
    expect(effect ?? world.step().effect).toMatchObject({ do: 'push', environment: 'prod' })
  })

  it('N12: with an environment under another name takes back the old one and starts the new one', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    const old = world.promotion('staging')?.id
    world.edit({ environments: environments('dev', 'stage', 'prod') })
    world.runs({ stage: '1.0.0' })
    world.answer('withdraw', { result: 'withdrawn' })
    expect(world.step().effect).toMatchObject({ do: 'push', environment: 'stage' })
    expect(world.promotion('stage')?.id).not.toBe(old)
    expect(Object.keys(world.status.environments ?? {}).toSorted()).toEqual(['dev', 'prod', 'stage'])
  })

  it('N12: with its environments in another order opens nothing twice', () => {
    const world = proposed()
    const { id } = world.promotion('staging')!
    world.edit({ environments: environments('dev', 'prod', 'staging') })
    world.polledAt.set(id, world.now)
    const effects = [world.step().effect, world.step().effect].flatMap((effect) => effect ?? [])
    expect(effects.every(({ environment }) => environment === 'prod')).toBe(true)
    expect(world.promotion('staging')).toMatchObject({ id, phase: 'Proposed' })
  })

  it('with other labels leaves the open pull request alone', () => {
    const world = proposed()
    const labelled = { ...pullRequestPromotion.strategy['pull-request']!, labels: ['promotion'] }
    world.edit({ promotion: { strategy: { 'pull-request': labelled } } })
    world.polledAt.set(world.promotion('staging')!.id, world.now)
    expect(world.step().effect).toBeUndefined()
    expect(world.phase('staging')).toBe('Proposed')
  })

  it('N10: uses a promotion that only the environment has', () => {
    const [dev, prod] = environments('dev', 'prod')
    const { promotion: _, ...spec } = pipelineOf({
      environments: [dev!, { ...prod!, promotion: { strategy: { notification: {} } } }],
    }).spec
    const world = new World({ ...pipelineOf(), spec })
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    expect(world.step().effect).toMatchObject({ do: 'notify', environment: 'prod' })
  })

  it.each([
    ['no environments', { environments: [] }, 'spec.environments'],
    ['a name twice', { environments: environments('dev', 'dev') }, 'spec.environments[1].name'],
    ['no targets', { environments: [{ name: 'dev', targets: [] }] }, 'spec.environments[0].targets'],
    [
      'the same target twice',
      { environments: [{ name: 'dev', targets: [{ namespace: 'a' }, { namespace: 'a' }] }] },
      'spec.environments[0].targets[1]',
    ],
    [
      'a circle',
      {
        environments: [
          ...environments('dev'),
          { ...environments('a')[0]!, dependsOn: ['b'] },
          { ...environments('b')[0]!, dependsOn: ['a'] },
        ],
      },
      'spec.environments',
    ],
    [
      'an unknown dependency',
      { environments: [...environments('dev'), { ...environments('a')[0]!, dependsOn: ['x'] }] },
      'spec.environments',
    ],
    [
      'two strategies',
      { promotion: { strategy: { ...pullRequestPromotion.strategy, notification: {} } } },
      'spec.environments[1].promotion.strategy',
    ],
    [
      'a window that is none',
      {
        environments: [
          {
            ...environments('dev')[0]!,
            windows: [{ kind: 'Allow' as const, schedule: 'often often', duration: '1h' }],
          },
        ],
      },
      'spec.environments[0].windows[0]',
    ],
  ])('that cannot be followed (%s) is Stalled, naming the field', (_, spec, field) => {
    const world = new World(pipelineOf(spec))
    expect(world.step().effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'InvalidSpec' })
    expect(world.condition('Stalled')?.message.startsWith(field)).toBe(true)
  })
})

describe('a pipeline that is being deleted', () => {
  it('takes back what it has open and may go then', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.pipeline = {
      ...world.pipeline,
      metadata: { ...world.pipeline.metadata, deletionTimestamp: '2026-11-02T12:00:00Z' },
    }
    expect(world.step().mayGo).toBe(false)
    world.answer('withdraw', { result: 'withdrawn' }, 600_000)
    expect(world.step().mayGo).toBe(true)
  })

  it('gives up after five failed tries and says what it leaves behind', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.pipeline = {
      ...world.pipeline,
      metadata: { ...world.pipeline.metadata, deletionTimestamp: '2026-11-02T12:00:00Z' },
    }
    for (let attempt = 1; attempt <= 5; attempt++)
      world.answer(
        'withdraw',
        { result: 'failed', error: { class: 'Permanent', reason: 'CredentialsRefused', message: '401' } },
        600_000,
      )
    expect(world.step().mayGo).toBe(true)
    expect(world.heard.at(-1)).toMatchObject({ because: 'WithdrawalAbandoned' })
  })
})

it('N40: keeps the status of fifty environments with fifty targets each within bounds', () => {
  const many = Array.from({ length: 50 }, (_, index) => ({
    name: `e${index}`,
    targets: Array.from({ length: 50 }, (__, target) => ({ namespace: `n${target}` })),
  }))
  const world = new World(pipelineOf({ environments: many }))
  for (const { name } of many) world.runs({ [name]: 'x'.repeat(300) })
  world.step()
  for (const { name } of many.slice(1))
    world.targets[name] = world.targets[name]!.map((target) => ({ ...target, ready: false, message: 'm'.repeat(5000) }))
  world.step()
  expect(JSON.stringify(world.status).length).toBeLessThan(500_000)
})

it('writes nothing new when nothing has changed', () => {
  const world = new World()
  world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
  world.answer('push', pushed)
  world.answer('propose', open)
  world.step(1000)
  const before = JSON.stringify(world.status)
  world.step(5000)
  expect(JSON.stringify(world.status)).toBe(before)
})
