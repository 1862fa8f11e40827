import type { DueReason, Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { dateText } from '../../../notices/notice.ts'
import type { ClassRules } from './rules.ts'
import type { StayDecision } from './stay.ts'

/** Why an environment is due, as the end of a sentence. */
export const dueSentences: Readonly<Record<DueReason, string>> = {
  'pull-request-closed': 'its pull request is closed',
  'pull-request-stale': 'no push and no use came for a long time',
  unused: 'it was not used',
  'max-age': 'it has reached the maximum age of its class',
  condition: 'the condition of its class is true',
  evicted: 'its class is full and it is the least recently used',
}

/** Why a due deletion does not happen, and the condition that tells more. */
export const holds = {
  'pull-request-unknown': { text: 'the pull request cannot be read', type: 'PullRequestKnown' },
  'use-unknown': { text: 'its use cannot be seen', type: 'UseVisible' },
  'owner-unknown': {
    text: 'no owner is known who could be told: set spec.owner, or owner.default of the class',
    type: '',
  },
  'not-told': { text: 'the owner could not be told', type: 'Notified' },
} as const

/** What happens to an environment next, in a sentence. */
export function messageOf(decision: StayDecision, { held, ...told }: Told): string {
  switch (decision.do) {
    case 'stay':
      if (!decision.due) return 'no rule of its class deletes it'
      return `will be deleted on ${formatTime(decision.due.at)}${because(decision.due.reason, told)}${held ? `; held while ${held}` : ''}`
    case 'announce':
    case 'move':
      return `will be deleted on ${formatTime(decision.date)}`
    case 'hold':
      return `the deletion is due and held: ${held ?? holds[decision.because].text}`
    case 'delete':
      return `being deleted: ${dueSentences[decision.reason]}`
    case 'tell':
    case 'withdraw':
      return 'the owner is being told'
  }
}

export interface Told {
  readonly lastUsedAt: number
  readonly lastUsedBy: string | undefined
  readonly toldAt: number | undefined
  /** What its time is counted from. */
  readonly since: ClassRules['since']
  /** Why its deletion is held, now or when its date comes. */
  readonly held: string | undefined
}

function because(reason: DueReason, { lastUsedAt, lastUsedBy, toldAt, since }: Omit<Told, 'held'>): string {
  const used = `last use ${formatTime(lastUsedAt)}${lastUsedBy ? ` (${lastUsedBy})` : ''}`
  if (toldAt !== undefined) return `: ${dueSentences[reason]}, ${used}; the owner was told ${formatTime(toldAt)}`
  // Nothing has happened yet: most uses move the date.
  if (reason === 'unused' && since === 'Created') return `, counted from its creation; ${used}`
  if (reason === 'unused') return ` unless it is ${since === 'LastDeployed' ? 'deployed' : 'used'} before; ${used}`
  return reason === 'pull-request-stale'
    ? ` unless a push or a use comes before; ${used}`
    : `: ${dueSentences[reason]}, ${used}`
}

/** The phase: the most urgent of what an environment is. */
export function phaseOf(status: EnvironmentStatus, isHeld: boolean): NonNullable<EnvironmentStatus['phase']> {
  if (isHeld) return 'Held'
  if (status.deletion) return 'Deleting'
  return status.announcement ? 'Announced' : (status.power ?? 'Awake')
}

/** The comment on a pull request. Times are absolute, so that it stays true. Names are those of Kubernetes and need no escaping. */
export function commentText({ metadata }: Environment, status: EnvironmentStatus, keepUrl: string | undefined): string {
  const { urls = [], phase, deletesAt, deletion } = status
  const name = metadata.namespace ?? ''
  if (deletion)
    return `**Environment ${name}** is being deleted: ${dueSentences[deletion.reason]}.${deletion.record ? `\n\nBring it back: \`sojourn restore ${deletion.record}\`` : ''}`
  const state = { Awake: 'awake', Waking: 'waking', Asleep: 'asleep, the first request wakes it' }[
    status.power ?? 'Awake'
  ]
  return [
    `**Environment ${name}** is ${state}.`,
    ...urls.slice(0, 5).map((url) => `- ${url}`),
    ...(deletesAt
      ? [
          `\nIt is deleted on ${dateText(parseTime(deletesAt) ?? 0, 'UTC')}${phase === 'Held' ? ', once nothing holds it' : ''}.`,
        ]
      : []),
    ...(keepUrl && status.announcement ? [`[Keep it](${keepUrl})`] : []),
  ].join('\n')
}
