import type { Environment, EnvironmentStatus } from '../../apis/environment.ts'
import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { setCondition } from '../../kube/conditions.ts'
import { refOf } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { addressesIn, mailboxOf, maxOwners, ownersIn } from '../../notices/addresses.ts'
import {
  dateText,
  deliver,
  soleNotice,
  type Channel,
  type Notice,
  type NoticeItem,
  type NoticeWords,
  type Told,
} from '../../notices/notice.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { creatorAnnotation } from '../../tenancy/creator-record.ts'
import { dueSentences } from './decision/describe.ts'

export const environmentWords: NoticeWords = {
  rule: 'the environment class',
  kind: 'EnvironmentClass',
  title: 'Environment notice',
  intro: {
    one: 'This environment is about to be deleted by the rules of its class. All its objects and volumes are deleted with it.',
    many: 'These environments are about to be deleted by the rules of their class. With an environment all its objects and volumes are deleted.',
  },
  keep: 'Keep it',
  component: 'environments',
  eventReason: 'EnvironmentAnnounced',
  eventType: 'dev.sojourn.environment',
}

const maxRetryMs = 6 * 3_600_000

/** One environment in a notice. */
export interface Announced {
  readonly self: Environment
  readonly keepUrl: string | undefined
  /** What is deleted with it, in words. */
  readonly contents: string
}

/** What telling the owner came to, for the status of an environment in the notice. */
export interface Telling extends Told {
  readonly messageId: string
  /** The date of the deletion, as the notice has it. */
  readonly date: string | undefined
  readonly now: number
}

/** Sends one notice about all these environments of one owner. */
export async function tell(
  announced: readonly Announced[],
  owner: string | undefined,
  { channels, log }: { readonly channels: readonly Channel[]; readonly log: Logger },
): Promise<Omit<Telling, 'date' | 'now'>> {
  const notice = noticeOf(announced, owner)
  const { messageId } = notice
  if (channels.length === 0) return { isTold: true, messageId }
  const told = deliver(notice, channels, { signal: AbortSignal.timeout(60_000), log })
  return { messageId, ...(await told.catch((error: unknown) => ({ isTold: false, error: String(error) }))) }
}

/** The status after a notice: told, or to be retried at most six hours later. */
export function statusAfterTelling(
  status: EnvironmentStatus,
  { now, date = '', ...telling }: Telling,
): EnvironmentStatus {
  const { announcement } = status
  if (!announcement) return status
  const attempts = (announcement.attempts ?? 0) + 1
  const { retryAt: _, ...rest } = announcement
  const at = formatTime(now)
  const outcome = telling.isTold
    ? { toldAt: at, date: date > announcement.date ? date : announcement.date }
    : { retryAt: formatTime(now + backoffDelay(attempts, { baseMs: 60_000, maxMs: maxRetryMs })) }
  const owner = status.owner === undefined ? {} : { owner: status.owner }
  const claim = telling.isTold
    ? ({ status: 'True', reason: 'Told', message: `${status.owner ?? 'its owner'} was told` } as const)
    : ({ status: 'False', reason: 'NotTold', message: telling.error ?? 'no channel accepted the notice' } as const)
  return {
    ...status,
    conditions: [...setCondition(status.conditions, { type: 'Notified', ...claim }, now)],
    announcement: { ...rest, ...owner, ...outcome, attempts, messageId: telling.messageId },
    ...(telling.isTold ? { lastToldAt: at } : {}),
  }
}

/**
 * Whose one notice a day an environment uses: each mailbox of its owner. Tenants write Environments: an owner that one names itself counts
 * apart for each author, so that none uses up, or adds to, the notices of others.
 */
export function recipientsOf({ metadata, spec, status }: Environment): readonly string[] {
  if (status?.owner === undefined) return []
  const mailboxes = [...new Set(addressesIn(status.owner).map(mailboxOf))].toSorted()
  const author = spec.owner === undefined ? '' : ` (${metadata.annotations?.[creatorAnnotation] ?? ''})`
  return (mailboxes.length > 0 ? mailboxes : [status.owner]).map((each) => each + author)
}

function noticeOf(announced: readonly Announced[], owner: string | undefined): Notice {
  const items = announced
    .map(itemOf)
    .toSorted((left, right) => left.deletionAt - right.deletionAt || (left.candidate < right.candidate ? -1 : 1))
  const marks = items.map(({ candidate, generation }) => `${candidate}@${generation}`)
  return soleNotice(environmentWords, JSON.stringify([owner, marks]), {
    policy: announced[0]?.self.spec.className ?? '',
    to: ownersIn(owner ?? '').slice(0, maxOwners),
    items,
  })
}

function itemOf({ self, keepUrl, contents }: Announced): NoticeItem {
  const { namespace = '', uid } = self.metadata
  const { announcement, lastUsedAt, lastUsedBy, urls = [] } = self.status ?? {}
  const used = lastUsedAt ? `; its last use was ${dateText(parseTime(lastUsedAt) ?? 0, 'UTC')} (${lastUsedBy})` : ''
  return {
    candidate: uid,
    generation: announcement?.generation ?? 0,
    kind: 'Environment',
    name: namespace,
    place: contents,
    reasons: [`${announcement ? dueSentences[announcement.reason] : ''}${used}`],
    deletionAt: parseTime(announcement?.date) ?? 0,
    optOutUrl: keepUrl,
    keepCommand: `sojourn keep ${namespace}`,
    resourceUrl: urls[0] ?? '',
    otherPolicies: [],
    object: { ...refOf(self), uid },
  }
}
