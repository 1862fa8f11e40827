import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { EnvironmentSpec, PipelineSpec } from '../../../apis/pipeline.ts'
import type { Effect } from './effects.ts'
import type { EffectResult } from './results.ts'
import {
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  targetOf,
  World,
} from '../../../../test/promoter/world.ts'

const names = ['dev', 'staging', 'qa', 'prod']
const later = names.slice(1)

const wishes = fc.record({
  runPolicy: fc.constantFrom('Restart', 'Finish', 'Pairwise'),
  maxRestarts: fc.integer({ min: 0, max: 3 }),
  rollback: fc.constantFrom('Follow', 'RequireApproval'),
  quietPeriod: fc.constantFrom('0s', '60s'),
  manual: fc.boolean(),
  supersede: fc.constantFrom('Replace', 'Update'),
  someTargets: fc.boolean(),
  graph: fc.boolean(),
  soak: fc.constantFrom('0s', '10m'),
  verified: fc.boolean(),
})
type Wishes = typeof wishes extends fc.Arbitrary<infer T> ? T : never

const answers = ['ok', 'transient', 'limited', 'permanent', 'lost'] as const
type Answer = (typeof answers)[number]

const happening = fc.record({
  what: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('release', 'merge', 'deploy', 'time') },
    { weight: 1, arbitrary: fc.constantFrom('older', 'close', 'approve', 'refuse', 'retry', 'crash', 'move') },
    { weight: 1, arbitrary: fc.constantFrom('break', 'mend', 'unreachable', 'stale', 'half') },
    { weight: 1, arbitrary: fc.constantFrom('suspend', 'resume', 'freeze', 'thaw', 'drop', 'join') },
    { weight: 1, arbitrary: fc.constantFrom('Promote', 'Rollback', 'Retry', 'Suspend', 'Resume', 'gate') },
  ),
  environment: fc.constantFrom(...names),
  ms: fc.integer({ min: 0, max: 3_000_000 }),
  answer: fc.oneof({ weight: 4, arbitrary: fc.constant<Answer>('ok') }, fc.constantFrom(...answers)),
})
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

function environmentsOf({ someTargets, graph, soak, verified }: Wishes): EnvironmentSpec[] {
  const environment = (name: string, over: Partial<EnvironmentSpec> = {}) => ({
    name,
    targets: [{ namespace: `${name}-a` }, { namespace: `${name}-b` }],
    ...over,
  })
  return [
    environment('dev'),
    environment('staging', someTargets ? { requireTargets: 1 } : {}),
    environment('qa', { dependsOn: [graph ? 'dev' : 'staging'], soak }),
    environment('prod', {
      dependsOn: graph ? ['staging', 'qa'] : ['qa'],
      ...(verified ? { verification: { checks: [{ url: 'https://shop.test/healthz' }] } } : {}),
    }),
  ]
}

function promotionOf({ manual, supersede }: Wishes, baseBranch = 'main'): NonNullable<PipelineSpec['promotion']> {
  const repository = pullRequestPromotion.strategy['pull-request']!
  return { manual, strategy: { 'pull-request': { ...repository, supersede, baseBranch } } }
}

/** A forge, people and a deployer that do as they are told, and count what they are told. */
class Outside {
  readonly world: World
  /** What the base branch holds, by environment. */
  readonly held = new Map(later.map((name) => [name, '1.0.0']))
  /** Whether the check before prod passes. */
  isHealthy = true
  readonly pulls: { state: 'open' | 'merged' | 'closed'; environment: string; id: string; revision: string }[] = []

  constructor(world: World) {
    this.world = world
  }

  /** Does the effect, and finds what was done before. */
  perform({ do: kind, promotion, environment }: Effect): EffectResult {
    const { id, revision, replacesSHA } = promotion
    const known = this.pulls[(promotion.pullRequest?.number ?? 0) - 1]
    if (kind === 'verify')
      return this.isHealthy
        ? { result: 'verified' }
        : { result: 'unverified', message: '503', retryAt: this.world.now + 30_000 }
    if (kind === 'push')
      return this.held.get(environment) === revision
        ? { result: 'applied', because: 'AlreadyApplied', baseSHA: 'base' }
        : pushed
    // On a branch that was taken over, one that was opened for another.
    const isThere = (pull: Outside['pulls'][number]) =>
      pull.id === id || (replacesSHA && pull.state === 'open' && pull.environment === environment)
    if (kind === 'propose') {
      let pull = known?.state === 'open' ? known : this.pulls.find(isThere)
      if (!pull) this.pulls.push((pull = { state: 'open', environment, id, revision }))
      if (pull.state === 'open') Object.assign(pull, { id, revision })
      return { result: 'seen', pullRequest: this.shown(pull) }
    }
    const pull = known ?? this.pulls.find(isThere)
    if (kind === 'poll') {
      this.world.polledAt.set(id, this.world.now)
      return { result: 'seen', pullRequest: this.shown(pull!) }
    }
    if (kind === 'recheck') {
      this.world.polledAt.set(id, this.world.now)
      return { result: 'rechecked', isHeld: this.held.get(environment) === revision }
    }
    if (kind !== 'withdraw') throw new Error(`unexpected ${kind}`)
    if (pull?.state === 'open') pull.state = 'closed'
    return { result: 'withdrawn', ...(pull ? { pullRequest: this.shown(pull) } : {}) }
  }

  shown(pull: Outside['pulls'][number]) {
    return pullRequest(pull.state, this.pulls.indexOf(pull) + 1)
  }

  people(act: 'merged' | 'closed'): void {
    for (const pull of this.open) {
      pull.state = act
      if (act === 'merged') this.held.set(pull.environment, pull.revision)
    }
  }

  deploy(): void {
    for (const { name } of this.world.pipeline.spec.environments)
      if (name !== 'dev') this.world.runs({ [name]: this.held.get(name)! })
  }

  get open(): Outside['pulls'] {
    return this.pulls.filter(({ state }) => state === 'open')
  }
}

const failures: Record<Exclude<Answer, 'ok' | 'lost'>, (now: number) => EffectResult> = {
  transient: () => ({
    result: 'failed',
    error: { class: 'Transient', reason: 'GitProviderUnavailable', message: '502' },
  }),
  permanent: () => ({ result: 'failed', error: { class: 'Permanent', reason: 'CredentialsRefused', message: '401' } }),
  limited: (now) => ({
    result: 'failed',
    error: { class: 'RateLimited', reason: 'RateLimited', message: '429' },
    retryAt: now + 120_000,
  }),
}

/** One reconcile and its effect; the answer may be a refusal, or an error or nothing at all though it was done. */
function act(world: World, outside: Outside, answer: Answer): void {
  const { effect } = world.step()
  // The controller notes on each Approval that it was carried out, once the status says so.
  const carriedOut = new Set(world.status.requests?.map(({ uid }) => uid))
  world.approvals = world.approvals.map((each) =>
    carriedOut.has(each.metadata.uid) ? { ...each, status: { state: 'Counted', reason: 'Requested' } } : each,
  )
  if (!effect) return
  expectSound(world, effect)
  const isDone = answer === 'ok' || answer === 'lost' || answer === 'transient'
  const result = isDone ? outside.perform(effect) : undefined
  if (answer === 'ok') world.record(effect, result!)
  else if (answer !== 'lost') world.record(effect, failures[answer](world.now))
}

function expectSound({ pipeline, frozen, status, targets }: World, { do: kind, environment, promotion }: Effect): void {
  const { suspend, promotion: plan, environments, runPolicy, maxRestarts = 0 } = pipeline.spec
  if (suspend || frozen || status.suspension) expect(['poll', 'recheck', 'withdraw']).toContain(kind)
  if (kind !== 'push' || promotion.attempt > 1) return
  if (environments.find(({ name }) => name === environment)?.verification)
    expect(promotion.verification).toMatchObject({ state: 'Passed' })
  if (plan?.manual) expect(promotion.approvedBy).toEqual(['ann'])
  // A user asked for it: it does not wait for the environments before.
  if (promotion.requestedBy !== undefined) return
  const { dependsOn = [] } = environments.find(({ name }) => name === environment)!
  const isLetFinish = runPolicy === 'Finish' || (status.run?.restarts ?? 0) >= maxRestarts
  for (const before of dependsOn) {
    if (before === 'dev' && isLetFinish) continue
    const needed = environments.find(({ name }) => name === before)?.requireTargets === 1 ? 1 : 2
    const ready = targets[before]!.filter(({ ready, revision }) => ready && revision === promotion.revision)
    expect(ready.length, `${environment} needs ${before}`).toBeGreaterThanOrEqual(needed)
  }
}

function happen(world: World, outside: Outside, { what, environment, ms }: Happening, given: Wishes): void {
  const targets = world.targets[environment]!
  const change = (over: (target: (typeof targets)[number], index: number) => (typeof targets)[number]) =>
    void (world.targets[environment] = targets.map(over))
  const newest = world.targets['dev']!.find(({ revision }) => revision)?.revision ?? '1.0.0'
  const minor = Number(newest.split('.')[1])
  switch (what) {
    case 'release':
      return world.runs({ dev: `1.${minor + 1}.0` })
    case 'older':
      return world.runs({ dev: `1.${Math.max(0, minor - 1)}.0` })
    case 'break':
      return change((target) => ({ ...target, ready: false }))
    case 'mend':
      return change((target) => targetOf(target.revision ?? '1.0.0', { namespace: target.namespace! }))
    case 'unreachable':
      return change((target, index) =>
        index === 0
          ? target
          : targetOf(undefined, { namespace: target.namespace!, ready: false, reason: 'ClusterUnreachable' }),
      )
    case 'stale':
      return change((target) => ({ ...target, ready: false, reason: 'Stale' }))
    case 'half':
      return change((target, index) => (index === 0 ? target : targetOf('1.1.0', { namespace: target.namespace! })))
    case 'suspend':
    case 'resume':
      return world.edit({ suspend: what === 'suspend' })
    case 'freeze':
    case 'thaw':
      return void (world.frozen = what === 'freeze')
    case 'crash':
      return world.polledAt.clear()
    case 'time':
      return void (world.now += ms)
    case 'merge':
      return outside.people('merged')
    case 'close':
      return outside.people('closed')
    case 'deploy':
      return outside.deploy()
    case 'gate':
      return void (outside.isHealthy = !outside.isHealthy)
    case 'Suspend':
    case 'Resume':
      return world.request(what, '*')
    case 'Promote':
      return world.request(what, environment, { revision: `1.${ms % (minor + 1)}.0` })
    case 'Retry':
    case 'Rollback':
      return world.request(what, environment)
    case 'approve':
    case 'refuse':
      return approve(world, what === 'approve' ? 'Approve' : 'Reject')
    case 'retry':
      return world.annotate({ 'sojourn.dev/retry': String(ms) })
    case 'move':
      return world.edit({ promotion: promotionOf(given, `branch-${ms}`) })
    case 'drop':
      return world.edit({
        environments: environmentsOf(given)
          .filter(({ name }) => name !== 'qa')
          .map((each) => (each.name === 'prod' ? { ...each, dependsOn: ['staging'] } : each)),
      })
    case 'join':
      return world.edit({ environments: environmentsOf(given) })
  }
}

function approve(world: World, decision: 'Approve' | 'Reject'): void {
  for (const name of later) if (world.phase(name) === 'AwaitingApproval') world.approve(name, 'ann', decision)
}

/** A pull request that was opened but not recorded, on a branch taken over by a promotion with nothing to do. */
const openedUnheard: [Wishes, Happening[]] = [
  {
    runPolicy: 'Restart',
    maxRestarts: 0,
    rollback: 'Follow',
    quietPeriod: '0s',
    manual: false,
    supersede: 'Update',
    someTargets: false,
    graph: false,
    soak: '0s',
    verified: false,
  },
  (
    [
      ['release', 'ok'],
      ['crash', 'transient'],
      ['older', 'ok'],
      ['release', 'ok'],
      ['retry', 'ok'],
    ] as const
  ).map(([what, answer]) => ({ what, answer, environment: 'dev', ms: 0 })),
]

it('keeps at most one pull request open per environment, promotes only what is ready before, gets there in the end, and leaves nothing open', () => {
  fc.assert(
    fc.property(wishes, fc.array(happening, { maxLength: 80, size: 'max' }), (given, history) => {
      const { runPolicy, maxRestarts, rollback, quietPeriod } = given
      const world = new World(
        pipelineOf({
          runPolicy,
          maxRestarts,
          rollback,
          settle: { quietPeriod, maxWait: '5m' },
          promotion: promotionOf(given),
          environments: environmentsOf(given),
        }),
      )
      const outside = new Outside(world)
      world.runs(Object.fromEntries(names.map((name) => [name, '1.0.0'])))
      let sequence = 0
      for (const each of history) {
        happen(world, outside, each, given)
        act(world, outside, each.answer)
        for (const name of later)
          expect(outside.open.filter(({ environment }) => environment === name).length, name).toBeLessThanOrEqual(1)
        expect(world.status.sequence ?? 0).toBeGreaterThanOrEqual(sequence)
        sequence = world.status.sequence ?? 0
      }
      settleDown(world, outside, given)
      leave(world, outside)
    }),
    { numRuns: Number(process.env['PROMOTER_HISTORIES'] ?? 150), examples: [openedUnheard] },
  )
})

/** A last release, and people who mend, approve, merge and ask again: it has to reach the last environment. */
function settleDown(world: World, outside: Outside, given: Wishes): void {
  const last = '99.0.0'
  world.edit({ suspend: false, environments: environmentsOf(given) })
  world.request('Resume', '*')
  world.frozen = false
  outside.isHealthy = true
  world.runs({ dev: last })
  outside.deploy()
  const hasArrived = () => world.targets['prod']?.every(({ revision }) => revision === last)
  for (let turn = 0; turn < 150 && !hasArrived(); turn++) {
    world.now += 400_000
    act(world, outside, 'ok')
    approve(world, 'Approve')
    outside.people('merged')
    outside.deploy()
    if (turn % 10 === 9) world.annotate({ 'sojourn.dev/retry': `end-${turn}` })
  }
  expect(world.targets['prod'], JSON.stringify(world.status)).toMatchObject([{ revision: last }, { revision: last }])
}

/** Deleted in the middle of a promotion, the pipeline goes once nothing of it is open. */
function leave(world: World, outside: Outside): void {
  world.runs({ dev: '100.0.0' })
  for (let turn = 0; turn < 3; turn++) {
    world.now += 400_000
    act(world, outside, 'ok')
    approve(world, 'Approve')
  }
  const { metadata } = world.pipeline
  world.pipeline = { ...world.pipeline, metadata: { ...metadata, deletionTimestamp: '2026-11-02T12:00:00Z' } }
  for (let turn = 0; turn < 20 && !world.last?.canBeDeleted; turn++) {
    world.now += 400_000
    act(world, outside, 'ok')
  }
  expect(world.last?.canBeDeleted).toBe(true)
  expect(outside.open).toEqual([])
}
