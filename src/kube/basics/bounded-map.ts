/** A Map that drops its oldest entries to stay within a limit: a number, or a sum of sizes. Setting a key again makes it the newest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number
  readonly #sizeOf: (key: K, value: V) => number
  #total = 0

  constructor(limit: number, sizeOf: (key: K, value: V) => number = () => 1) {
    super()
    this.#limit = limit
    this.#sizeOf = sizeOf
  }

  /** An entry larger than the limit is not kept. */
  override set(key: K, value: V): this {
    this.delete(key)
    const size = this.#sizeOf(key, value)
    if (size > this.#limit) return this
    while (this.#total + size > this.#limit) this.delete(this.keys().next().value as K)
    this.#total += size
    return super.set(key, value)
  }

  override delete(key: K): boolean {
    if (!this.has(key)) return false
    this.#total -= this.#sizeOf(key, this.get(key) as V)
    return super.delete(key)
  }

  override clear(): void {
    this.#total = 0
    super.clear()
  }

  /** By `set`, which the one of Map passes by. */
  override getOrInsertComputed(key: K, create: (key: K) => V): V {
    if (this.has(key)) return this.get(key) as V
    const value = create(key)
    this.set(key, value)
    return value
  }
}
