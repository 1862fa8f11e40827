/** Which work goes first: what a person asked for, what changed, what has come due, what was there when we came. */
export type Priority = 'user' | 'change' | 'due' | 'initial'

/** Keys (dense handles) that want work: each at most once, none to two workers, urgent first, first come first served within. */
export declare class WorkQueue {
  /** How many are ready to be taken. */
  readonly size: number
  /** How many are taken and not yet done. */
  readonly active: number
  add(handle: number, priority?: Priority): void
  /** The next handle, or -1 when none is ready. */
  take(): number
  /** Work on a taken handle has ended; if it was added meanwhile it is ready again. */
  done(handle: number): void
  /** Takes a handle back that is ready, and forgets a second turn of one that is taken. */
  remove(handle: number): boolean
  has(handle: number): boolean
}
