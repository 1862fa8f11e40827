/** How a reconcile ended, if it did not throw: nothing to wait for but changes, or a time to look again. */
export type Outcome = { readonly next: 'change' } | { readonly next: 'time'; readonly at: number }

/** Nothing more to do until something that is watched changes. */
export const settled: Outcome = { next: 'change' }

/** Look again at this time (epoch milliseconds), or earlier if something changes. Replaces any former time. */
export function wakeAt(at: number): Outcome {
  return { next: 'time', at }
}

/** A failure that trying again cannot mend: reported once, tried again only when the object changes. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
}
