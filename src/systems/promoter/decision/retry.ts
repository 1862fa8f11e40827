import { announcePhase, toHistory } from './promotions.ts'
import { enter, type Draft } from './draft.ts'

/** Asks for another try at what was rejected or has failed; any new value counts. */
export const retryAnnotation = 'sojourn.dev/retry'

/** A failed promotion goes on where it failed; a rejected one gives way to a new one with a new id. */
export function handleRetry(draft: Draft): void {
  const { status, observed, now } = draft
  const asked = observed.pipeline.metadata.annotations?.[retryAnnotation]
  if (asked === undefined || asked === status.retryHandled) return
  status.retryHandled = asked
  for (const [name, state] of Object.entries(status.environments ?? {})) {
    const { promotion } = state
    if (promotion?.phase === 'Failed' && promotion.failedIn) {
      enter(promotion, promotion.failedIn, 'RetryRequested', now)
      delete promotion.failedIn
      delete promotion.lastError
      announcePhase(draft, name, promotion)
    } else if (promotion?.phase === 'Rejected') {
      const { runSequence: sequence } = promotion
      const count = state.retry?.sequence === sequence ? state.retry.count : 0
      state.retry = { sequence, count: count + 1 }
      toHistory(state, now, 'RetryRequested')
    }
  }
}
