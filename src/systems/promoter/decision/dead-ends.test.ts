import { describe, expect, it } from 'vitest'
import { pipelineOf, pullRequest, pushed, targetOf, World } from '../../../../test/promoter/world.ts'
import type { EffectResult } from './results.ts'

const minute = 60_000
const first = '1'.repeat(40)
const second = '2'.repeat(40)
const third = '3'.repeat(40)

function failed(reason: string): EffectResult {
  return { result: 'failed', error: { class: 'Permanent', reason, message: 'no' } }
}

/** dev → prod; prod waits for a person to merge. */
function proposed(spec: Parameters<typeof pipelineOf>[0] = {}): World {
  const world = new World(pipelineOf({ ...spec, environments: pipelineOf().spec.environments.slice(0, 2) }))
  world.runs({ dev: '1.1.0', staging: '1.0.0' })
  world.answer('push', pushed)
  world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
  return world
}

describe('waiting for a person', () => {
  it('never keeps the newest revision back, however often it was superseded', () => {
    const world = proposed()
    for (let minor = 2; minor < 9; minor++) {
      world.runs({ dev: `1.${minor}.0` })
      world.step(minute)
      world.answer('withdraw', { result: 'withdrawn' })
      world.answer('push', pushed)
      world.answer('propose', { result: 'seen', pullRequest: pullRequest('open', minor) })
    }
    expect(world.promotion('staging')).toMatchObject({ revision: '1.8.0', phase: 'Proposed' })
    expect(world.status.run?.restarts).toBe(0)
  })

  it('with runPolicy Finish says which revision is the newest and what it waits for', () => {
    const world = proposed({ runPolicy: 'Finish' })
    world.runs({ dev: '1.2.0' })
    world.step(minute)
    expect(world.condition('Reconciling')).toMatchObject({ reason: 'WaitingForRun' })
    expect(world.condition('Reconciling')?.message).toBe(
      'the newest revision is 1.2.0; run 1 of 1.1.0 finishes first: spec.runPolicy is Finish',
    )
  })
})

describe('a pull request that cannot be closed, for want of credentials,', () => {
  it('is tried again as soon as the Secret changes, and shows no gates of the promotion before', () => {
    const world = proposed()
    world.runs({ dev: '1.2.0' })
    world.step(minute)
    world.secretVersions = { staging: '7' }
    for (const _ of ['the first time, the version was not known', 'again'])
      world.answer('withdraw', failed('CredentialsRefused'))
    expect(world.step(1000).effect).toBeUndefined()
    expect(world.status.environments?.['staging']?.gates).toBeUndefined()
    world.secretVersions = { staging: '8' }
    expect(world.step().effect).toMatchObject({ do: 'withdraw' })
  })
})

describe('one revision in several spellings', () => {
  it.each([
    [`main@sha1:${first}`, `sha1:${first}`],
    [`main/${first}`, first],
    [`v1.0.4@sha1:${first}`, `main@sha1:${first}`],
    [`latest@sha256:${'a'.repeat(64)}`, `sha256:${'a'.repeat(64)}`],
    ['v1.2.3', '1.2.3'],
  ])('%s has arrived where %s runs', (dev, later) => {
    const world = new World()
    world.runs({ dev, staging: '0.1.0', prod: '0.1.0' })
    world.merge()
    world.runs({ staging: later })
    world.step()
    expect(world.phase('staging')).toBe('Succeeded')
    expect(world.phase('prod')).toBe('Intended')
  })

  it('is not one where hashes differ', () => {
    const world = new World()
    world.runs({ dev: `main@sha1:${first}`, staging: '0.1.0', prod: '0.1.0' })
    world.merge()
    world.runs({ staging: `sha1:${second}` })
    world.step()
    expect(world.phase('staging')).toBe('RollingOut')
  })
})

describe('a commit of a promotion in the first environment', () => {
  function following(): World {
    const world = new World()
    world.runs({ dev: `main@sha1:${first}`, staging: '0.1.0', prod: '0.1.0' })
    world.merge()
    world.runs({ dev: `main@sha1:${second}`, staging: `sha1:${first}` })
    return world
  }

  it('starts no run, and counts as the revision that is promoted', () => {
    const world = following()
    world.answer('inspect', { result: 'inspected', isOwn: true }, minute)
    world.step()
    expect(world.status.run).toMatchObject({ sequence: 1, aliases: [`main@sha1:${second}`] })
    // Nothing would ever run it: whatever does counts as the run's revision.
    expect(world.status.revisions?.map(({ revision }) => revision)).toEqual([`main@sha1:${first}`])
    expect(world.status.candidate).toBeUndefined()
    expect(world.phase('prod')).toBe('Intended')
    world.runs({ dev: `main@sha1:${third}` })
    world.answer('inspect', { result: 'inspected', isOwn: false })
    world.step()
    expect(world.status.run).toMatchObject({ sequence: 2, revision: `main@sha1:${third}` })
  })

  it('starts a run when the repository does not have it, and none while the repository cannot be read', () => {
    const world = following()
    const error = { class: 'Transient', reason: 'GitProviderUnavailable', message: '502' } as const
    world.answer('inspect', { result: 'failed', error }, minute)
    expect(world.step(10_000).effect?.do).not.toBe('inspect')
    expect(world.status.run?.sequence).toBe(1)
    world.answer('inspect', failed('RepositoryNotFound'), minute)
    world.step()
    expect(world.status.run?.sequence).toBe(2)
  })
})

describe('a look at a commit that fails', () => {
  it('is told with its error, and is Stalled in the end', () => {
    const world = new World()
    world.runs({ dev: `main@sha1:${first}`, staging: '0.1.0', prod: '0.1.0' })
    world.merge()
    world.runs({ dev: `main@sha1:${second}`, staging: `sha1:${first}` })
    const error = { class: 'Transient', reason: 'GitProviderUnavailable', message: 'git.test answered 502' } as const
    world.answer('inspect', { result: 'failed', error }, minute)
    world.step()
    expect(world.condition('Reconciling')?.message).toContain('the newest revision is main@sha1:2222222')
    expect(world.condition('Reconciling')?.message).toContain('git.test answered 502')
    world.answer('inspect', { result: 'failed', error }, 15 * minute)
    world.step()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'GitProviderUnavailable' })
    world.answer('inspect', { result: 'inspected', isOwn: true }, minute)
    world.step()
    expect(world.condition('Stalled')).toBeUndefined()
  })
})

describe('a stalled pipeline', () => {
  it('names the newest revision and what that waits for', () => {
    const world = proposed({ runPolicy: 'Finish' })
    const conflicting = { ...pullRequest('open'), modified: true, isConflicting: true }
    world.answer('poll', { result: 'seen', pullRequest: conflicting }, minute)
    world.runs({ dev: '1.2.0' })
    world.step(minute)
    expect(world.condition('Stalled')?.message).toBe(
      'staging: resolve the conflicts of https://git.test/acme/deploy/pull/1; the newest revision is 1.2.0; run 1 of 1.1.0 finishes first: spec.runPolicy is Finish',
    )
    expect(world.condition('Reconciling')).toBeUndefined()
  })

  it('says why its targets do not follow', () => {
    const world = proposed()
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
    const message = 'not ready: HealthCheckFailed: timeout'
    world.targets['staging'] = [targetOf('1.1.0', { ready: false, namespace: 'staging', message })]
    world.step()
    world.step(31 * minute)
    expect(world.condition('Stalled')?.message).toBe(
      `staging: HelmRelease staging/app runs 1.1.0 (${message}), not a healthy 1.1.0`,
    )
  })
})

describe('a run that took too long', () => {
  it('is Stalled, and a retry gives it its time once more', () => {
    const [dev, staging] = pipelineOf().spec.environments
    const world = new World(pipelineOf({ maxRunDuration: '10m', environments: [dev!, { ...staging!, soak: '20m' }] }))
    world.runs({ dev: '1.1.0', staging: '1.0.0' })
    world.step()
    expect(world.step(30 * minute).effect).toBeUndefined()
    expect(world.condition('Stalled')).toMatchObject({ reason: 'RunTimedOut' })
    expect(world.condition('Stalled')?.message).toContain('sojourn retry app -n team')
    world.request('Retry', '*')
    expect(world.step().effect?.do).toBe('push')
    expect(world.status.requests?.[0]).toMatchObject({ result: 'RetryRequested' })
    expect(world.condition('Stalled')).toBeUndefined()
  })
})

describe('a failure that git or RBAC can cure', () => {
  // CredentialsMissing: the creator of the Pipeline may be granted the right to read the Secret later.
  it.each(['MarkerNotFound', 'BaseBranchNotFound', 'RepositoryNotFound', 'CredentialsMissing'])(
    '%s is tried again each interval, and stays Stalled meanwhile',
    (reason) => {
      const world = new World()
      world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
      world.answer('push', failed(reason))
      expect(world.step(minute).effect).toBeUndefined()
      expect(world.last?.changesAt).toBeLessThanOrEqual(world.now + 4 * minute)
      expect(world.step(4 * minute).effect?.do).toBe('push')
      expect(world.condition('Stalled')).toMatchObject({ reason })
    },
  )
})

describe('after the merge', () => {
  it('a revert is named, and a retry proposes the revision again', () => {
    const world = proposed()
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
    world.answer('recheck', { result: 'rechecked', isHeld: true }, minute)
    expect(world.phase('staging')).toBe('RollingOut')
    world.answer('recheck', { result: 'rechecked', isHeld: false }, 5 * minute)
    world.step()
    expect(world.promotion('staging')).toMatchObject({ phase: 'Rejected', because: 'ChangeReverted' })
    expect(world.condition('Stalled')).toMatchObject({ reason: 'ChangeReverted' })
    const { id } = world.promotion('staging')!
    world.request('Retry', 'staging')
    expect(world.step().effect?.do).toBe('push')
    expect(world.promotion('staging')?.id).not.toBe(id)
  })

  it('a roll-out goes on while the repository cannot be read', () => {
    const world = proposed()
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
    world.answer('recheck', failed('CredentialsRefused'), minute)
    world.step()
    expect(world.phase('staging')).toBe('RollingOut')
    expect(world.condition('Stalled')).toMatchObject({ reason: 'CredentialsRefused' })
    world.runs({ staging: '1.1.0' })
    world.step()
    expect(world.phase('staging')).toBe('Succeeded')
    expect(world.condition('Stalled')).toBeUndefined()
  })
})

describe('an environment set back after the run', () => {
  function complete(drift: 'Report' | 'Promote'): World {
    const world = proposed({ drift })
    world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
    world.runs({ staging: '1.1.0' })
    world.step()
    expect(world.status.run?.phase).toBe('Complete')
    world.runs({ staging: '1.0.0' })
    world.step(minute)
    return world
  }

  it('is a condition with the command that helps, which then promotes it again', () => {
    const world = complete('Report')
    expect(world.condition('Drifted')?.message).toContain('staging runs 1.0.0, not 1.1.0')
    expect(world.condition('Drifted')?.message).toContain('sojourn retry app -n team')
    expect(world.heard.filter(({ because }) => because === 'Drifted')).toHaveLength(1)
    expect(world.step(minute).effect).toBeUndefined()
    world.request('Retry', '*')
    expect(world.step().effect?.do).toBe('push')
    expect(world.condition('Drifted')).toBeUndefined()
  })

  it('is promoted again where the policy says so', () => {
    const world = complete('Promote')
    expect(world.step(minute).effect?.do).toBe('push')
  })

  it('is not called set back while it is unhealthy on the same revision', () => {
    const world = complete('Promote')
    world.targets['staging'] = [targetOf('1.1.0', { ready: false, namespace: 'staging' })]
    world.step()
    expect(world.condition('Drifted')).toBeUndefined()
  })
})

describe('conditions', () => {
  it('name every closed gate as the reason why a promotion is pending', () => {
    const [dev, staging] = pipelineOf().spec.environments
    const world = new World(pipelineOf({ environments: [dev!, { ...staging!, soak: '1h' }] }))
    world.runs({ dev: '1.1.0', staging: '1.0.0' })
    world.step()
    expect(world.condition('PromotionPending')).toMatchObject({ reason: 'Soaking' })
    expect(world.condition('PromotionPending')?.message).toContain('staging waits with 1.1.0')
  })

  it('give the recipe where all environments follow one branch', () => {
    const world = new World()
    world.runs({ dev: first, staging: first, prod: first })
    world.step()
    expect(world.condition('RevisionNotDiscriminating')).toBeUndefined()
    world.runs({ dev: second, staging: second, prod: second })
    world.answer('inspect', { result: 'inspected', isOwn: false })
    world.step()
    expect(world.condition('RevisionNotDiscriminating')?.message).toContain('staging, prod got 2222222')
    expect(world.condition('RevisionNotDiscriminating')?.message).toContain('spec.ref.commit')
    world.step(minute)
    expect(world.heard.filter(({ because }) => because === 'RevisionNotDiscriminating')).toMatchObject([
      { type: 'Warning' },
    ])
  })
})
