/** A well-mixed 32-bit hash of a text's UTF-16 units. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** An index slot holds an entry and, above it, bits of its hash that the slot's place does not tell. */
const entryBits = 24
const entryMask = (1 << entryBits) - 1
const empty = -1

/** An entry is three words side by side, so that one look into memory finds all of it: hash, start, use. */
const words = 3
/** Where an entry's text starts in `texts`; for a free entry, the next free one. */
const start = 1
/** How long its text is, in the low half, and how many references it has, in the high one: zero for a free entry. */
const use = 2
const lengthMask = 0xffff
const reference = 0x1_0000
const maxReferences = 0xffff
/** Set in the length when the text holds anything beyond Latin-1 and takes two bytes per unit. */
const wide = 0x8000
const maxKeyLength = 0x7fff

/** One shard of a key table: an open-addressing index over entries whose texts lie end to end in one buffer. */
export class KeyShard {
  /** Tagged entry per slot, or `empty`; a power of two long, at most half full, probed linearly from the hash. */
  #index = new Int32Array(16).fill(empty)
  #entries = new Uint32Array(8 * words)
  #texts = Buffer.alloc(256)
  #textsEnd = 0
  /** Bytes before `textsEnd` that belong to no entry. */
  #wasted = 0
  /** First of the free entries below `end`, or `empty`. */
  #free = empty
  /** No entry at or above it was ever used. */
  #end = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get byteLength(): number {
    return this.#index.byteLength + this.#entries.byteLength + this.#texts.byteLength
  }

  find(text: string, hash: number): number {
    const index = this.#index
    const mask = index.length - 1
    const tag = tagOf(hash)
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const tagged = index[slot] as number
      if (tagged === empty) return -1
      // The tag spares a look at an entry elsewhere in memory nearly every time it would be in vain.
      if ((tagged & ~entryMask) === tag && this.#holds(tagged & entryMask, text)) return tagged & entryMask
    }
  }

  intern(text: string, hash: number): number {
    const found = this.find(text, hash)
    if (found >= 0) {
      this.retain(found)
      return found
    }
    if ((this.#size + 1) * 2 > this.#index.length) this.#growIndex()
    const entry = this.#claim()
    this.#entries[entry * words] = hash
    this.#write(entry, text)
    this.#place(entry, hash)
    this.#size++
    return entry
  }

  retain(entry: number): void {
    const used = this.#live(entry)
    if (used >>> 16 === maxReferences) throw new RangeError('a key has too many users')
    this.#entries[entry * words + use] = used + reference
  }

  release(entry: number): boolean {
    const used = this.#live(entry)
    this.#entries[entry * words + use] = used - reference
    if (used >>> 16 > 1) return false
    this.#unplace(entry)
    this.#wasted += bytesOf(used)
    this.#entries[entry * words + start] = this.#free
    this.#free = entry
    this.#size--
    if (this.#wasted > 4096 && this.#wasted > this.#textsEnd / 2) this.#compact()
    return true
  }

  textOf(entry: number): string {
    const used = this.#live(entry)
    const from = this.#entries[entry * words + start] as number
    return this.#texts.toString(used & wide ? 'utf16le' : 'latin1', from, from + bytesOf(used))
  }

  #live(entry: number): number {
    const used = this.#entries[entry * words + use] ?? 0
    if (used < reference) throw new Error('a handle was used after its release')
    return used
  }

  #holds(entry: number, text: string): boolean {
    const length = (this.#entries[entry * words + use] as number) & lengthMask
    if (length & wide) return (length ^ wide) === text.length && this.textOf(entry) === text
    if (length !== text.length) return false
    const texts = this.#texts
    const from = this.#entries[entry * words + start] as number
    for (let index = 0; index < length; index++) {
      if (texts[from + index] !== text.charCodeAt(index)) return false
    }
    return true
  }

  #claim(): number {
    if (this.#free !== empty) {
      const entry = this.#free
      this.#free = (this.#entries[entry * words + start] as number) | 0
      return entry
    }
    if (this.#end * words === this.#entries.length) this.#growEntries()
    if (this.#end === entryMask) throw new RangeError('there are too many keys')
    return this.#end++
  }

  /** Appends a text and gives the entry its first reference. */
  #write(entry: number, text: string): void {
    const { length } = text
    if (length > maxKeyLength) throw new RangeError(`a key of ${length} characters is too long`)
    if (this.#textsEnd + length * 2 > this.#texts.length)
      this.#moveTexts(Math.ceil((this.#textsEnd + length * 2) * 1.35))
    const texts = this.#texts
    const from = this.#textsEnd
    this.#entries[entry * words + start] = from
    this.#entries[entry * words + use] = reference | length
    this.#textsEnd = from + length
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index)
      if (unit > 0xff) return this.#writeWide(entry, text)
      texts[from + index] = unit
    }
  }

  #writeWide(entry: number, text: string): void {
    const from = this.#entries[entry * words + start] as number
    this.#texts.write(text, from, 'utf16le')
    this.#entries[entry * words + use] = reference | wide | text.length
    this.#textsEnd = from + text.length * 2
  }

  #place(entry: number, hash: number): void {
    const mask = this.#index.length - 1
    let slot = hash & mask
    while (this.#index[slot] !== empty) slot = (slot + 1) & mask
    this.#index[slot] = tagOf(hash) | entry
  }

  /** Takes an entry out and moves later ones of its run forward, so that no look-up meets a gap. */
  #unplace(entry: number): void {
    const index = this.#index
    const mask = index.length - 1
    const hash = this.#hashAt(entry)
    const tagged = tagOf(hash) | entry
    let gap = hash & mask
    while (index[gap] !== tagged) gap = (gap + 1) & mask
    for (let slot = (gap + 1) & mask; ; slot = (slot + 1) & mask) {
      const other = index[slot] as number
      if (other === empty) break
      const home = this.#hashAt(other & entryMask) & mask
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue
      index[gap] = other
      gap = slot
    }
    index[gap] = empty
  }

  #hashAt(entry: number): number {
    return this.#entries[entry * words] as number
  }

  #growIndex(): void {
    const former = this.#index
    this.#index = new Int32Array(former.length * 2).fill(empty)
    for (let slot = 0; slot < former.length; slot++) {
      const tagged = former[slot] as number
      if (tagged !== empty) this.#place(tagged & entryMask, this.#hashAt(tagged & entryMask))
    }
  }

  #growEntries(): void {
    const former = this.#entries
    this.#entries = new Uint32Array((Math.ceil(this.#end * 1.35) + 8) * words)
    this.#entries.set(former)
  }

  #moveTexts(capacity: number): void {
    const former = this.#texts
    this.#texts = Buffer.allocUnsafeSlow(capacity)
    former.copy(this.#texts, 0, 0, this.#textsEnd)
  }

  #compact(): void {
    const former = this.#texts
    this.#texts = Buffer.allocUnsafeSlow(Math.max(256, Math.ceil((this.#textsEnd - this.#wasted) * 1.25)))
    let end = 0
    for (let entry = 0; entry < this.#end; entry++) {
      const used = this.#entries[entry * words + use] as number
      if (used < reference) continue
      const from = this.#entries[entry * words + start] as number
      former.copy(this.#texts, end, from, from + bytesOf(used))
      this.#entries[entry * words + start] = end
      end += bytesOf(used)
    }
    this.#textsEnd = end
    this.#wasted = 0
  }
}

function bytesOf(used: number): number {
  const length = used & lengthMask
  return length & wide ? (length ^ wide) * 2 : length
}

/** Bits from the middle of a hash: the highest chose the shard, the lowest the slot. */
function tagOf(hash: number): number {
  return (hash << 8) & ~entryMask
}
