import { approval as approvalKind, type Approval } from '../../src/apis/approval.ts'
import type { EnvironmentSpec, Pipeline, PipelineSpec, PromotionSpec } from '../../src/apis/pipeline.ts'
import type { PipelineStatus, Promotion, TargetStatus } from '../../src/apis/pipeline-status.ts'
import { formatTime, parseTime } from '../../src/kube/time.ts'
import { decide, type Decision } from '../../src/systems/promoter/decision/decide.ts'
import type { Announcement, Observed } from '../../src/systems/promoter/decision/draft.ts'
import type { Effect } from '../../src/systems/promoter/decision/effects.ts'
import { recordResult, type EffectResult } from '../../src/systems/promoter/decision/results.ts'

/** The start time of every test. */
export const start = parseTime('2026-11-02T12:00:00Z')!

export const pullRequestPromotion: PromotionSpec = {
  strategy: {
    'pull-request': {
      type: 'github',
      url: 'https://git.test/acme/deploy',
      baseBranch: 'main',
      secretRef: { name: 'git' },
    },
  },
}

/** A pipeline dev → staging → prod, promoted by pull request, that does not wait for revisions to settle. */
export function pipelineOf(spec: Partial<PipelineSpec> = {}): Pipeline {
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: {
      name: 'app',
      namespace: 'team',
      uid: 'uid-1',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-11-02T12:00:00Z',
    },
    spec: {
      appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'app' },
      environments: environments('dev', 'staging', 'prod'),
      promotion: pullRequestPromotion,
      settle: { quietPeriod: '0s' },
      ...spec,
    },
  }
}

export function environments(...names: string[]): EnvironmentSpec[] {
  return names.map((name) => ({ name, targets: [{ namespace: name }] }))
}

/** A target as an adapter would report it, healthy unless told otherwise. */
export function targetOf(revision: string | undefined, over: Partial<TargetStatus> = {}): TargetStatus {
  return {
    namespace: 'any',
    kind: 'HelmRelease',
    name: 'app',
    ready: true,
    reason: revision === undefined ? 'RevisionUnknown' : 'Found',
    ...(revision === undefined ? {} : { revision }),
    ...over,
  }
}

/** A pipeline in memory. The test sets the targets, the results of effects and the time. */
export class World {
  pipeline: Pipeline
  now = start
  targets: Record<string, TargetStatus[]> = {}
  frozen = false
  dryRun = false
  secretVersions: Record<string, string> = {}
  approvals: Approval[] = []
  readonly busy = new Set<string>()
  readonly polledAt = new Map<string, number>()
  readonly heard: Announcement[] = []
  last: Decision | undefined

  constructor(pipeline = pipelineOf()) {
    this.pipeline = pipeline
  }

  get status(): PipelineStatus {
    return this.pipeline.status ?? {}
  }

  /** All that a decision depends on beside the time. */
  get observed(): Observed {
    const { pipeline, targets, frozen, dryRun, busy, polledAt, secretVersions, approvals } = this
    return { pipeline, targets, frozen, dryRun, busy, polledAt, secretVersions, approvals }
  }

  promotion(environment: string): Promotion | undefined {
    return this.status.environments?.[environment]?.promotion
  }

  phase(environment: string): Promotion['phase'] | undefined {
    return this.promotion(environment)?.phase
  }

  condition(type: string) {
    return this.status.conditions?.find((condition) => condition.type === type)
  }

  /** Sets every target of these environments to a healthy revision. */
  runs(revisions: Record<string, string>): void {
    for (const [name, revision] of Object.entries(revisions)) {
      const environment = this.pipeline.spec.environments.find((each) => each.name === name)
      this.targets[name] = (environment?.targets ?? []).map(({ namespace, clusterRef }) =>
        targetOf(revision, { namespace, ...(clusterRef ? { cluster: `team/${clusterRef.name}` } : {}) }),
      )
    }
  }

  edit(spec: Partial<PipelineSpec>): void {
    const generation = (this.pipeline.metadata.generation ?? 0) + 1
    this.pipeline = {
      ...this.pipeline,
      metadata: { ...this.pipeline.metadata, generation },
      spec: { ...this.pipeline.spec, ...spec },
    }
  }

  annotate(annotations: Record<string, string>): void {
    this.pipeline = { ...this.pipeline, metadata: { ...this.pipeline.metadata, annotations } }
  }

  /** A user approves or rejects the current promotion of an environment. */
  approve(environment: string, approver: string, decision: 'Approve' | 'Reject' = 'Approve'): void {
    const promotionId = this.promotion(environment)?.id ?? ''
    this.approvals.push({
      apiVersion: approvalKind.apiVersion,
      kind: approvalKind.kind,
      metadata: {
        namespace: 'team',
        name: `a${this.approvals.length}`,
        uid: `approval-${this.approvals.length}`,
        resourceVersion: '1',
        creationTimestamp: formatTime(this.now),
      },
      spec: { pipeline: 'app', environment, promotionId, decision, approver },
    })
  }

  /** A user asks for something. */
  request(
    decision: Exclude<Approval['spec']['decision'], 'Approve' | 'Reject'>,
    environment: string,
    { by = 'ann', revision }: { by?: string; revision?: string } = {},
  ): void {
    this.approve(environment, by)
    const { metadata, spec, ...rest } = this.approvals.pop()!
    const { promotionId: _, ...about } = spec
    this.approvals.push({ ...rest, metadata, spec: { ...about, decision, ...(revision ? { revision } : {}) } })
  }

  /** One reconcile: decides and writes the status. */
  step(afterMs = 0): Decision {
    this.now += afterMs
    const decision = decide(this.observed, this.now)
    this.pipeline = { ...this.pipeline, status: decision.status }
    this.heard.push(...decision.announcements)
    this.last = decision
    return decision
  }

  /** One reconcile whose effect must be this one, then its result is recorded. */
  answer(expected: string, result: EffectResult, afterMs = 0): void {
    const { effect } = this.step(afterMs)
    if (effect?.do !== expected) throw new Error(`expected ${expected}, got ${effect?.do ?? 'no effect'}`)
    if (effect.do === 'poll') this.polledAt.set(effect.promotion.id, this.now)
    this.record(effect, result)
  }

  /** Writes a result down, if it still counts. */
  record(effect: Effect, result: EffectResult): void {
    const status = recordResult(this.status, { effect, result }, { now: this.now, random: () => 0.5 })
    if (status) this.pipeline = { ...this.pipeline, status }
  }

  /** Carries a promotion by pull request through to the merge. */
  merge(number = 1): void {
    this.answer('push', pushed)
    this.answer('propose', { result: 'seen', pullRequest: pullRequest('open', number) })
    this.answer('poll', { result: 'seen', pullRequest: pullRequest('merged', number) })
  }
}

export const pushed: EffectResult = { result: 'pushed', baseSHA: 'base', headSHA: 'head', value: 'v' }

export function pullRequest(state: 'open' | 'merged' | 'closed', number = 1) {
  return { number, url: `https://git.test/acme/deploy/pull/${number}`, state }
}
