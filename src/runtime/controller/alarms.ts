import type { Clock } from '../time/clock.ts'
import { KeyTable } from './key-table.ts'
import { Schedule } from '../time/schedule.ts'

/** One user's part of the alarms: its keys are its own. Handles are shared with whatever else the user keeps by key. */
export interface AlarmSet {
  /** The handle of a key, with one reference that has to be released. */
  intern(key: string): number
  /** The handle of a key that has one, or -1. Takes no reference. */
  find(key: string): number
  keyOf(handle: number): string
  retain(handle: number): void
  release(handle: number): void
  /** Rings at this time; replaces a former time. */
  set(handle: number, at: number): void
  /** Rings at this time, unless it is to ring earlier already. */
  setEarliest(handle: number, at: number): void
  /** Does not ring. */
  delete(handle: number): boolean
  at(handle: number): number | undefined
  close(): void
}

const maxUsers = 256

/** All alarms of the process on one timer wheel. Due alarms fire in time slices, so that many at once do not block the loop. */
export class Alarms {
  readonly #clock: Clock
  readonly #sliceMs: number
  /** Due times are wall-clock, timers are not: a wall clock that was set forward is noticed after so long at the latest. */
  readonly #maxSleepMs: number
  readonly #keys = new KeyTable()
  /** Each entry holds a reference to its key. */
  readonly #schedule: Schedule
  /** By number, which is the first character of the user's keys and its entries' kind; undefined when it has left. */
  readonly #users: (((handle: number, at: number) => void) | undefined)[] = []
  /** When the timer fires; infinity while none is set. */
  #armedAt = Number.POSITIVE_INFINITY
  #disarm = () => {}

  constructor(clock: Clock, options: { readonly sliceMs?: number; readonly maxSleepMs?: number } = {}) {
    this.#clock = clock
    this.#sliceMs = options.sliceMs ?? 2
    this.#maxSleepMs = options.maxSleepMs ?? 3_600_000
    this.#schedule = new Schedule(clock)
  }

  /** How many alarms are set. */
  get size(): number {
    return this.#schedule.size
  }

  open(ring: (handle: number, at: number) => void): AlarmSet {
    const user = this.#users.push(ring) - 1
    if (user >= maxUsers) throw new RangeError('too many users of one schedule')
    const prefix = String.fromCharCode(user)
    const keys = this.#keys
    return {
      intern: (key) => keys.intern(prefix + key),
      find: (key) => keys.find(prefix + key),
      keyOf: (handle) => keys.textOf(handle).slice(1),
      retain: (handle) => keys.retain(handle),
      release: (handle) => void keys.release(handle),
      set: (handle, at) => this.#set(handle, at, user),
      setEarliest: (handle, at) => {
        if (at < (this.#schedule.dueAt(handle) ?? Number.POSITIVE_INFINITY)) this.#set(handle, at, user)
      },
      delete: (handle) => this.#delete(handle),
      at: (handle) => this.#schedule.dueAt(handle),
      close: () => (this.#users[user] = undefined),
    }
  }

  close(): void {
    this.#disarm()
    this.#users.fill(undefined)
  }

  #set(handle: number, at: number, user: number): void {
    if (this.#schedule.dueAt(handle) === undefined) this.#keys.retain(handle)
    this.#schedule.set(handle, at, user)
    if (at < this.#armedAt) this.#arm(at)
  }

  #delete(handle: number): boolean {
    const deleted = this.#schedule.delete(handle)
    if (deleted) this.#keys.release(handle)
    return deleted
  }

  #arm(at: number): void {
    this.#disarm()
    this.#armedAt = at
    const delayMs = Math.min(this.#maxSleepMs, Math.max(0, at - this.#clock.now()))
    this.#disarm = this.#clock.after(delayMs, () => this.#ring())
  }

  #ring(): void {
    this.#armedAt = Number.POSITIVE_INFINITY
    const drained = this.#schedule.drain(this.#clock.now(), this.#sliceMs, (handle, at, user) => {
      this.#users[user]?.(handle, at)
      this.#keys.release(handle)
    })
    const nextAt = drained ? this.#schedule.nextAt() : this.#clock.now()
    if (nextAt !== undefined && nextAt < this.#armedAt) this.#arm(nextAt)
  }
}
