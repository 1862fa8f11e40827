import type { Clock } from '../../runtime/time/clock.ts'
import type { Probe } from '../types.ts'
import { runHandler, type HandlerTarget } from './handler.ts'

export interface ProberOptions {
  readonly target: HandlerTarget
  readonly clock: Clock
  /** The assumed result before the first probe; if unset, the first result is reported either way. */
  readonly initially?: boolean
  /** `problem` describes the last failure. */
  readonly onChange: (isHealthy: boolean, problem?: string) => void
}

/** Probes a container periodically, and reports when enough results in a row differ from the last reported one. */
export class Prober {
  readonly #probe: Probe
  readonly #options: ProberOptions
  #cancel: () => void
  /** The last reported result. */
  #isHealthy: boolean | undefined
  #lastResult: boolean | undefined
  /** Equal results in a row. */
  #streak = 0
  /** Failures before this time come from extra probes between two periods and do not count. */
  #countsAt = 0
  #isStopped = false

  constructor(probe: Probe, options: ProberOptions) {
    this.#probe = probe
    this.#options = options
    this.#isHealthy = options.initially
    this.#cancel = options.clock.after((probe.initialDelaySeconds ?? 0) * 1000, () => void this.#run())
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  async #run(): Promise<void> {
    const { target, clock } = this.#options
    const problem = await runHandler(this.#probe, target, (this.#probe.timeoutSeconds ?? 1) * 1000)
    if (this.#isStopped) return
    this.#evaluate(problem)
    // Reporting the result may have stopped this prober.
    if (this.#isStopped) return
    const periodMs = this.#periodMs
    // While it fails, probe more often than the period asks: a request may be waiting for this container.
    this.#cancel = clock.after(this.#isHealthy ? periodMs : Math.min(periodMs, 250), () => void this.#run())
  }

  get #periodMs(): number {
    return Math.max(0.1, this.#probe.periodSeconds ?? 10) * 1000
  }

  #evaluate(problem: string | undefined): void {
    const isHealthy = problem === undefined
    const now = this.#options.clock.now()
    if (!isHealthy && now < this.#countsAt) return
    // Timers may fire a few milliseconds early.
    if (!isHealthy) this.#countsAt = now + this.#periodMs * 0.95
    this.#streak = isHealthy === this.#lastResult ? this.#streak + 1 : 1
    this.#lastResult = isHealthy
    if (isHealthy === this.#isHealthy) return
    const needed = isHealthy ? (this.#probe.successThreshold ?? 1) : (this.#probe.failureThreshold ?? 3)
    if (this.#streak < needed) return
    this.#isHealthy = isHealthy
    this.#options.onChange(isHealthy, problem)
  }
}
