import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { Clock } from '../../store/clock.ts'

interface LoopOptions {
  readonly clock: Clock
  readonly work: (key: string) => Promise<void>
  readonly onError: (error: unknown, key: string) => void
}

/** Processes keys one at a time, each at least once after it was last added. Retries failed keys with backoff. */
export class KeyedLoop {
  readonly #options: LoopOptions
  readonly #ready = new Set<string>()
  readonly #failures = new Map<string, number>()
  /** Cancels the retries that are waiting. */
  readonly #waiting = new Set<() => void>()
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(options: LoopOptions) {
    this.#options = options
  }

  add(key: string): void {
    if (this.#isClosed) return
    this.#ready.add(key)
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
  }

  /** Starts no more work and resolves when the current work has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#ready.clear()
    for (const cancel of this.#waiting) cancel()
    await this.#running
  }

  async #run(): Promise<void> {
    // The caller may be inside the store's notification; work starts after it.
    await Promise.resolve()
    for (const key of this.#ready) {
      this.#ready.delete(key)
      try {
        await this.#options.work(key)
        this.#failures.delete(key)
      } catch (error) {
        if (this.#isClosed) return
        this.#options.onError(error, key)
        this.#retry(key)
      }
    }
  }

  #retry(key: string): void {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const delayMs = backoffDelay(failures, { baseMs: 200, maxMs: 30_000 })
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#waiting.delete(cancel)
      this.add(key)
    })
    this.#waiting.add(cancel)
  }
}
