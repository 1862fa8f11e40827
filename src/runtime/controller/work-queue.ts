/** Which work goes first: what a person asked for, what changed, what has come due, what was there when we came. */
export type Priority = 'user' | 'change' | 'due' | 'initial'

const laneOf: Readonly<Record<Priority, number>> = { user: 0, change: 1, due: 2, initial: 3 }
const lanes = 4
/** How often a lane that has work is passed over before it gets its turn. */
const patience = 16
const none = -1

const pageBits = 12
const pageLength = 1 << pageBits
const pageMask = pageLength - 1

/** Bits of a handle's state beside its lane. */
const laneBits = 3
const ready = 4
const active = 8
const again = 16

/** What is known of 4,096 handles: zero means not queued. */
class Page {
  readonly state = new Uint8Array(pageLength)
  /** Neighbours in the lane of a ready handle. */
  readonly next = new Int32Array(pageLength)
  readonly previous = new Int32Array(pageLength)
}

/** Keys (dense handles) that want work: each at most once, none to two workers, urgent first, first come first served within. */
export class WorkQueue {
  /**
   * A handle is `ready` (and in the list of its lane), or `active`, or neither; never both. `again` is set only with
   * `active`: it was added meanwhile, and its lane is then the one it returns to.
   */
  readonly #pages: Page[] = []
  readonly #heads = new Int32Array(lanes).fill(none)
  readonly #tails = new Int32Array(lanes).fill(none)
  /** How often a lane has been passed over since it was last served; zero while it is empty. */
  readonly #passedOver = new Uint32Array(lanes)
  #ready = 0
  #active = 0

  /** How many are ready to be taken. */
  get size(): number {
    return this.#ready
  }

  /** How many are taken and not yet done. */
  get active(): number {
    return this.#active
  }

  add(handle: number, priority: Priority = 'change'): void {
    const page = this.#pageFor(handle)
    const offset = handle & pageMask
    const state = page.state[offset] as number
    const lane = laneOf[priority]
    if (state & active) {
      page.state[offset] = active | again | (state & again ? Math.min(lane, state & laneBits) : lane)
    } else if (!(state & ready)) {
      this.#append(handle, lane)
    } else if (lane < (state & laneBits)) {
      this.#detach(page, offset)
      this.#append(handle, lane)
    }
  }

  /** The next handle, or -1 when none is ready. */
  take(): number {
    const lane = this.#nextLane()
    if (lane === none) return none
    const handle = this.#heads[lane] as number
    const page = this.#pageFor(handle)
    const offset = handle & pageMask
    this.#detach(page, offset)
    page.state[offset] = active
    this.#active++
    return handle
  }

  /** Work on a taken handle has ended; if it was added meanwhile it is ready again. */
  done(handle: number): void {
    const page = this.#pageFor(handle)
    const offset = handle & pageMask
    const state = page.state[offset] as number
    if (!(state & active)) throw new Error('done() was called for a handle that is not being processed')
    page.state[offset] = 0
    this.#active--
    if (state & again) this.#append(handle, state & laneBits)
  }

  /** Whether a handle is ready, or taken. */
  has(handle: number): boolean {
    return (this.#pages[handle >>> pageBits]?.state[handle & pageMask] ?? 0) !== 0
  }

  /** The most urgent lane that has work, unless one below has been passed over often enough. */
  #nextLane(): number {
    let chosen = none
    for (let lane = 0; lane < lanes; lane++) {
      if (this.#heads[lane] === none) continue
      if (chosen === none) chosen = lane
      else if ((this.#passedOver[lane] as number) >= patience) chosen = lane
      else this.#passedOver[lane] = (this.#passedOver[lane] as number) + 1
    }
    if (chosen !== none) this.#passedOver[chosen] = 0
    return chosen
  }

  #append(handle: number, lane: number): void {
    const page = this.#pageFor(handle)
    const offset = handle & pageMask
    const tail = this.#tails[lane] as number
    page.state[offset] = ready | lane
    page.next[offset] = none
    page.previous[offset] = tail
    if (tail === none) this.#heads[lane] = handle
    else this.#pageFor(tail).next[tail & pageMask] = handle
    this.#tails[lane] = handle
    this.#ready++
  }

  #detach(page: Page, offset: number): void {
    const lane = (page.state[offset] as number) & laneBits
    const next = page.next[offset] as number
    const previous = page.previous[offset] as number
    if (next === none) this.#tails[lane] = previous
    else this.#pageFor(next).previous[next & pageMask] = previous
    if (previous === none) this.#heads[lane] = next
    else this.#pageFor(previous).next[previous & pageMask] = next
    if (this.#heads[lane] === none) this.#passedOver[lane] = 0
    this.#ready--
  }

  #pageFor(handle: number): Page {
    for (let index = this.#pages.length; index <= handle >>> pageBits; index++) this.#pages.push(new Page())
    return this.#pages[handle >>> pageBits] as Page
  }
}
