import { describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../../apis/pipeline.ts'
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
    expect(world.step(60_000)).toMatchObject({ effect: undefined, canBeDeleted: false })
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

  describe('that close before what was decided is carried out', () => {
    const [dev, prod] = environments('dev', 'prod')
    const windows = [{ kind: 'Allow' as const, schedule: '0 12 * * *', duration: '1h' }]
    const transient = {
      result: 'failed',
      error: { class: 'Transient', reason: 'GitProviderUnavailable', message: '502' },
    } as const

    function decided(): World {
      const world = new World(pipelineOf({ environments: [dev!, { ...prod!, windows }] }))
      world.runs({ dev: '1.1.0', prod: '1.0.0' })
      return world
    }

    it('undo the decision where nothing was tried, and it is taken anew when they open', () => {
      const other = { ...prod!, name: 'other', dependsOn: ['dev'] }
      const world = new World(pipelineOf({ environments: [dev!, other, { ...prod!, dependsOn: ['dev'], windows }] }))
      world.runs({ dev: '1.1.0', other: '1.0.0', prod: '1.0.0' })
      // One thing is done at a time: the other environment comes first, and takes its time.
      expect(world.step().effect).toMatchObject({ environment: 'other' })
      world.busy.add(world.promotion('other')!.id)
      expect(world.promotion('prod')).toMatchObject({ phase: 'Intended', attempt: 0 })
      expect(world.step(2 * 60 * minute).effect).toBeUndefined()
      expect(world.promotion('prod')).toMatchObject({ phase: 'Gated', because: 'WindowClosed' })
      expect(world.promotion('prod')).not.toHaveProperty('intentAt')
      expect(world.step(22 * 60 * minute).effect).toMatchObject({ do: 'push', environment: 'prod' })
    })

    it('hold what was tried until they open again', () => {
      const world = decided()
      world.answer('push', transient)
      const { id } = world.promotion('prod')!
      expect(world.step(2 * 60 * minute).effect).toBeUndefined()
      expect(world.promotion('prod')).toMatchObject({ phase: 'Intended', attempt: 1 })
      expect(world.status.environments?.['prod']?.gates).toContainEqual(
        expect.objectContaining({ name: 'window', state: 'Closed' }),
      )
      expect(world.step(22 * 60 * minute).effect).toMatchObject({ do: 'push', promotion: { id, attempt: 2 } })
    })

    it('hold it while what runs before has fallen ill', () => {
      const world = decided()
      world.answer('push', transient)
      world.targets['dev'] = [targetOf('1.1.0', { namespace: 'dev', ready: false })]
      expect(world.step(minute).effect).toBeUndefined()
      world.runs({ dev: '1.1.0' })
      expect(world.step(minute).effect).toMatchObject({ do: 'push' })
    })
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
    expect(world.promotion('prod')).toMatchObject({ phase: 'Gated', because: 'WindowClosed' })
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

  it('is removed a month after it was given, but never while its promotion has its place, it is marked or this is a dry run', () => {
    const world = new World(pipelineOf(manual))
    world.runs({ dev: '1.1.0', prod: '1.0.0' })
    world.step()
    const dayMs = 1440 * minute
    world.approve('prod', 'ann')
    const [ofNow] = world.approvals
    const other = (name: string, annotations = {}) => ({
      ...ofNow!,
      metadata: { ...ofNow!.metadata, name, annotations },
      spec: { ...ofNow!.spec, promotionId: '0'.repeat(16) },
    })
    const [old, kept] = [other('old'), other('kept', { 'sojourn.dev/keep': 'true' })]
    world.approvals.push(old, kept)
    expect(world.step(30 * dayMs - minute)).toMatchObject({ expired: [], changesAt: start + 30 * dayMs })
    world.dryRun = true
    expect(world.step(minute).expired).toEqual([])
    world.dryRun = false
    expect(world.step().expired).toEqual([old])
    expect(world.step(1000 * dayMs).expired).toEqual([old])
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
