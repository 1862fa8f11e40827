import type { Clock } from './clock.ts'

/** What is due: called once per entry, which is out of the schedule by then. */
export type DueFunction = (handle: number, dueAt: number, kind: number) => void

const tickMs = 10
const levels = 4
const levelSlots = 256
const slotMask = levelSlots - 1
/** Ticks per slot of each level: 10 ms, 2.56 s, 11 min, 47 h. */
const slotTicks = [1, 2 ** 8, 2 ** 16, 2 ** 24] as const
const topTicks = slotTicks[3]
/** The list of entries taken from a slot whose time has come and not yet sorted out. */
const loose = levels * levelSlots
const none = -1
const unscheduled = -0x8000_0000

const pageBits = 16
const pageLength = 1 << pageBits
const pageMask = pageLength - 1

/**
 * The entries of 65,536 handles. Pages are added and never copied, so that growing is not felt. An entry's time and
 * neighbours lie side by side, so that one look into memory finds them all.
 */
class Page {
  /** Due times at two words per entry; the words in between are the links'. */
  readonly dueAt: Float64Array
  /** At four words per entry: `next` and `previous` are the last two. */
  readonly links: Int32Array
  readonly kind = new Uint8Array(pageLength)

  constructor() {
    const buffer = new ArrayBuffer(pageLength * 16)
    this.dueAt = new Float64Array(buffer)
    this.links = new Int32Array(buffer)
    for (let offset = 0; offset < pageLength; offset++) this.links[offset * 4 + previous] = unscheduled
  }
}

/** The one after in its list, or `none`. */
const next = 2
/** The one before in its list; `~list` for the first of a list; `unscheduled` for a handle that has no entry. */
const previous = 3

/**
 * Handles in time: a hierarchical timing wheel off the heap. Never early, whatever the clock does: the wheel only finds
 * candidates, each one's own time decides. Which slot of which level an entry is in follows from its distance to the
 * wheel's tick; what is farther than the top level reaches waits in its last slot and is placed again from there.
 */
export class Schedule {
  readonly #clock: Clock
  readonly #pages: Page[] = []
  /** First entry of each slot's list, then of `loose`; `none` when empty. */
  readonly #heads = new Int32Array(loose + 1).fill(none)
  /** One bit per slot: set exactly when its list is not empty. */
  readonly #occupied = new Uint32Array((levels * levelSlots) / 32)
  /** Time of tick zero. */
  readonly #baseAt: number
  /** No slot holds anything that belongs before this tick. Never goes back. */
  #tick = 0
  #size = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#baseAt = Math.floor(clock.now() / tickMs) * tickMs
  }

  get size(): number {
    return this.#size
  }

  /** Due at this time; replaces a former time. `kind` (0 to 255) comes back with it. */
  set(handle: number, dueAt: number, kind = 0): void {
    if (Number.isNaN(dueAt)) throw new RangeError('an entry is due at no time')
    const page = this.#pageFor(handle)
    const offset = handle & pageMask
    if (page.links[offset * 4 + previous] === unscheduled) this.#size++
    else this.#unlink(page, offset)
    page.dueAt[offset * 2] = dueAt
    page.kind[offset] = kind
    this.#link(handle, this.#slotFor(dueAt))
  }

  delete(handle: number): boolean {
    const page = this.#pages[handle >>> pageBits]
    const offset = handle & pageMask
    if (!page || page.links[offset * 4 + previous] === unscheduled) return false
    this.#unlink(page, offset)
    page.links[offset * 4 + previous] = unscheduled
    this.#size--
    return true
  }

  dueAt(handle: number): number | undefined {
    const page = this.#pages[handle >>> pageBits]
    const offset = handle & pageMask
    return page && page.links[offset * 4 + previous] !== unscheduled ? page.dueAt[offset * 2] : undefined
  }

  /** When to call `drain` next: at most one tick after the first entry is due. Undefined when empty. */
  nextAt(): number | undefined {
    if (this.#size === 0) return undefined
    if (this.#heads[loose] !== none) return this.#clock.now()
    const slot = this.#firstSlot()
    return slot < levelSlots ? this.#firstDueIn(slot) : this.#baseAt + this.#startOf(slot) * tickMs
  }

  /** Hands out what is due, for at most about this long. True when nothing due is left. */
  drain(now: number, sliceMs: number, due: DueFunction): boolean {
    // When the wall clock has gone back the wheel stays where it is, and still hands out what is due there.
    const lastTick = Math.max(this.#tick, Math.floor((now - this.#baseAt) / tickMs))
    const endsAt = this.#clock.monotonic() + sliceMs
    // What a callback sets anew waits for the next call, or it could keep us here for ever.
    const leave = this.#size
    let handedOut = 0
    for (let steps = 1, lastSeen = false; ;) {
      for (; this.#heads[loose] !== none; steps++) {
        if (handedOut >= leave) return false
        if (this.#sortOut(now, due)) handedOut++
        if (steps % 64 === 0 && this.#clock.monotonic() >= endsAt) return false
      }
      const slot = this.#size === 0 ? none : this.#firstSlot()
      const start = slot === none ? Number.POSITIVE_INFINITY : this.#startOf(slot)
      const isLast = start === lastTick && slot < levelSlots
      if (start > lastTick || (isLast && lastSeen)) {
        this.#tick = lastTick
        return true
      }
      lastSeen = isLast
      this.#loosen(slot)
      this.#tick = Math.max(this.#tick, slot < levelSlots && !isLast ? start + 1 : start)
    }
  }

  /** Hands out the first loose entry if it is due, or else puts it into the slot it now belongs to. */
  #sortOut(now: number, due: DueFunction): boolean {
    const handle = this.#heads[loose] as number
    const page = this.#pageOf(handle)
    const offset = handle & pageMask
    const dueAt = page.dueAt[offset * 2] as number
    this.#unlink(page, offset)
    if (dueAt > now) {
      this.#link(handle, this.#slotFor(dueAt))
      return false
    }
    page.links[offset * 4 + previous] = unscheduled
    this.#size--
    due(handle, dueAt, page.kind[offset] as number)
    return true
  }

  /** The lowest level whose 256 slots reach this time, and the slot in it. */
  #slotFor(dueAt: number): number {
    const tick = Math.max(this.#tick, Math.floor((dueAt - this.#baseAt) / tickMs))
    for (let level = 0; level < levels; level++) {
      const ticks = slotTicks[level] as number
      const position = Math.floor(tick / ticks)
      if (position - Math.floor(this.#tick / ticks) < levelSlots) return level * levelSlots + (position & slotMask)
    }
    const last = Math.floor(this.#tick / topTicks) + levelSlots - 1
    return (levels - 1) * levelSlots + (last & slotMask)
  }

  /** The occupied slot that starts first; of several, the highest, for its entries may belong into the others. */
  #firstSlot(): number {
    let first = none
    let firstStart = Number.POSITIVE_INFINITY
    for (let level = levels - 1; level >= 0; level--) {
      const slot = this.#firstOccupied(level)
      const start = slot === none ? Number.POSITIVE_INFINITY : this.#startOf(slot)
      if (start < firstStart) {
        first = slot
        firstStart = start
      }
    }
    return first
  }

  /** Of one level's occupied slots, the first from the wheel's position on, around the circle. */
  #firstOccupied(level: number): number {
    const position = Math.floor(this.#tick / (slotTicks[level] as number)) & slotMask
    const words = level * (levelSlots / 32)
    const firstWord = position >>> 5
    for (let step = 0; step <= 8; step++) {
      const word = (firstWord + step) & 7
      let bits = this.#occupied[words + word] as number
      if (step === 0) bits = bits & (-1 << (position & 31))
      if (step === 8) bits = bits & ~(-1 << (position & 31))
      if (bits !== 0) return level * levelSlots + word * 32 + (31 - Math.clz32(bits & -bits))
    }
    return none
  }

  /** The tick at which a slot of the current round starts. */
  #startOf(slot: number): number {
    const ticks = slotTicks[slot >>> 8] as number
    const position = Math.floor(this.#tick / ticks)
    return (position + (((slot & slotMask) - position) & slotMask)) * ticks
  }

  /** When the first entry of a lowest-level slot is due; of a crowded one, when all of them are. */
  #firstDueIn(slot: number): number {
    let firstAt = Number.POSITIVE_INFINITY
    let looked = 0
    for (let handle = this.#heads[slot] as number; handle !== none; looked++) {
      if (looked === 256) return this.#baseAt + (this.#startOf(slot) + 1) * tickMs
      const page = this.#pageOf(handle)
      firstAt = Math.min(firstAt, page.dueAt[(handle & pageMask) * 2] as number)
      handle = page.links[(handle & pageMask) * 4 + next] as number
    }
    return firstAt
  }

  /** Makes a slot's list the loose one, which is empty. */
  #loosen(slot: number): void {
    const head = this.#heads[slot] as number
    this.#pageOf(head).links[(head & pageMask) * 4 + previous] = ~loose
    this.#heads[loose] = head
    this.#heads[slot] = none
    this.#vacate(slot)
  }

  #link(handle: number, list: number): void {
    const page = this.#pageOf(handle)
    const offset = handle & pageMask
    const head = this.#heads[list] as number
    page.links[offset * 4 + next] = head
    page.links[offset * 4 + previous] = ~list
    if (head === none) this.#occupied[list >>> 5] = (this.#occupied[list >>> 5] as number) | (1 << (list & 31))
    else this.#pageOf(head).links[(head & pageMask) * 4 + previous] = handle
    this.#heads[list] = handle
  }

  #unlink(page: Page, offset: number): void {
    const before = page.links[offset * 4 + previous] as number
    const after = page.links[offset * 4 + next] as number
    if (after !== none) this.#pageOf(after).links[(after & pageMask) * 4 + previous] = before
    if (before >= 0) {
      this.#pageOf(before).links[(before & pageMask) * 4 + next] = after
      return
    }
    this.#heads[~before] = after
    if (after === none && ~before !== loose) this.#vacate(~before)
  }

  #vacate(slot: number): void {
    this.#occupied[slot >>> 5] = (this.#occupied[slot >>> 5] as number) & ~(1 << (slot & 31))
  }

  #pageOf(handle: number): Page {
    return this.#pages[handle >>> pageBits] as Page
  }

  #pageFor(handle: number): Page {
    for (let index = this.#pages.length; index <= handle >>> pageBits; index++) this.#pages.push(new Page())
    return this.#pageOf(handle)
  }
}
