import { describe, expect, it } from 'vitest'
import {
  environments,
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  targetOf,
  World,
} from '../../../../test/promoter/world.ts'

const minute = 60_000
const open = { result: 'seen', pullRequest: pullRequest('open') } as const

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

  it('N21: waits a little, and longer each time, where the forge says that it may be asked at once', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    const waits = Array.from({ length: 4 }, () => {
      world.answer('push', { ...failed('RateLimited', 'RateLimited'), retryAt: world.now })
      const waitMs = Date.parse(world.promotion('staging')!.nextAttemptAt!) - world.now
      world.now += waitMs
      return waitMs
    })
    expect(waits).toEqual([3000, 5000, 10_000, 20_000])
  })

  it.each([
    ['the Secret changes', (world: World) => void (world.secretVersions = { staging: '2' })],
    ['the spec changes', (world: World) => world.edit({ interval: '1m' })],
    ['a retry is asked for', (world: World) => world.annotate({ 'sojourn.dev/retry': 'now' })],
  ])('for good is Stalled until %s', (_, change) => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', failed('Permanent', 'ValueInvalid'))
    const { id } = world.promotion('staging')!
    expect(world.step(3_600_000).effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'ValueInvalid', message: 'staging: no' })
    expect(world.status.run?.phase).toBe('Failed')
    change(world)
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { id } })
    expect(world.condition('Stalled')).toBeUndefined()
  })

  it('for want of good credentials is tried once more when their version comes to be known, and not each time that is learnt anew', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', failed('Permanent', 'CredentialsRefused'))
    world.secretVersions = { staging: '1' }
    world.answer('push', failed('Permanent', 'CredentialsRefused'))
    for (const known of [{}, { staging: '1' }, {}, { staging: '1' }]) {
      world.secretVersions = known
      expect(world.step().effect).toBeUndefined()
    }
    world.secretVersions = { staging: '2' }
    expect(world.step().effect).toMatchObject({ do: 'push' })
  })

  it('N16: a pull request closed by a human is not opened again for this revision', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('closed') })
    // It is only looked at: the person may open it again.
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('closed') }, 3_600_000)
    const error = { class: 'Permanent', reason: 'CredentialsRefused', message: 'no' } as const
    world.answer('poll', { result: 'failed', error }, 3_600_000)
    expect(world.step().effect).toBeUndefined()
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

describe('an open pull request', () => {
  function proposed(): World {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', open)
    world.answer('poll', open)
    return world
  }

  it('is looked at every 30 s while it is young, and every five minutes when it is old', () => {
    const world = proposed()
    expect(world.step(29_000)).toMatchObject({ effect: undefined, wakeAt: world.now + 1000 })
    world.answer('poll', open, 1000)
    world.now += 86_400_000
    world.answer('poll', open)
    expect(world.step(299_000).effect).toBeUndefined()
    world.answer('poll', open, 1000)
  })

  it('is looked at at once by a process that has just been started, or was given a hint', () => {
    const world = proposed()
    expect(world.step().effect).toBeUndefined()
    world.polledAt.clear()
    expect(world.step().effect).toMatchObject({ do: 'poll' })
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
    expect(world.step().canBeDeleted).toBe(false)
    world.answer('withdraw', { result: 'withdrawn' }, 600_000)
    expect(world.step().canBeDeleted).toBe(true)
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
    expect(world.step().canBeDeleted).toBe(true)
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
