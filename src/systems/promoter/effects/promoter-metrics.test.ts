import { describe, expect, it } from 'vitest'
import { Metrics } from '../../../runtime/observability/metrics.ts'
import { environments, pipelineOf, targetOf, World } from '../../../../test/promoter/world.ts'
import type { PipelineStatus } from '../../../apis/pipeline-status.ts'
import { measureStatus, promoterMetrics } from './promoter-metrics.ts'

const minute = 60_000

/** A pipeline in memory whose every written status is measured, as the promoter does. */
class MeasuredWorld extends World {
  readonly registry = new Metrics()
  readonly #metrics = promoterMetrics(this.registry)

  constructor() {
    super(pipelineOf({ environments: environments('dev', 'prod') }))
    this.runs({ dev: '1.0.0', prod: '1.0.0' })
    this.measured(() => this.step())
  }

  measured(change: () => unknown): void {
    const before: PipelineStatus | undefined = this.pipeline.status
    change()
    measureStatus(this.#metrics, { pipeline: this.pipeline, before, after: this.status, now: this.now })
  }

  override step(afterMs = 0) {
    let decision: ReturnType<World['step']> | undefined
    if (!this.registry) return super.step(afterMs)
    this.measured(() => (decision = super.step(afterMs)))
    return decision!
  }

  override record(...given: Parameters<World['record']>): void {
    this.measured(() => super.record(...given))
  }

  /** The revision gets into dev and, by a merged pull request, into the repository of prod. */
  deliver(revision: string): void {
    this.runs({ dev: revision })
    this.step(minute)
    this.merge()
    this.step()
  }

  /** The lines of a metric for prod, without help and buckets. */
  prod(name: string): string[] {
    const place = 'namespace="team",pipeline="app",environment="prod"'
    return this.registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith(`sojourn_promoter_${name}`) && line.includes(place) && !line.includes('le="'))
      .map((line) => line.replace(place, '').replace('{,', '{').replace('sojourn_promoter_', ''))
  }
}

describe('the DORA figures of a pipeline', () => {
  it('count a deployment once, with its lead time from when the first environment had the revision', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.runs({ prod: '1.1.0' })
    world.step(10 * minute)
    for (let again = 0; again < 3; again++) world.step(minute)
    expect(world.prod('deployments_total')).toEqual(['deployments_total{result="succeeded"} 1'])
    expect(world.prod('lead_time_seconds')).toEqual(['lead_time_seconds_sum{} 600', 'lead_time_seconds_count{} 1'])
  })

  it('count a deployment that arrives in the moment in which a newer revision starts its run', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.runs({ dev: '1.2.0', prod: '1.1.0' })
    world.step(minute)
    expect(world.prod('deployments_total')).toEqual(['deployments_total{result="succeeded"} 1'])
  })

  it('count a roll-out that timed out as one failed deployment, even if it becomes healthy later', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.targets['prod'] = [targetOf('1.1.0', { namespace: 'prod', ready: false })]
    world.step(40 * minute)
    expect(world.promotion('prod')?.because).toBe('RolloutTimedOut')
    world.runs({ prod: '1.1.0' })
    world.step(minute)
    expect(world.prod('deployments_total')).toEqual(['deployments_total{result="failed"} 1'])
    expect(world.prod('lead_time_seconds_count')).toEqual(['lead_time_seconds_count{} 1'])
  })

  it('count a change that was reverted in the repository as a failed deployment', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.answer('recheck', { result: 'rechecked', isHeld: false }, 6 * minute)
    expect(world.promotion('prod')?.because).toBe('ChangeReverted')
    world.step(minute)
    expect(world.prod('deployments_total')).toEqual(['deployments_total{result="failed"} 1'])
  })

  it('count a rollback as such', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.runs({ prod: '1.1.0' })
    world.step(minute)
    world.request('Rollback', 'prod')
    world.step(minute)
    world.merge(2)
    world.runs({ prod: '1.0.0' })
    world.step(minute)
    expect(world.prod('deployments_total')).toEqual([
      'deployments_total{result="succeeded"} 1',
      'deployments_total{result="rolled-back"} 1',
    ])
  })

  it('count no deployment of what never left the repository', () => {
    const world = new MeasuredWorld()
    world.runs({ dev: '1.1.0' })
    const error = { class: 'Permanent', reason: 'MarkerNotFound', message: 'no marker' } as const
    for (let again = 0; again < 3; again++) world.answer('push', { result: 'failed', error }, 6 * minute)
    expect(world.phase('prod')).toBe('Failed')
    expect(world.prod('deployments_total')).toEqual([])
  })

  it('take the time of an outage as the time to restore, and no roll-out for an outage', () => {
    const world = new MeasuredWorld()
    world.deliver('1.1.0')
    world.targets['prod'] = [targetOf('1.0.0', { namespace: 'prod', ready: false })]
    world.step(minute)
    world.runs({ prod: '1.1.0' })
    world.step(minute)
    expect(world.prod('restore_seconds')).toEqual([])
    world.targets['prod'] = [targetOf('1.1.0', { namespace: 'prod', ready: false })]
    world.step(minute)
    world.runs({ prod: '1.1.0' })
    world.step(15 * minute)
    expect(world.prod('restore_seconds')).toEqual(['restore_seconds_sum{} 900', 'restore_seconds_count{} 1'])
  })

  it('take an outage that a newer revision ends, from its beginning', () => {
    const world = new MeasuredWorld()
    world.targets['prod'] = [targetOf('1.0.0', { namespace: 'prod', ready: false })]
    world.step(minute)
    world.runs({ dev: '1.1.0' })
    world.step(20 * minute)
    world.merge()
    world.runs({ prod: '1.1.0' })
    world.step(10 * minute)
    expect(world.prod('restore_seconds')).toEqual(['restore_seconds_sum{} 1800', 'restore_seconds_count{} 1'])
  })
})
