import type { Draft } from './draft.ts'
import type { Decision } from './decide.ts'
import { dueEffect } from './effects.ts'
import { announceLeft, isOver, isUnfinished, supersede } from './promotions.ts'
import { reportDryRun } from './report.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'

/** Environments that left the spec: what they have open is taken back, then their record goes. */
export function dropRemoved(draft: Draft): void {
  const kept = new Set(draft.plan.environments.map(({ name }) => name))
  for (const name of Object.keys(draft.status.environments ?? {}))
    if (!kept.has(name) && takeBack(draft, name, 'EnvironmentRemoved')) delete draft.status.environments?.[name]
}

/** A pipeline that is being deleted takes back what it has open, then may go. */
export function deletionStep(draft: Draft): Omit<Decision, 'wakeAt' | 'changesAt'> {
  const { status, announcements } = draft
  const over = Object.keys(status.environments ?? {}).map((name) => takeBack(draft, name, 'PipelineDeleted'))
  const mayGo = !over.includes(false)
  const effect = mayGo ? undefined : dueEffect(draft)
  reportDryRun(draft)
  return { status, effect, announcements, approvals: new Map(), outdated: [], mayGo }
}

/** Whether nothing is left outside. */
function takeBack(draft: Draft, name: string, because: Because): boolean {
  const promotion = draft.status.environments?.[name]?.promotion
  if (!promotion) return true
  if (isUnfinished(promotion)) {
    const leaveOpen = draft.observed.pipeline.spec.withdrawal === 'Orphan'
    supersede(draft, name, promotion, { because, leaveOpen })
  } else if (promotion.withdraw === 'Due') promotion.because = because
  announceLeft(draft, name, promotion)
  return isOver(promotion)
}
