import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../../apis/pipeline.ts'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import { BoundedMap } from '../../../kube/basics/bounded-map.ts'
import { placeOf } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { sleep, tracked } from '../../../runtime/time/clock.ts'
import type { Effect } from '../decision/effects.ts'
import { phaseAnnouncement } from '../decision/promotions.ts'
import { recordResult, type EffectResult } from '../decision/results.ts'
import { parseRepositoryURL } from '../../../git/repository-url.ts'
import { publishAnnouncements, type AnnouncePorts, measureStatus } from './promoter-metrics.ts'

/** Carries out one effect and must not throw. `performEffect` in production; a forecast simulates effects. */
export type Perform = (effect: Effect, pipeline: Pipeline, signal: AbortSignal) => Promise<EffectResult>

export interface RunnerPorts extends AnnouncePorts, Pick<ProcessParts, 'client' | 'clock' | 'random'> {
  readonly perform: Perform
  /** Called when an effect has ended, so that the pipeline is reconciled again. */
  readonly onEnd: (pipeline: Pipeline) => void
  readonly signal: AbortSignal
}

const maxPerHost = 4
const timeoutMs = 120_000
const maxWriteAttempts = 8
const unrecordedDelayMs = 10_000

/** Runs recorded effects in the background, a few at a time per host: a slow forge delays only its own pipelines. */
export class EffectRunner {
  readonly #ports: RunnerPorts
  readonly #busy = new Set<string>()
  /** Bounded: forgetting the oldest entry only causes one poll too many. */
  readonly #polledAt = new BoundedMap<string, number>(10_000)
  /** Effects waiting for a slot, by host. Their promotions are in `busy`. */
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #running = new Map<string, number>()

  constructor(ports: RunnerPorts) {
    this.#ports = ports
  }

  /** Promotions with an effect that is running or waiting for a slot. */
  get busy(): ReadonlySet<string> {
    return this.#busy
  }

  /** When each open pull request was last polled. */
  get polledAt(): ReadonlyMap<string, number> {
    return this.#polledAt
  }

  /** Makes these pull requests due for a poll, for instance after a webhook hint. */
  forgetPolls(ids: Iterable<string>): void {
    for (const id of ids) this.#polledAt.delete(id)
  }

  /** Starts an effect. Its intent must have been written to the status before. */
  start(effect: Effect, pipeline: Pipeline): void {
    const { id } = effect.promotion
    if (this.#busy.has(id)) return
    this.#busy.add(id)
    // Waiting for a slot is not tracked: a virtual clock could not advance for the effects that hold the slots.
    const slot = this.#acquireSlot(hostOf(effect.promotion))
    void slot.then(() => tracked(this.#ports.clock, () => this.#run(effect, pipeline)))
  }

  async #run(effect: Effect, pipeline: Pipeline): Promise<void> {
    const { log, clock, onEnd, signal } = this.#ports
    const { id } = effect.promotion
    let isRecorded = true
    try {
      const result = await this.#perform(effect, pipeline)
      if (effect.do === 'poll' || effect.do === 'recheck') this.#polledAt.set(id, clock.now())
      await this.#record(effect, pipeline, result)
    } catch (error) {
      // When the process is stopping, its successor repeats the effect and finds what was done.
      isRecorded = signal.aborted
      if (!isRecorded) {
        const { namespace, name } = pipeline.metadata
        log.error('could not record a promotion', { pipeline: `${namespace}/${name}`, promotion: id, error })
      }
    } finally {
      this.#releaseSlot(hostOf(effect.promotion))
    }
    // An effect whose result could not be written is still due; without a delay it would repeat in a tight loop.
    if (!isRecorded) await sleep(clock, unrecordedDelayMs, signal).catch(() => undefined)
    this.#busy.delete(id)
    onEnd(pipeline)
  }

  async #perform(effect: Effect, pipeline: Pipeline): Promise<EffectResult> {
    const { perform, clock, metrics, signal } = this.#ports
    const deadline = new AbortController()
    const cancel = clock.after(timeoutMs, () => deadline.abort(new Error(`timed out after ${timeoutMs} ms`)))
    const startedAt = clock.monotonic()
    try {
      const result = await perform(effect, pipeline, AbortSignal.any([signal, deadline.signal]))
      metrics.effects.inc({ do: effect.do, result: result.result })
      metrics.effectSeconds.observe({ do: effect.do }, (clock.monotonic() - startedAt) / 1000)
      return result
    } finally {
      cancel()
    }
  }

  /** Writes the result into the current status. A promotion that has moved on since is left unchanged. */
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
        const change = { pipeline: current, before: current.status, after: status, now: clock.now() }
        measureStatus(this.#ports.metrics, change)
        return this.#announce(effect, current, status.environments?.[effect.environment]?.promotion)
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || attempt >= maxWriteAttempts) throw error
        await sleep(clock, 20 * attempt, signal)
      }
    }
  }

  #announce({ environment, promotion: before }: Effect, pipeline: Pipeline, after: Promotion | undefined): void {
    if (!after || (after.phase === before.phase && after.because === before.because)) return
    // Tried again at each interval, with the same error: that was announced before.
    if (after.phase === 'Failed' && after.lastError?.message === before.lastError?.message) return
    publishAnnouncements(pipeline, [phaseAnnouncement(environment, after)], this.#ports)
  }

  /** Resolves when the host has a free slot. */
  #acquireSlot(host: string): Promise<void> {
    const running = this.#running.get(host) ?? 0
    if (running < maxPerHost) {
      this.#running.set(host, running + 1)
      return Promise.resolve()
    }
    const queue = this.#waiting.get(host) ?? []
    this.#waiting.set(host, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  /** Passes the slot to the next waiting effect, or frees it. */
  #releaseSlot(host: string): void {
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
