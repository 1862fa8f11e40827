/** A well-mixed 32-bit hash of a text's UTF-16 units. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return (hash ^ (hash >>> 15)) >>> 0
}

const empty = -1
const wide = 0x8000
const longest = 0x7fff
const mostReferences = 0xffff

/** One shard of a key table: an open-addressing index over entries whose texts lie end to end in one buffer. */
export class KeyShard {
  /** Entry per slot, or `empty`; a power of two long, at most 5/8 full, probed linearly from the hash. */
  #index = new Int32Array(16).fill(empty)
  #hashes = new Uint32Array(8)
  /** Where an entry's text starts in `texts`; for a free entry, the next free one. */
  #starts = new Uint32Array(8)
  /** Units of a text; `wide` is set when it holds anything beyond Latin-1 and takes two bytes each. */
  #lengths = new Uint16Array(8)
  /** Zero exactly for free entries. */
  #references = new Uint16Array(8)
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
    const { byteLength: entries } = this.#hashes
    return this.#index.byteLength + entries * 3 + this.#texts.byteLength
  }

  find(text: string, hash: number): number {
    const mask = this.#index.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#index[slot] as number
      if (entry === empty) return -1
      if (this.#hashes[entry] === hash && this.#holds(entry, text)) return entry
    }
  }

  intern(text: string, hash: number): number {
    const found = this.find(text, hash)
    if (found >= 0) {
      this.retain(found)
      return found
    }
    if ((this.#size + 1) * 8 > this.#index.length * 5) this.#growIndex()
    const entry = this.#claim()
    this.#write(entry, text)
    this.#hashes[entry] = hash
    this.#references[entry] = 1
    this.#place(entry, hash)
    this.#size++
    return entry
  }

  retain(entry: number): void {
    const references = this.#live(entry)
    if (references === mostReferences) throw new RangeError('a key has too many users')
    this.#references[entry] = references + 1
  }

  release(entry: number): boolean {
    const references = this.#live(entry)
    this.#references[entry] = references - 1
    if (references > 1) return false
    this.#unplace(entry)
    this.#wasted += this.#bytesOf(entry)
    this.#starts[entry] = this.#free
    this.#free = entry
    this.#size--
    if (this.#wasted > 4096 && this.#wasted > this.#textsEnd / 2) this.#compact()
    return true
  }

  textOf(entry: number): string {
    this.#live(entry)
    const start = this.#starts[entry] as number
    const end = start + this.#bytesOf(entry)
    return this.#isWide(entry)
      ? this.#texts.toString('utf16le', start, end)
      : this.#texts.toString('latin1', start, end)
  }

  #live(entry: number): number {
    const references = this.#references[entry]
    if (!references) throw new Error('a handle was used after its release')
    return references
  }

  #isWide(entry: number): boolean {
    return (this.#lengths[entry] as number) >= wide
  }

  #bytesOf(entry: number): number {
    const length = this.#lengths[entry] as number
    return length >= wide ? (length - wide) * 2 : length
  }

  #holds(entry: number, text: string): boolean {
    const length = this.#lengths[entry] as number
    if (length >= wide) return length - wide === text.length && this.textOf(entry) === text
    if (length !== text.length) return false
    const start = this.#starts[entry] as number
    for (let index = 0; index < length; index++) {
      if (this.#texts[start + index] !== text.charCodeAt(index)) return false
    }
    return true
  }

  #claim(): number {
    if (this.#free !== empty) {
      const entry = this.#free
      this.#free = (this.#starts[entry] as number) | 0
      return entry
    }
    if (this.#end === this.#hashes.length) this.#growEntries()
    return this.#end++
  }

  #write(entry: number, text: string): void {
    if (text.length > longest) throw new RangeError(`a key of ${text.length} characters is too long`)
    const narrow = isLatin1(text)
    const bytes = narrow ? text.length : text.length * 2
    if (this.#textsEnd + bytes > this.#texts.length) this.#moveTexts(Math.ceil((this.#textsEnd + bytes) * 1.25))
    if (narrow) this.#texts.write(text, this.#textsEnd, 'latin1')
    else this.#texts.write(text, this.#textsEnd, 'utf16le')
    this.#starts[entry] = this.#textsEnd
    this.#lengths[entry] = narrow ? text.length : text.length | wide
    this.#textsEnd += bytes
  }

  #place(entry: number, hash: number): void {
    const mask = this.#index.length - 1
    let slot = hash & mask
    while (this.#index[slot] !== empty) slot = (slot + 1) & mask
    this.#index[slot] = entry
  }

  /** Takes an entry out and moves later ones of its run forward, so that no look-up meets a gap. */
  #unplace(entry: number): void {
    const mask = this.#index.length - 1
    let gap = (this.#hashes[entry] as number) & mask
    while (this.#index[gap] !== entry) gap = (gap + 1) & mask
    for (let slot = (gap + 1) & mask; ; slot = (slot + 1) & mask) {
      const other = this.#index[slot] as number
      if (other === empty) break
      const home = (this.#hashes[other] as number) & mask
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue
      this.#index[gap] = other
      gap = slot
    }
    this.#index[gap] = empty
  }

  #growIndex(): void {
    const former = this.#index
    this.#index = new Int32Array(former.length * 2).fill(empty)
    for (const entry of former) if (entry !== empty) this.#place(entry, this.#hashes[entry] as number)
  }

  #growEntries(): void {
    const length = Math.ceil(this.#hashes.length * 1.25) + 8
    this.#hashes = grown(this.#hashes, new Uint32Array(length))
    this.#starts = grown(this.#starts, new Uint32Array(length))
    this.#lengths = grown(this.#lengths, new Uint16Array(length))
    this.#references = grown(this.#references, new Uint16Array(length))
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
      if (this.#references[entry] === 0) continue
      const start = this.#starts[entry] as number
      former.copy(this.#texts, end, start, start + this.#bytesOf(entry))
      this.#starts[entry] = end
      end += this.#bytesOf(entry)
    }
    this.#textsEnd = end
    this.#wasted = 0
  }
}

function isLatin1(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false
  return true
}

function grown<A extends Uint32Array | Uint16Array>(former: A, next: A): A {
  next.set(former)
  return next
}
