import { createHash } from 'node:crypto'
import { pipeline as pipelineKind, type Pipeline } from '../apis/pipeline.ts'
import type { Promotion, PullRequestStatus } from '../apis/pipeline-status.ts'
import type { Client } from '../client/client.ts'
import { ignoring } from '../kube/status-error.ts'
import { parseTime } from '../kube/time.ts'
import { tracked, type Clock } from '../runtime/time/clock.ts'
import type { PromoterOptions } from '../systems/promoter/controller.ts'
import { environmentPlanOf, type TargetPlan } from '../systems/promoter/model/plan.ts'

type Perform = NonNullable<PromoterOptions['perform']>
type Effect = Parameters<Perform>[0]
type Result = Awaited<ReturnType<Perform>>

export interface ForgePorts {
  readonly client: Client
  readonly clock: Clock
  /** How long after it is opened a pull request is merged; Infinity for never. */
  readonly mergesAfterMs: number
  /** How long after the merge, commit or call the targets run the revision; Infinity for never. */
  readonly deliversAfterMs: number
}

/** Replaces forges, webhooks and deployment tools in a forecast: sends nothing; everything succeeds. */
export class RecordedForge {
  readonly #ports: ForgePorts
  /** The revision that each target runs by now. */
  readonly #delivered = new Map<string, string>()

  constructor(ports: ForgePorts) {
    this.#ports = ports
  }

  readonly perform: Perform = (effect, pipeline) => Promise.resolve(this.#perform(effect, pipeline))

  readonly adjustTarget: NonNullable<PromoterOptions['adjustTarget']> = (target, seen) => {
    const revision = this.#delivered.get(targetKey(target))
    return revision === undefined ? seen : { ...seen, ready: true, revision }
  }

  #perform(effect: Effect, pipeline: Pipeline): Result {
    const { promotion } = effect
    const headSHA = promotion.headSHA ?? createHash('sha1').update(promotion.id).digest('hex')
    switch (effect.do) {
      case 'verify':
        return { result: 'verified' }
      case 'inspect':
        return { result: 'inspected', isOwn: false }
      case 'recheck':
        return { result: 'rechecked', isHeld: true }
      case 'push':
        return { result: 'pushed', baseSHA: noCommit, headSHA, value: promotion.value ?? promotion.revision }
      case 'commit':
        this.#deliver(effect, pipeline)
        return { result: 'applied', because: 'Committed', baseSHA: noCommit, headSHA }
      case 'notify':
      case 'call':
        this.#deliver(effect, pipeline)
        return { result: 'notified' }
      case 'propose':
        return { result: 'seen', pullRequest: pullRequestOf(promotion) }
      case 'poll':
        return this.#poll(effect, pipeline)
      case 'withdraw':
        return { result: 'withdrawn', pullRequest: { ...pullRequestOf(promotion), state: 'closed' } }
    }
  }

  #poll(effect: Effect, pipeline: Pipeline): Result {
    const { promotion, environment } = effect
    const { clock, mergesAfterMs } = this.#ports
    const pullRequest = pullRequestOf(promotion)
    const strategy = environmentPlanOf(pipeline, environment)?.promotion?.spec.strategy['pull-request']
    const isMergedByUs = strategy?.autoMerge === true && !pipeline.spec.suspend && !pullRequest.modified
    const mergedAt = isMergedByUs ? 0 : (parseTime(promotion.phaseAt) ?? 0) + mergesAfterMs
    if (clock.now() < mergedAt) return { result: 'seen', pullRequest, lookAgainAt: Math.min(mergedAt, farFuture) }
    this.#deliver(effect, pipeline)
    return { result: 'seen', pullRequest: { ...pullRequest, state: 'merged' } }
  }

  #deliver({ environment, promotion }: Effect, pipeline: Pipeline): void {
    const { clock, client, deliversAfterMs } = this.#ports
    if (deliversAfterMs === Infinity) return
    const { namespace = '', name } = pipeline.metadata
    const touch = {
      metadata: { annotations: { 'sojourn.dev/assumed-rollout': `${environment}@${promotion.revision}` } },
    }
    clock.after(deliversAfterMs, () => {
      for (const target of environmentPlanOf(pipeline, environment)?.targets ?? [])
        this.#delivered.set(targetKey(target), promotion.revision)
      // The delivery changes no object, so no watch would wake the Pipeline: touch it.
      void tracked(clock, () => client.merge(pipelineKind.type, { namespace, name }, touch).catch(ignoring('NotFound')))
    })
  }
}

const noCommit = '0'.repeat(40)
const farFuture = Date.parse('9999-01-01T00:00:00Z')

function pullRequestOf({ pullRequest, strategy }: Promotion): PullRequestStatus {
  return pullRequest ?? { number: 0, url: strategy?.url ?? '', state: 'open' }
}

function targetKey({ cluster, namespace, app }: TargetPlan): string {
  return `${cluster} ${namespace} ${app.apiVersion} ${app.kind} ${app.name}`
}
