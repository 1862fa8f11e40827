/** The events of one watch, pushed by a test. Ends, fails, or hangs as told. */
export class FakeStream implements AsyncIterable<unknown> {
  readonly #events: unknown[] = []
  #ending: { readonly error: Error | undefined } | undefined
  #wake = () => {}

  push(event: unknown): void {
    this.#events.push(event)
    this.#wake()
  }

  end(): void {
    this.#ending ??= { error: undefined }
    this.#wake()
  }

  fail(error: Error): void {
    this.#ending ??= { error }
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    for (;;) {
      while (this.#events.length > 0) yield this.#events.shift()
      if (this.#ending?.error) throw this.#ending.error
      if (this.#ending) return
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
