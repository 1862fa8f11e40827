import { describe, expect, it } from 'vitest'
import {
  environments,
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  start,
  targetOf,
  World,
} from '../../../../test/promoter/world.ts'

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

  it('never promotes a completed revision twice, even after a manual rollback', () => {
    const world = new World()
    world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
    world.step()
    world.runs({ prod: '0.9.0' })
    expect(world.step().effect).toBeUndefined()
  })

  it.each([
    ['healthy', {}],
    ['unhealthy', { ready: false }],
  ])('promotes nothing into an environment where a target runs the revision already, %s', (_, over) => {
    const twoTargets = { name: 'prod', targets: [{ namespace: 'a' }, { namespace: 'b' }] }
    const world = new World(pipelineOf({ environments: [...environments('dev'), twoTargets] }))
    world.runs({ dev: '1.1.0' })
    world.targets['prod'] = [targetOf('1.0.0', { namespace: 'a' }), targetOf('1.1.0', { namespace: 'b', ...over })]
    expect(world.step().effect).toBeUndefined()
    expect(world.promotion('prod')).toMatchObject({ phase: 'RollingOut', because: 'AlreadyRunning' })
  })

  it('passes an environment as soon as enough of its targets have the revision, whatever the others run', () => {
    const [dev, staging, prod] = environments('dev', 'staging', 'prod')
    const some = { ...staging!, targets: [{ namespace: 'a' }, { namespace: 'b' }], requireTargets: 1 }
    const world = new World(pipelineOf({ environments: [dev!, some, prod!] }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.merge()
    world.targets['staging'] = [targetOf('1.0.0', { namespace: 'a' }), targetOf('1.1.0', { namespace: 'b' })]
    world.merge(2)
    world.runs({ prod: '1.1.0' })
    world.step()
    expect(world.status.run).toMatchObject({ revision: '1.1.0', phase: 'Complete' })
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

  it('takes it even where several targets are rarely of one mind', () => {
    const twoTargets = { name: 'dev', targets: [{ namespace: 'a' }, { namespace: 'b' }] }
    const world = new World(pipelineOf({ ...settled, environments: [twoTargets, ...environments('prod')] }))
    world.runs({ dev: '1.0.0', prod: '1.0.0' })
    world.step()
    world.step(minute)
    for (let patch = 1; world.status.run?.revision === '1.0.0' && patch < 100; patch++) {
      world.targets['dev'] = [targetOf(`1.1.${patch}`, { namespace: 'a' }), world.targets['dev']![1]!]
      world.step(15_000)
      world.runs({ dev: `1.1.${patch}` })
      world.step(15_000)
    }
    expect(world.now - start).toBeLessThanOrEqual(17 * minute)
    expect(world.status.run).toMatchObject({ sequence: 2, revision: world.targets['dev']?.[0]?.revision })
    expect(world.status.unsettledSince).toBeUndefined()
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

  describe('whose predecessor’s pull request cannot be closed', () => {
    const failed = (kind: 'Transient' | 'Permanent', reason: string) =>
      ({ result: 'failed', error: { class: kind, reason, message: 'no' } }) as const

    function superseded(): World {
      const world = new World()
      world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
      world.answer('push', pushed)
      world.answer('propose', open)
      world.runs({ dev: '1.2.0' })
      return world
    }

    it.each([
      ['the forge is away', failed('Transient', 'GitProviderUnavailable')],
      ['the credentials are refused', failed('Permanent', 'CredentialsRefused')],
    ])('waits, and says so, for as long as %s', (_, failure) => {
      const world = superseded()
      for (let attempt = 1; attempt <= 20; attempt++) world.answer('withdraw', failure, 600_000)
      world.step()
      expect(world.condition('Stalled')).toMatchObject({ message: 'staging: no' })
      world.answer('withdraw', { result: 'withdrawn' }, 600_000)
      expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.2.0' } })
    })

    it.each([
      ['it is not there any more', 'Permanent', () => undefined],
      [
        'it belongs elsewhere by now',
        'Transient',
        (world: World) => {
          const elsewhere = { ...pullRequestPromotion.strategy['pull-request']!, url: 'https://git.test/acme/new' }
          world.edit({ promotion: { strategy: { 'pull-request': elsewhere } } })
        },
      ],
    ] as const)('goes ahead after five tries when %s, and tells of what is left', (_, kind, change) => {
      const world = superseded()
      world.answer('withdraw', failed('Transient', 'GitProviderUnavailable'))
      change(world)
      for (let attempt = 2; attempt <= 5; attempt++)
        world.answer('withdraw', failed(kind, 'RepositoryNotFound'), 600_000)
      expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.2.0' } })
      expect(world.heard).toContainEqual(
        expect.objectContaining({ because: 'WithdrawalAbandoned', message: expect.stringContaining('pull/1') }),
      )
    })

    it('does not block the deletion of the pipeline', () => {
      const world = superseded()
      for (let attempt = 1; attempt <= 9; attempt++)
        world.answer('withdraw', failed('Transient', 'GitProviderUnavailable'), 600_000)
      const { metadata } = world.pipeline
      world.pipeline = { ...world.pipeline, metadata: { ...metadata, deletionTimestamp: '2026-11-02T12:00:00Z' } }
      world.answer('withdraw', failed('Transient', 'GitProviderUnavailable'), 600_000)
      expect(world.step().canBeDeleted).toBe(true)
    })
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

  it('lets several revisions move at once under Pairwise: a newer one takes the place of the one before it, and of no other', () => {
    const world = new World(pipelineOf({ runPolicy: 'Pairwise' }))
    world.runs({ dev: '1.2.0', staging: '1.1.0', prod: '1.0.0' })
    for (const number of [1, 2]) {
      world.answer('push', pushed)
      world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', number) })
      world.polledAt.set(world.promotion(number === 1 ? 'staging' : 'prod')!.id, world.now)
    }
    const kept = world.promotion('prod')
    world.runs({ dev: '1.3.0' })
    world.answer('withdraw', { result: 'withdrawn', pullRequest: pullRequest('closed') })
    expect(world.step().effect).toMatchObject({ do: 'push', environment: 'staging', promotion: { revision: '1.3.0' } })
    expect(world.promotion('prod')).toMatchObject({ id: kept?.id, revision: '1.1.0', phase: 'Proposed' })
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

  describe.each([
    ['under Finish', { runPolicy: 'Finish' }],
    ['by the starvation guard', { maxRestarts: 0 }],
  ] as const)('a run that must finish %s', (_, policy) => {
    const soaked = environments('dev', 'staging', 'prod').map((environment) =>
      environment.name === 'prod' ? { ...environment, soak: '1h' } : environment,
    )

    /** The first revision has been merged into staging, and a second one waits for its run to end. */
    function twoRevisions(): World {
      const world = new World(pipelineOf({ ...policy, environments: soaked }))
      world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
      world.merge()
      return world
    }

    function breakStaging(world: World): void {
      world.targets['staging'] = [targetOf('1.1.0', { namespace: 'staging', ready: false })]
      world.step()
      world.runs({ dev: '1.2.0' })
    }

    it.each([
      ['never got well', () => undefined],
      ['fell ill', (world: World) => world.runs({ staging: '1.1.0' })],
    ])('is superseded by a fix once what it has reached %s and its deadline is over', (_illness, before) => {
      const world = twoRevisions()
      before(world)
      world.step()
      breakStaging(world)
      world.step(29 * minute)
      expect(world.status).toMatchObject({ run: { revision: '1.1.0' }, candidate: { revision: '1.2.0' } })
      expect(world.last?.wakeAt).toBeLessThanOrEqual(world.now + minute)
      expect(world.step(minute).effect).toMatchObject({
        do: 'push',
        environment: 'staging',
        promotion: { revision: '1.2.0' },
      })
      expect(world.status.run).toMatchObject({ revision: '1.2.0', phase: 'Running' })
    })

    it('goes no further than an environment out of which it was taken by hand, and gives way in time', () => {
      const world = twoRevisions()
      world.runs({ staging: '1.1.0' })
      world.step()
      world.runs({ dev: '1.2.0' })
      world.step(50 * minute)
      world.runs({ staging: '1.0.0' })
      world.step(9 * minute)
      world.step(20 * minute)
      expect(world.phase('prod')).toBe('Gated')
      expect(world.step(10 * minute).effect).toMatchObject({ environment: 'staging', promotion: { revision: '1.2.0' } })
    })

    it('goes no further once it is taken back out of the first environment', () => {
      const world = twoRevisions()
      world.runs({ staging: '1.1.0' })
      world.step()
      world.runs({ dev: '1.0.0' })
      world.step(61 * minute)
      expect(world.phase('prod')).not.toBe('Intended')
      expect(world.status.run).toMatchObject({ revision: '1.0.0', direction: 'Backward' })
    })

    it('is not given up for an illness that passes', () => {
      const world = twoRevisions()
      breakStaging(world)
      world.step(20 * minute)
      world.runs({ staging: '1.1.0' })
      world.step()
      expect(world.step(59 * minute).effect).toBeUndefined()
      expect(world.step(minute).effect).toMatchObject({ environment: 'prod', promotion: { revision: '1.1.0' } })
    })
  })

  it('is superseded when the checks have failed past their deadline', () => {
    const [dev, staging, prod] = environments('dev', 'staging', 'prod')
    const verification = { checks: [{ url: 'https://staging.test/' }], interval: '1m' }
    const world = new World(
      pipelineOf({ runPolicy: 'Finish', environments: [dev!, staging!, { ...prod!, verification }] }),
    )
    world.runs({ dev: '1.1.0', staging: '1.1.0', prod: '1.0.0' })
    const failing = () => ({ result: 'unverified', message: 'answered 500', retryAt: world.now + minute }) as const
    world.answer('verify', failing())
    world.runs({ dev: '1.2.0' })
    world.answer('verify', failing(), 9 * minute)
    expect(world.status.run?.revision).toBe('1.1.0')
    world.step(minute)
    expect(world.status.run?.revision).toBe('1.2.0')
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

  it('N30: is known by the version in the tag of an artifact', () => {
    const world = new World(pipelineOf({ environments: environments('dev', 'prod') }))
    const revisionOf = (version: string, digit: string) => `${version}@sha256:${digit.repeat(64)}`
    world.runs({ dev: revisionOf('1.1.0', 'a'), prod: revisionOf('1.1.0', 'a') })
    world.step()
    world.runs({ dev: revisionOf('1.0.9', 'b') })
    expect(world.step().effect).toBeUndefined()
    expect(world.status.run).toMatchObject({ direction: 'Backward' })
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
