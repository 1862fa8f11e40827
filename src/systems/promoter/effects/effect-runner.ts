import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import { placeOf } from '../../../kube/object.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { Client } from '../../../client/client.ts'
import { deepEqual } from '../../../kube/patch.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { sleep, tracked, type Clock } from '../../../runtime/time/clock.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Random } from '../../../runtime/time/random.ts'
import { perform, type ActPorts } from './act.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import type { Effect } from '../decision/effects.ts'
import { parseRepositoryURL } from '../../../git/repository-url.ts'
import { measurePhase, type PromoterMetrics } from './promoter-metrics.ts'
import { recordResult, type EffectResult } from '../decision/results.ts'

export interface RunnerPorts {
  readonly client: Client
  readonly act: ActPorts
  /** Carries effects out. Defaults to the real thing. */
  readonly perform?: typeof perform
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly events: EventRecorder
  readonly metrics: PromoterMetrics
  /** An effect has ended: the pipeline is worth another look. */
  readonly ended: (pipeline: Pipeline) => void
  readonly signal: AbortSignal
}

const atOncePerHost = 4
const timeoutMs = 120_000
const writeTries = 8
const unrecordedMs = 10_000

/** Carries recorded effects out, a few at a time per host, so that a slow forge delays only those who wait for it. */
export class EffectRunner {
  readonly #ports: RunnerPorts
  readonly #busy = new Set<string>()
  readonly #polledAt = new BoundedMap<string, number>(10_000)
  /** What waits for its turn, by host. Subset of `busy`. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #running = new Map<string, number>()

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  /** Promotions that are being worked on, or wait for it. */
  get busy(): ReadonlySet<string> {
    return this.#busy
  }

  /** When each open pull request was last looked at. */
  get polledAt(): ReadonlyMap<string, number> {
    return this.#polledAt
  }

  /** Look at open pull requests again soon, for instance because somebody says that one has changed. */
  forgetPolls(ids: Iterable<string>): void {
    for (const id of ids) this.#polledAt.delete(id)
  }

  /** Starts an effect whose intent has been written. */
  start(effect: Effect, pipeline: Pipeline): void {
    const { id } = effect.promotion
    if (this.#busy.has(id)) return
    this.#busy.add(id)
    // A turn is waited for outside: those who have it may wait for the clock.
    void this.#turn(hostOf(effect.promotion)).then(() => tracked(this.#ports.clock, () => this.#run(effect, pipeline)))
  }

  async #run(effect: Effect, pipeline: Pipeline): Promise<void> {
    const { log, clock, ended, signal } = this.#ports
    const { id } = effect.promotion
    let isRecorded = true
    try {
      const result = await this.#perform(effect, pipeline)
      if (effect.do === 'poll') this.#polledAt.set(id, clock.now())
      await this.#record(effect, pipeline, result)
    } catch (error) {
      // Stopped in the middle: whoever goes on finds what was done.
      isRecorded = signal.aborted
      if (!isRecorded)
        log.error('promotion could not be recorded', { pipeline: nameOf(pipeline), promotion: id, error })
    } finally {
      this.#next(hostOf(effect.promotion))
    }
    // What cannot be written down would be done again at once, and again.
    if (!isRecorded) await sleep(clock, unrecordedMs, signal).catch(() => undefined)
    this.#busy.delete(id)
    ended(pipeline)
  }

  async #perform(effect: Effect, pipeline: Pipeline): Promise<EffectResult> {
    const { act, clock, metrics, signal } = this.#ports
    const deadline = new AbortController()
    const cancel = clock.after(timeoutMs, () => deadline.abort(new Error(`not done within ${timeoutMs} ms`)))
    const startedAt = clock.monotonic()
    try {
      const carryOut = this.#ports.perform ?? perform
      const result = await carryOut(effect, pipeline, {
        ports: act,
        signal: AbortSignal.any([signal, deadline.signal]),
      })
      metrics.effects.inc({ do: effect.do, result: result.result })
      metrics.effectSeconds.observe({ do: effect.do }, (clock.monotonic() - startedAt) / 1000)
      return result
    } finally {
      cancel()
    }
  }

  /** Writes the result into the record, as it is by then; what has moved on is left alone. */
  async #record(effect: Effect, { metadata }: Pipeline, result: EffectResult): Promise<void> {
    const { client, clock, random, signal } = this.#ports
    const place = placeOf(metadata)
    for (let attempt = 1; ; attempt++) {
      const current = await client.get<Pipeline>(pipelineKind.type, place, { signal }).catch(ignoring('NotFound'))
      if (!current || current.metadata.uid !== metadata.uid) return
      const status = recordResult(current.status ?? {}, { effect, result }, { now: clock.now(), random })
      if (!status || deepEqual(status, current.status)) return
      try {
        await client.update(pipelineKind.type, { ...current, status }, { subresource: 'status', signal })
        return this.#tell(effect, current, status.environments?.[effect.environment]?.promotion)
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || attempt >= writeTries) throw error
        await sleep(clock, 20 * attempt, signal)
      }
    }
  }

  #tell({ environment, promotion: before }: Effect, pipeline: Pipeline, promotion: Promotion | undefined): void {
    measurePhase(this.#ports.metrics, before, promotion)
    if (!promotion || (promotion.phase === before.phase && promotion.because === before.because)) return
    const { events, log, metrics } = this.#ports
    const because = promotion.because as Because
    const { phase, id, revision, lastError, pullRequest } = promotion
    const message = `${environment}: promotion ${id} of ${revision} is ${phase}: ${lastError?.message ?? sentenceOf(because)}${pullRequest ? ` (${pullRequest.url})` : ''}`
    const bad = phase === 'Failed' || phase === 'Rejected'
    events.record(pipeline, { type: bad ? 'Warning' : 'Normal', reason: because, message })
    metrics.announcements.inc({ because })
    log.info('promotion moved', { pipeline: nameOf(pipeline), environment, promotion: id, phase, because })
  }

  /** Resolves when this host has room for one more. */
  #turn(host: string): Promise<void> {
    const running = this.#running.get(host) ?? 0
    if (running < atOncePerHost) {
      this.#running.set(host, running + 1)
      return Promise.resolve()
    }
    const queue = this.#waiting.get(host) ?? []
    this.#waiting.set(host, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  /** Hands the place on, or gives it up. */
  #next(host: string): void {
    const next = this.#waiting.get(host)?.shift()
    if (next) return next()
    const running = (this.#running.get(host) ?? 1) - 1
    if (running > 0) this.#running.set(host, running)
    else this.#running.delete(host)
    this.#waiting.delete(host)
  }
}

function hostOf({ strategy }: Promotion): string {
  return parseRepositoryURL(strategy?.url ?? '')?.host ?? ''
}

function nameOf({ metadata }: Pipeline): string {
  return `${metadata.namespace}/${metadata.name}`
}
