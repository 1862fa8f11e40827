interface Entry {
  readonly key: string
  dueAt: number
  place: number
}

/** What one would write first: a binary heap of objects and a map to find them. */
export class ObjectHeap {
  readonly #heap: Entry[] = []
  readonly #byKey = new Map<string, Entry>()

  get size(): number {
    return this.#heap.length
  }

  set(key: string, dueAt: number): void {
    const known = this.#byKey.get(key)
    if (known) {
      known.dueAt = dueAt
      this.#up(known)
      this.#down(known)
      return
    }
    const entry = { key, dueAt, place: this.#heap.length }
    this.#byKey.set(key, entry)
    this.#heap.push(entry)
    this.#up(entry)
  }

  delete(key: string): boolean {
    const entry = this.#byKey.get(key)
    if (!entry) return false
    this.#byKey.delete(key)
    this.#remove(entry)
    return true
  }

  drain(now: number, due: (key: string) => void): void {
    for (let first = this.#heap[0]; first && first.dueAt <= now; first = this.#heap[0]) {
      this.#byKey.delete(first.key)
      this.#remove(first)
      due(first.key)
    }
  }

  #remove(entry: Entry): void {
    const last = this.#heap.pop()
    if (!last || last === entry) return
    this.#put(last, entry.place)
    this.#up(last)
    this.#down(last)
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry
    entry.place = place
  }

  #up(entry: Entry): void {
    while (entry.place > 0) {
      const parent = this.#heap[(entry.place - 1) >> 1]
      if (!parent || parent.dueAt <= entry.dueAt) return
      const { place } = parent
      this.#put(parent, entry.place)
      this.#put(entry, place)
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.place + 1]
      const right = this.#heap[2 * entry.place + 2]
      const child = right && left && right.dueAt < left.dueAt ? right : left
      if (!child || child.dueAt >= entry.dueAt) return
      const { place } = child
      this.#put(child, entry.place)
      this.#put(entry, place)
    }
  }
}
