import { moveToHistory, resumeFailed } from './promotions.ts'
import type { Draft } from './draft.ts'

/** A new value of this annotation retries every failed or rejected promotion of the pipeline. */
export const retryAnnotation = 'sojourn.dev/retry'

/** Resumes failed promotions where they failed; a rejected one is replaced by a new one with a new id. */
export function handleRetry(draft: Draft): void {
  const { status, observed, now } = draft
  const requested = observed.pipeline.metadata.annotations?.[retryAnnotation]
  if (requested === undefined || requested === status.retryHandled) return
  status.retryHandled = requested
  for (const [name, state] of Object.entries(status.environments ?? {})) {
    const { promotion } = state
    if (promotion?.phase === 'Failed') resumeFailed(draft, name, promotion, 'RetryRequested')
    else if (promotion?.phase === 'Rejected') {
      const { runSequence: sequence } = promotion
      const count = state.retry?.sequence === sequence ? state.retry.count : 0
      state.retry = { sequence, count: count + 1 }
      moveToHistory(state, now, 'RetryRequested')
    }
  }
}
