/** Lets one through at a time for each key, in the order they came. */
export class Turnstile {
  /** The last one in line for each key that has anybody. */
  readonly #last = new Map<string, Promise<unknown>>()

  async pass<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#last.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}
