import { describe, expect, it } from 'vitest'
import { pipelineOf, pullRequest, pushed, targetOf, World } from '../../../../test/promoter/world.ts'

const minute = 60_000

/** dev → staging → prod with 1.1.0 everywhere and 1.0.0 before it. */
function complete(spec: Parameters<typeof pipelineOf>[0] = {}): World {
  const world = new World(pipelineOf(spec))
  world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
  world.step()
  world.runs({ dev: '1.1.0' })
  for (const name of ['staging', 'prod']) {
    world.merge()
    world.runs({ [name]: '1.1.0' })
    world.step()
  }
  expect(world.status.run?.phase).toBe('Complete')
  return world
}

describe('a rollback', () => {
  it('promotes the revision before to that environment only, until the next run', () => {
    const world = complete()
    world.request('Rollback', 'prod')
    expect(world.step().effect).toMatchObject({ do: 'push', environment: 'prod', promotion: { revision: '1.0.0' } })
    expect(world.promotion('prod')).toMatchObject({ direction: 'Backward', requestedBy: 'ann' })
    expect(world.status.requests?.[0]).toMatchObject({ decision: 'Rollback', revision: '1.0.0', by: 'ann' })
    expect([...world.last!.approvals.values()]).toMatchObject([{ state: 'Counted', message: /: 1\.0\.0$/ }])
    world.record(world.last!.effect!, pushed)
    world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', 3) })
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged', 3) }, minute)
    world.runs({ prod: '1.0.0' })
    world.step()
    expect(world.phase('prod')).toBe('Succeeded')
    expect(world.condition('Drifted')).toBeUndefined()
    expect(world.step(10 * minute).effect).toBeUndefined()
    const message = 'run 2 of 1.1.0 is Complete; prod stays on 1.0.0, as ann requested'
    expect(world.condition('Ready')).toMatchObject({ status: 'True', message })
    world.runs({ dev: '1.2.0' })
    world.merge(4)
    world.runs({ staging: '1.2.0' })
    expect(world.step().effect).toMatchObject({ environment: 'prod', promotion: { revision: '1.2.0' } })
  })

  it('goes back where versions are commits, too, to one that was there before the first promotion', () => {
    const [first, second] = ['1', '2'].map((digit) => `main@sha1:${digit.repeat(40)}`) as [string, string]
    const world = new World()
    world.runs({ dev: first, staging: first, prod: first })
    world.step()
    world.runs({ dev: second })
    world.answer('inspect', { result: 'inspected', isOwn: false })
    world.merge()
    world.runs({ staging: second })
    world.step()
    world.request('Rollback', 'staging')
    world.step()
    expect(world.promotion('staging')).toMatchObject({ revision: first, direction: 'Backward' })
  })

  it('stays proposed while a newer revision has not come as far', () => {
    const world = complete()
    world.request('Rollback', 'prod')
    world.answer('push', pushed)
    world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', 3) })
    world.runs({ dev: '1.2.0' })
    world.merge(4)
    expect(world.promotion('prod')).toMatchObject({ phase: 'Proposed', revision: '1.0.0' })
    world.runs({ staging: '1.2.0' })
    const promotion = { phase: 'Superseded', revision: '1.0.0', supersededBy: '1.2.0' }
    expect(world.step().effect).toMatchObject({ do: 'withdraw', environment: 'prod', promotion })
  })

  it('ends with the next revision also where environments follow each other pairwise', () => {
    const world = complete()
    world.edit({ runPolicy: 'Pairwise' })
    world.request('Rollback', 'staging')
    expect(world.step().effect).toMatchObject({ environment: 'staging', promotion: { revision: '1.0.0' } })
    world.runs({ dev: '1.2.0' })
    world.step(minute)
    expect(world.status.environments?.['staging']?.pin).toBeUndefined()
  })

  it('passes the gates and approvals of the environment', () => {
    const { promotion, environments } = pipelineOf().spec
    const [dev, staging, prod] = environments
    const windows = [{ kind: 'Deny' as const, schedule: '0 0 * * *', duration: '24h' }]
    const world = complete()
    world.edit({ environments: [dev!, staging!, { ...prod!, windows }] })
    world.request('Rollback', 'prod')
    expect(world.step().effect).toBeUndefined()
    world.edit({ environments, promotion: { ...promotion!, manual: true } })
    expect(world.step().effect).toBeUndefined()
    expect(world.phase('prod')).toBe('AwaitingApproval')
    world.approve('prod', 'bob')
    expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.0.0' } })
  })

  describe('of what runs', () => {
    /** 1.0.0, 1.1.0 and 1.2.0 have been in prod, one after the other. */
    function later(): World {
      const world = complete()
      world.runs({ dev: '1.2.0' })
      for (const name of ['staging', 'prod']) {
        world.merge()
        world.runs({ [name]: '1.2.0' })
        world.step()
      }
      return world
    }
    const pinned = (world: World) => {
      world.request('Rollback', 'prod')
      world.step()
      return world.status.environments?.['prod']?.pin?.revision
    }

    it('does not mean the revision that waits to be merged', () => {
      const world = later()
      world.runs({ dev: '1.3.0' })
      world.merge()
      world.runs({ staging: '1.3.0' })
      world.answer('push', pushed)
      world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', 9) })
      world.targets['prod'] = [targetOf('1.2.0', { ready: false, namespace: 'prod' })]
      expect(pinned(world)).toBe('1.1.0')
    })

    it('means the revision that is being rolled out', () => {
      const world = later()
      world.runs({ dev: '1.3.0' })
      world.merge()
      world.runs({ staging: '1.3.0' })
      world.merge()
      world.step()
      expect(world.phase('prod')).toBe('RollingOut')
      expect(pinned(world)).toBe('1.2.0')
    })

    it('means what the environment was set to by hand', () => {
      const world = later()
      world.runs({ prod: '1.1.0' })
      world.step()
      expect(pinned(world)).toBe('1.0.0')
    })

    it('twice goes back two revisions, and never to the one that was left', () => {
      const world = later()
      for (const revision of ['1.1.0', '1.0.0']) {
        expect(pinned(world)).toBe(revision)
        world.record(world.last!.effect!, pushed)
        world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', 9) })
        world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged', 9) }, minute)
        world.runs({ prod: revision })
        world.step()
      }
      world.request('Rollback', 'prod')
      world.step()
      expect(world.status.requests?.[0]).toMatchObject({ result: 'NothingToRollBackTo' })
    })

    it('by two users at once opens one pull request', () => {
      const world = later()
      expect(pinned(world)).toBe('1.1.0')
      const { id } = world.promotion('prod')!
      expect(pinned(world)).toBe('1.1.0')
      expect(world.promotion('prod')?.id).toBe(id)
    })
  })

  it('is refused where no earlier revision is known', () => {
    const world = new World()
    world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
    world.step()
    world.request('Rollback', 'prod')
    const { approvals } = world.step()
    expect(approvals.get(world.approvals[0]!)).toMatchObject({ state: 'Ignored', reason: 'NothingToRollBackTo' })
  })
})

describe('a requested promotion', () => {
  it('goes to one environment without waiting for those before, and only with a revision that was seen', () => {
    const world = complete()
    world.request('Promote', 'prod', { revision: '9.9.9' })
    world.request('Promote', 'nowhere', { revision: '1.0.0' })
    world.request('Promote', 'prod', { revision: 'v1.0.0' })
    const { approvals, effect } = world.step()
    expect([...approvals.values()].map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      'Ignored RevisionNotSeen',
      'Ignored EnvironmentUnknown',
      'Counted Requested',
    ])
    expect(effect).toMatchObject({ environment: 'prod', promotion: { revision: '1.0.0' } })
    expect(world.status.requests?.map(({ by, result }) => `${by} ${result}`)).toEqual([
      'ann Requested',
      'ann EnvironmentUnknown',
      'ann RevisionNotSeen',
    ])
  })

  it.each([{ runPolicy: 'Finish' }, { runPolicy: 'Restart', maxRestarts: 0 }] as const)(
    'in the middle of a run never keeps the newest revision back (%o)',
    (policy) => {
      const world = complete()
      world.edit(policy)
      for (const revision of ['1.2.0', '1.3.0']) {
        world.runs({ dev: revision })
        world.step(minute)
      }
      expect(world.status.run?.revision).toBe('1.2.0')
      world.request('Promote', 'staging', { revision: '1.0.0' })
      world.answer('withdraw', { result: 'withdrawn' })
      expect(world.step().effect).toMatchObject({ do: 'push', promotion: { revision: '1.0.0' } })
      expect(world.status.run?.revision).toBe('1.2.0')
      expect(world.status.environments?.['prod']?.gates?.find(({ name }) => name === 'upstream')).toMatchObject({
        state: 'Waiting',
        message: 'staging is not ready on 1.2.0: ann requested 1.0.0 for it',
      })
      world.runs({ staging: '1.0.0' })
      world.step(minute)
      expect(world.status.run).toMatchObject({ revision: '1.3.0', phase: 'Running' })
      expect(world.status.environments?.['staging']?.pin).toBeUndefined()
    },
  )

  it.each(['main@sha1:a1b2c3d', 'a1b2c3d', 'sha1:a1b2c3d4e5f60718293a4b5c6d7e8f9001122334'])(
    'may name a commit as it is shown: %s',
    (revision) => {
      const world = complete()
      const commit = 'main@sha1:a1b2c3d4e5f60718293a4b5c6d7e8f9001122334'
      world.runs({ dev: commit })
      world.step()
      world.request('Promote', 'prod', { revision })
      world.step()
      expect(world.status.environments?.['prod']?.pin?.revision).toBe(commit)
    },
  )

  it('is carried out once, though its status was never written', () => {
    const world = complete()
    world.request('Promote', 'prod', { revision: '1.0.0' })
    world.step()
    const { id } = world.promotion('prod')!
    world.step()
    expect(world.status.requests).toHaveLength(1)
    expect(world.promotion('prod')?.id).toBe(id)
  })

  it('is carried out once, oldest first, however many came while no promoter was running', () => {
    const world = complete()
    for (let count = 0; count < 25; count++) {
      world.request('Promote', 'prod', { revision: count === 24 ? '1.1.0' : '1.0.0' })
      world.now += 1000
    }
    let requested = 0
    for (let turn = 0; turn < 10; turn++) {
      const { approvals, announcements } = world.step(1000)
      requested += announcements.filter(({ message }) => message.startsWith('ann requested')).length
      world.approvals = world.approvals.map((approval) => {
        const status = approvals.get(approval)
        return status ? { ...approval, status } : approval
      })
    }
    expect(requested).toBe(25)
    expect(world.status.environments?.['prod']?.pin?.revision).toBe('1.1.0')
  })

  it('to an earlier Pipeline of the same name, as from a backup without status, changes nothing', () => {
    const world = complete()
    world.request('Promote', 'prod', { revision: '1.0.0' })
    const [request] = world.approvals
    const owner = { apiVersion: 'pipelines.weave.works/v1alpha1', kind: 'Pipeline', name: 'app', uid: 'former' }
    world.approvals = [{ ...request!, metadata: { ...request!.metadata, ownerReferences: [owner] } }]
    world.step()
    expect(world.status.environments?.['prod']?.pin).toBeUndefined()
    world.approvals = [
      { ...request!, metadata: { ...request!.metadata, ownerReferences: [{ ...owner, uid: 'uid-1' }] } },
    ]
    world.step()
    expect(world.status.environments?.['prod']?.pin).toMatchObject({ revision: '1.0.0' })
  })

  it('to resume is refused while the spec suspends the pipeline', () => {
    const world = complete()
    world.edit({ suspend: true })
    world.request('Resume', '*')
    const { approvals } = world.step()
    expect(approvals.get(world.approvals[0]!)).toMatchObject({ state: 'Ignored', reason: 'SuspendedInSpec' })
  })

  it('is for the listed approvers where an environment has a list', () => {
    const { promotion } = pipelineOf().spec
    const world = complete()
    world.edit({ promotion: { ...promotion!, approval: { approvers: ['bob'] } } })
    world.request('Promote', 'prod', { revision: '1.0.0' })
    world.step()
    expect(world.status.requests?.[0]).toMatchObject({ result: 'NotAnApprover' })
    expect(world.status.environments?.['prod']?.pin).toBeUndefined()
  })

  it('never counts as an approval, even if it names the promotion', () => {
    const { promotion } = pipelineOf().spec
    const world = new World(pipelineOf({ promotion: { ...promotion!, manual: true } }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.step()
    expect(world.phase('staging')).toBe('AwaitingApproval')
    world.approve('staging', 'ann')
    world.approvals = world.approvals.map((each) => ({ ...each, spec: { ...each.spec, decision: 'Retry' } }))
    expect(world.step().effect).toBeUndefined()
    expect(world.phase('staging')).toBe('AwaitingApproval')
  })
})

describe('a retry', () => {
  it('continues a failed promotion, replaces a rejected and a timed-out one, and hurries one that waits', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    const error = { class: 'Transient', reason: 'GitProviderUnavailable', message: '502' } as const
    world.answer('push', { result: 'failed', error, retryAt: world.now + 60 * minute })
    expect(world.step(minute).effect).toBeUndefined()
    world.request('Retry', 'staging')
    world.answer('push', { result: 'failed', error: { ...error, class: 'Permanent', reason: 'ValueInvalid' } })
    world.request('Retry', '*')
    world.merge()
    world.step()
    world.step(31 * minute)
    expect(world.promotion('staging')).toMatchObject({ phase: 'RollingOut', because: 'RolloutTimedOut' })
    const { id } = world.promotion('staging')!
    world.request('Retry', 'staging')
    const { effect } = world.step()
    expect(effect).toMatchObject({ do: 'push' })
    expect(world.promotion('staging')?.id).not.toBe(id)
    const heard = world.heard.filter(({ because }) => because === 'RetryRequested').at(-1)
    expect(heard).toMatchObject({ environment: 'staging', type: 'Normal' })
    expect(heard?.message).toContain('ann requested Retry for staging')
  })

  it('replaces a pull request that was closed before the promoter knew of it', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.request('Retry', 'staging')
    world.answer('propose', { result: 'seen', pullRequest: pullRequest('closed') })
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('closed') })
    expect(world.step().effect).toMatchObject({ do: 'push' })
    expect(world.status.requests?.[0]).toMatchObject({ decision: 'Retry', result: 'RetryRequested' })
  })

  it('replaces a pull request that was closed just now, and is not refused before that is known', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.answer('push', pushed)
    world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('open') })
    const { id } = world.promotion('staging')!
    world.polledAt.clear()
    world.request('Retry', 'staging')
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('closed') })
    world.step()
    expect(world.status.requests?.[0]).toMatchObject({ decision: 'Retry', result: 'RetryRequested' })
    expect(world.promotion('staging')?.id).not.toBe(id)
  })

  it('of nothing is refused with a reason', () => {
    const world = complete()
    world.request('Retry', '*')
    world.step()
    expect(world.status.requests?.[0]).toMatchObject({ decision: 'Retry', result: 'NothingToRetry' })
  })
})

it('suspends and resumes a pipeline in any phase, without a change of the spec, and says who did', () => {
  const world = new World()
  world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
  world.request('Suspend', '*')
  expect(world.step().effect).toBeUndefined()
  expect(world.condition('Suspended')?.message).toContain('ann has suspended the pipeline')
  expect(world.status.run?.phase).toBe('Held')
  world.request('Resume', '*')
  expect(world.step().effect).toMatchObject({ do: 'push' })
  expect(world.condition('Suspended')).toBeUndefined()
})

it('records which revision reached which environment, by whose approval, and how long it took', () => {
  const { promotion } = pipelineOf().spec
  const world = new World(pipelineOf({ promotion: { ...promotion!, manual: true } }))
  world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
  world.step()
  world.approve('staging', 'ann')
  world.answer('push', pushed, 10 * minute)
  world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
  world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
  world.runs({ staging: '1.1.0' })
  world.step()
  world.runs({ dev: '1.2.0' })
  world.step(minute)
  expect(world.status.environments?.['staging']?.history).toMatchObject([
    { revision: '1.1.0', phase: 'Succeeded', approvedBy: ['ann'], leadSeconds: 660, endedAt: '2026-11-02T12:11:00Z' },
  ])
  expect(world.status.revisions?.map(({ revision }) => revision)).toEqual(['1.2.0', '1.1.0'])
})

describe('a request for the revision that is on its way', () => {
  it.each(['Proposed', 'AwaitingApproval'])('keeps the promotion with its reviews and approvals (%s)', (phase) => {
    const approval = { required: 2, approvers: ['ann', 'bob'] }
    const { promotion } = pipelineOf().spec
    const world = new World(pipelineOf(phase === 'Proposed' ? {} : { promotion: { ...promotion!, approval } }))
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    if (phase === 'Proposed') {
      world.answer('push', pushed)
      world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
    } else {
      world.step()
      world.approve('staging', 'ann')
      world.step()
    }
    const { id } = world.promotion('staging')!
    world.request('Promote', 'staging', { revision: '1.1.0' })
    world.step()
    expect(world.status.requests?.[0]).toMatchObject({ result: 'Requested' })
    expect(world.promotion('staging')).toMatchObject({ id, phase, requestedBy: world.status.requests?.[0]?.by })
    expect(world.status.environments?.['staging']?.waitingApproval?.approvals).toEqual(
      phase === 'Proposed' ? undefined : [expect.objectContaining({ approver: 'ann' })],
    )
    // What was requested is not withdrawn for a newer revision that has not come as far.
    expect(world.status.environments?.['staging']?.pin).toMatchObject({ revision: '1.1.0' })
  })

  it('replaces one that timed out', () => {
    const world = new World()
    world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
    world.merge()
    world.step()
    world.step(31 * minute)
    expect(world.promotion('staging')).toMatchObject({ because: 'RolloutTimedOut' })
    const { id } = world.promotion('staging')!
    world.request('Promote', 'staging', { revision: '1.1.0' })
    expect(world.step().effect?.do).toBe('push')
    expect(world.promotion('staging')?.id).not.toBe(id)
  })
})
