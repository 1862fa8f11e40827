/** Runs tasks one at a time for each key, in the order they were given. A task that fails does not stop the next. */
export class Serializer {
  /** The last task of each key that has any. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Tells the task whether it had to wait: what its caller read before may be outdated. */
  async run<T>(key: string, task: (hasWaited: boolean) => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const start = () => task(before !== undefined)
    const turn = (before ?? Promise.resolve()).then(start, start)
    this.#last.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}
