import type { KubeObject } from '../../../kube/object.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Decision, Observed } from './decide.ts'
import type { CleanerStatus, Model } from './model.ts'

export type Warning = NonNullable<CleanerStatus['warning']>

/** Until when the link of a notice keeps a Cleaner; 0 when no user has kept it. */
export function keptUntil(status: unknown): number {
  return parseTime((status as CleanerStatus | undefined)?.keptUntil) ?? 0
}

/** The warning that holds for the spec as it is, and that no keep has superseded. */
export function currentWarning({ metadata, status }: KubeObject): Warning | undefined {
  const { warning } = (status ?? {}) as CleanerStatus
  const isCurrent = warning?.generation === metadata.generation && (parseTime(warning?.date) ?? 0) >= keptUntil(status)
  return isCurrent ? warning : undefined
}

/** Puts a notice before the deletion where `spec.warn` asks for one: nothing is deleted before it is told and its date has come. */
export function withWarning({ self, reading }: Observed, decision: Decision, now: number): Decision {
  if (!('model' in reading)) return decision
  const { warn } = reading.model
  const earliest = earliestDeletion(decision, reading.model, now)
  if (!warn || earliest === undefined) return decision
  const warning = currentWarning(self)
  const date = parseTime(warning?.date) ?? 0
  if (warning?.toldAt !== undefined) return now < date ? untilDate(date) : decision
  const retryAt = parseTime(warning?.retryAt) ?? 0
  if (now < retryAt) {
    const message = `its deletion could not be announced, so nothing is deleted: ${warning?.error ?? ''}`
    return { do: 'wait', because: 'not-announced', message, until: retryAt }
  }
  const tellAt = earliest - warn.beforeMs
  if (now < tellAt && decision.do === 'wait') return { ...decision, until: tellAt }
  // The whole warning counts from the notice, however late it is.
  return { ...untilDate(Math.max(earliest, date, now + warn.beforeMs)), do: 'tell' }
}

function untilDate(date: number) {
  const message = `its deletion is announced for ${formatTime(Math.ceil(date / 1000) * 1000)}`
  return { do: 'wait', because: 'announced', message, until: date, date } as const
}

/** Conditions are announced once they are true: before that, their time is not known. */
function earliestDeletion(decision: Decision, { conditions }: Model, now: number): number | undefined {
  if (decision.do === 'delete') return now
  const isCertain = decision.because === 'not-expired' && conditions.length === 0
  return isCertain && decision.do === 'wait' ? decision.until : undefined
}

/** Whether conditions were false after the announced date: once they are true again, that is a deletion of its own. */
export function isOutdated({ toldAt, date }: Warning, decision: Decision, now: number): boolean {
  const areFalse = decision.because === 'waiting-for-conditions' || decision.because === 'target-unresolved'
  return areFalse && toldAt !== undefined && now >= (parseTime(date) ?? 0)
}
