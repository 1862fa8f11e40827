import { TransportError } from '../../client/transport-error.ts'
import { formatDuration } from '../../kube/time.ts'
import type { Clock } from './clock.ts'

/** One try at something that must keep showing signs of life: silence for too long ends it. */
export class Attempt {
  readonly #clock: Clock
  readonly #control = new AbortController()
  #silenceMs: number
  #heardAt: number
  #stopWatchdog = () => {}
  readonly #unlink: () => void
  /** Rejects when the attempt is over before its work is. */
  readonly #over: Promise<never>

  constructor(clock: Clock, silenceMs: number, parent: AbortSignal) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#heardAt = clock.monotonic()
    this.#over = new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason as Error), { once: true })
    })
    this.#over.catch(() => {})
    const onAbort = () => this.#control.abort(parent.reason)
    parent.addEventListener('abort', onAbort, { once: true })
    this.#unlink = () => parent.removeEventListener('abort', onAbort)
    if (parent.aborted) onAbort()
    else this.#watch(silenceMs)
  }

  get signal(): AbortSignal {
    return this.#control.signal
  }

  /** A sign of life. */
  heard(): void {
    this.#heardAt = this.#clock.monotonic()
  }

  /** From now on, that much silence is too much. */
  allowSilence(silenceMs: number): void {
    this.#silenceMs = silenceMs
    this.heard()
  }

  /** Runs work that ends with the attempt at the latest, even if it does not heed the signal. */
  run<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
    return Promise.race([work(this.signal), this.#over])
  }

  /** Ends whatever is still under way. */
  end(reason: unknown = new Error('the attempt is over')): void {
    this.#stopWatchdog()
    this.#unlink()
    this.#control.abort(reason)
  }

  // One timer that looks back, rather than one per sign of life.
  #watch(inMs: number): void {
    this.#stopWatchdog = this.#clock.after(inMs, () => {
      const leftMs = this.#heardAt + this.#silenceMs - this.#clock.monotonic()
      if (leftMs > 0) this.#watch(leftMs)
      else this.end(new SilenceError(`the server was silent for ${formatDuration(this.#silenceMs)}`))
    })
  }
}

/** The other side has said nothing for too long. */
export class SilenceError extends TransportError {}
