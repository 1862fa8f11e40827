import type { Address, StoredRecord } from './store.ts'

/**
 * A cache of recently used records, limited by total text length. A miss says nothing about existence. Two
 * generations approximate LRU: re-inserting a record into one Map on every use leaves tombstones that slow down
 * iteration for hot keys such as namespaces.
 */
export class RecordCache {
  readonly #limit: number
  /** Used since the last rotation; at most half of the limit. */
  #young = new Map<string, StoredRecord>()
  /** Used before the last rotation and not since. Disjoint from `young`. */
  #old = new Map<string, StoredRecord>()
  /** Sum of the text lengths of `young`. */
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get(address: Address): StoredRecord | undefined {
    const key = keyOf(address)
    const young = this.#young.get(key)
    if (young) return young
    const record = this.#old.get(key)
    if (record) this.#keep(key, record)
    return record
  }

  put(record: StoredRecord): void {
    if (record.document.text.length > this.#limit / 8) this.drop(record)
    else this.#keep(keyOf(record), record)
  }

  drop(address: Address): void {
    const key = keyOf(address)
    this.#size -= lengthOf(this.#young.get(key))
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#size = 0
  }

  #keep(key: string, record: StoredRecord): void {
    this.#old.delete(key)
    this.#size += lengthOf(record) - lengthOf(this.#young.get(key))
    this.#young.set(key, record)
    if (this.#size <= this.#limit / 2) return
    this.#old = this.#young
    this.#young = new Map()
    this.#size = 0
  }
}

function lengthOf(record: StoredRecord | undefined): number {
  return record?.document.text.length ?? 0
}

/** One string per object. */
export function keyOf({ resource, namespace, name }: Address): string {
  return `${resource}/${namespace}/${name}`
}
