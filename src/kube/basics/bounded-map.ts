/** A Map that drops its oldest entry to stay within a limit. Setting a key again makes it the newest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number

  constructor(limit: number) {
    super()
    this.#limit = limit
  }

  override set(key: K, value: V): this {
    this.delete(key)
    if (this.size >= this.#limit) this.delete(this.keys().next().value as K)
    return super.set(key, value)
  }
}
