import type { Clock } from '../../runtime/time/clock.ts'
import type { Probe } from '../types.ts'
import { call, type HandlerTarget } from './handler.ts'

export interface ProberOptions {
  readonly target: HandlerTarget
  readonly clock: Clock
  /** What holds before the first answer; without it, either verdict is told. */
  readonly initially?: boolean
  /** `problem` says what was wrong with the last answer. */
  readonly onChange: (isFine: boolean, problem?: string) => void
}

/** Asks a container again and again how it is, and tells when enough answers in a row say otherwise than before. */
export class Prober {
  readonly #probe: Probe
  readonly #options: ProberOptions
  #cancel: () => void
  /** What was last told. */
  #isFine: boolean | undefined
  #lastAnswer: boolean | undefined
  /** Answers in a row that are alike. */
  #streak = 0
  /** Failures before then are asked for out of turn and do not count. */
  #countsAt = 0
  #isStopped = false

  constructor(probe: Probe, options: ProberOptions) {
    this.#probe = probe
    this.#options = options
    this.#isFine = options.initially
    this.#cancel = options.clock.after((probe.initialDelaySeconds ?? 0) * 1000, () => void this.#ask())
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  async #ask(): Promise<void> {
    const { target, clock } = this.#options
    const problem = await call(this.#probe, target, (this.#probe.timeoutSeconds ?? 1) * 1000)
    if (this.#isStopped) return
    this.#note(problem)
    // Its own verdict may have ended it.
    if (this.#isStopped) return
    const periodMs = this.#periodMs
    // Until it first serves, a second is long: somebody may be waiting for it.
    this.#cancel = clock.after(this.#isFine ? periodMs : Math.min(periodMs, 250), () => void this.#ask())
  }

  get #periodMs(): number {
    return Math.max(0.1, this.#probe.periodSeconds ?? 10) * 1000
  }

  #note(problem: string | undefined): void {
    const isFine = problem === undefined
    const now = this.#options.clock.now()
    if (!isFine && now < this.#countsAt) return
    // A timer may be some milliseconds early.
    if (!isFine) this.#countsAt = now + this.#periodMs * 0.95
    this.#streak = isFine === this.#lastAnswer ? this.#streak + 1 : 1
    this.#lastAnswer = isFine
    if (isFine === this.#isFine) return
    const needed = isFine ? (this.#probe.successThreshold ?? 1) : (this.#probe.failureThreshold ?? 3)
    if (this.#streak < needed) return
    this.#isFine = isFine
    this.#options.onChange(isFine, problem)
  }
}
