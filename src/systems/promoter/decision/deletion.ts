import type { Draft } from './draft.ts'
import type { Decision } from './decide.ts'
import { dueEffect } from './effects.ts'
import { announceAbandoned, isOver, isUnfinished, supersede } from './promotions.ts'
import { reportDryRun } from './report.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'

/** Withdraws what environments removed from the spec have open, then drops their status. */
export function withdrawRemovedEnvironments(draft: Draft): void {
  const planned = new Set(draft.plan.environments.map(({ name }) => name))
  for (const name of Object.keys(draft.status.environments ?? {}))
    if (!planned.has(name) && withdraw(draft, name, 'EnvironmentRemoved')) delete draft.status.environments?.[name]
}

/** The decision for a pipeline that is being deleted: withdraw everything it has open, then let the deletion finish. */
export function decideDeletion(draft: Draft): Omit<Decision, 'wakeAt' | 'changesAt'> {
  const { status } = draft
  const over = Object.keys(status.environments ?? {}).map((name) => withdraw(draft, name, 'PipelineDeleted'))
  const canBeDeleted = !over.includes(false)
  const effect = canBeDeleted ? undefined : dueEffect(draft)
  reportDryRun(draft)
  const { announcements } = draft
  return { status, effect, announcements, approvals: new Map(), expired: [], canBeDeleted }
}

/** Ends the environment's promotion. True once nothing of it is open outside. */
function withdraw(draft: Draft, name: string, because: Because): boolean {
  const promotion = draft.status.environments?.[name]?.promotion
  if (!promotion) return true
  if (isUnfinished(promotion)) {
    const leaveOpen = draft.observed.pipeline.spec.withdrawal === 'Orphan'
    supersede(draft, name, promotion, { because, leaveOpen })
  } else if (promotion.withdraw === 'Due') promotion.because = because
  announceAbandoned(draft, name, promotion)
  return isOver(promotion)
}
