import type { Watch, WatchEventText, WatchSink } from '../../objects/contract/request.ts'
import type { Presentation } from './presentation.ts'

/** The number of buffered events at which the watch pauses. */
const bufferLimit = 1000

/** A watch as an async iterable for a reader in the same process. A slow reader pauses the watch. */
export class EventStream implements AsyncIterable<unknown>, WatchSink {
  readonly #as: Presentation
  readonly #watch: Watch
  readonly #signal: AbortSignal | undefined
  #buffer: WatchEventText[] = []
  #isFirst = true
  #isPaused = false
  #isEnded = false
  #wake: (() => void) | undefined

  constructor(open: (sink: WatchSink) => Watch, as: Presentation, signal?: AbortSignal) {
    this.#as = as
    this.#signal = signal
    this.#watch = open(this)
    if (signal?.aborted) this.#stop()
    else signal?.addEventListener('abort', this.#stop, { once: true })
  }

  deliver(events: readonly WatchEventText[]): boolean {
    this.#buffer.push(...events)
    this.#isPaused = this.#buffer.length >= bufferLimit
    this.#wake?.()
    return !this.#isPaused
  }

  end(): void {
    this.#isEnded = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    try {
      for (;;) {
        const events = this.#buffer
        this.#buffer = []
        for (const event of events) {
          if (this.#signal?.aborted) return
          yield this.#shown(event)
        }
        if (this.#isPaused) {
          this.#isPaused = false
          this.#watch.resume()
        }
        if (this.#buffer.length > 0) continue
        if (this.#isEnded) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
        this.#wake = undefined
      }
    } finally {
      this.#signal?.removeEventListener('abort', this.#stop)
      this.#watch.close()
    }
  }

  /** Bound, because it is also the listener of the abort signal. */
  readonly #stop = (): void => {
    this.#watch.close()
    this.end()
  }

  #shown(event: WatchEventText): unknown {
    const object = this.#as.event(event, this.#isFirst)
    this.#isFirst = false
    return { type: event.type, object }
  }
}
