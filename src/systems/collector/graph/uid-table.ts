/** Maps uids to small integers. UUIDs take 128 bits in typed arrays, with open addressing; other uids are kept as text. */
export class UidTable {
  /** Four words per node. */
  #words = new Uint32Array(4 * 1024)
  /** Node + 1 by hash; 0 is empty, `tombstone` was used. */
  #slots = new Int32Array(4096)
  #used = 0
  #nodes = 0
  readonly #free: number[] = []
  /** Uids that are not UUIDs, both ways. */
  readonly #odd = new Map<string, number>()
  readonly #oddText = new Map<number, string>()

  intern(uid: string): number {
    const words = parse(uid)
    if (!words) return this.#internOdd(uid)
    const found = this.#find(words)
    if (found !== undefined) return found
    const node = this.#take()
    this.#words.set(words, node * 4)
    this.#insert(node)
    return node
  }

  find(uid: string): number | undefined {
    const words = parse(uid)
    return words ? this.#find(words) : this.#odd.get(uid)
  }

  text(node: number): string {
    const odd = this.#oddText.get(node)
    if (odd !== undefined) return odd
    const hex = Array.from(this.#words.subarray(node * 4, node * 4 + 4), (word) =>
      word.toString(16).padStart(8, '0'),
    ).join('')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  release(node: number): void {
    const odd = this.#oddText.get(node)
    if (odd !== undefined) {
      this.#odd.delete(odd)
      this.#oddText.delete(node)
    } else {
      const slot = this.#slotOf(this.#words.subarray(node * 4, node * 4 + 4))
      if (slot === undefined) return
      this.#slots[slot] = tombstone
    }
    this.#free.push(node)
  }

  get bytes(): number {
    return this.#words.byteLength + this.#slots.byteLength
  }

  #internOdd(uid: string): number {
    const known = this.#odd.get(uid)
    if (known !== undefined) return known
    const node = this.#take()
    this.#odd.set(uid, node)
    this.#oddText.set(node, uid)
    return node
  }

  #take(): number {
    const node = this.#free.pop() ?? this.#nodes++
    if (node * 4 >= this.#words.length) {
      const larger = new Uint32Array(Math.ceil(this.#words.length * 1.5) & ~3)
      larger.set(this.#words)
      this.#words = larger
    }
    return node
  }

  #insert(node: number): void {
    if ((this.#used + 1) * 2 > this.#slots.length) this.#rehash()
    const mask = this.#slots.length - 1
    let slot = hash(this.#words, node * 4) & mask
    while ((this.#slots[slot] ?? 0) > 0) slot = (slot + 1) & mask
    if (this.#slots[slot] === 0) this.#used++
    this.#slots[slot] = node + 1
  }

  #find(words: Uint32Array): number | undefined {
    const slot = this.#slotOf(words)
    return slot === undefined ? undefined : (this.#slots[slot] ?? 0) - 1
  }

  #slotOf(words: Uint32Array): number | undefined {
    const mask = this.#slots.length - 1
    for (let slot = hash(words, 0) & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] ?? 0
      if (entry === 0) return undefined
      if (entry > 0 && this.#isAt(entry - 1, words)) return slot
    }
  }

  #isAt(node: number, words: Uint32Array): boolean {
    const at = node * 4
    return (
      this.#words[at] === words[0] &&
      this.#words[at + 1] === words[1] &&
      this.#words[at + 2] === words[2] &&
      this.#words[at + 3] === words[3]
    )
  }

  #rehash(): void {
    const living = this.#slots.filter((entry) => entry > 0)
    let size = this.#slots.length
    while (living.length * 3 > size) size *= 2
    this.#slots = new Int32Array(size)
    this.#used = 0
    for (const entry of living) this.#insert(entry - 1)
  }
}

const tombstone = -1
const scratch = new Uint32Array(4)

/** The four words of a UUID, in a buffer that the next call overwrites; undefined for anything else. */
function parse(uid: string): Uint32Array | undefined {
  if (uid.length !== 36) return undefined
  let word = 0
  let digits = 0
  for (let index = 0; index < 36; index++) {
    const code = uid.charCodeAt(index)
    if (index === 8 || index === 13 || index === 18 || index === 23) {
      if (code !== 45) return undefined
      continue
    }
    // Lower case only: another spelling is another uid.
    const digit = code >= 48 && code <= 57 ? code - 48 : code >= 97 && code <= 102 ? code - 87 : -1
    if (digit < 0) return undefined
    word = (word << 4) | digit
    if (++digits % 8 === 0) scratch[digits / 8 - 1] = word
  }
  return scratch
}

function hash(words: Uint32Array, at: number): number {
  let value = Math.imul(words[at] ?? 0, 0x9e3779b1) ^ Math.imul(words[at + 1] ?? 0, 0x85ebca6b)
  value ^= Math.imul(words[at + 2] ?? 0, 0xc2b2ae35) ^ Math.imul(words[at + 3] ?? 0, 0x27d4eb2f)
  return (value ^ (value >>> 15)) >>> 0
}
