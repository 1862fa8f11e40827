import type { Address, StoredRecord } from './store.ts'

/** The records used last, up to a size in characters; a miss says nothing about existence. */
export class RecordCache {
  readonly #limit: number
  /** Least recently used first. */
  readonly #records = new Map<string, StoredRecord>()
  /** Sum of the text lengths of `records`. */
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get(address: Address): StoredRecord | undefined {
    const key = keyOf(address)
    const record = this.#records.get(key)
    if (!record) return undefined
    this.#records.delete(key)
    this.#records.set(key, record)
    return record
  }

  put(record: StoredRecord): void {
    this.drop(record)
    if (record.document.text.length > this.#limit / 8) return
    this.#records.set(keyOf(record), record)
    this.#size += record.document.text.length
    this.#shrink()
  }

  drop(address: Address): void {
    const key = keyOf(address)
    const record = this.#records.get(key)
    if (!record) return
    this.#records.delete(key)
    this.#size -= record.document.text.length
  }

  clear(): void {
    this.#records.clear()
    this.#size = 0
  }

  #shrink(): void {
    for (const [key, record] of this.#records) {
      if (this.#size <= this.#limit) return
      this.#records.delete(key)
      this.#size -= record.document.text.length
    }
  }
}

function keyOf({ resource, namespace, name }: Address): string {
  return `${resource}/${namespace}/${name}`
}
