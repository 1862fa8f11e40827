import { createHash } from 'node:crypto'
import type { Environment, EnvironmentStatus } from '../../apis/environment.ts'
import type { NotificationChannel } from '../../apis/notification-channel.ts'
import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { refOf } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { addressesIn } from '../../notices/addresses.ts'
import {
  deliver,
  type Channel,
  type Notice,
  type NoticeItem,
  type NoticeWords,
  type Told,
} from '../../notices/notice.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { dueSentences } from './decision/describe.ts'

export const environmentWords: NoticeWords = {
  rule: 'the environment class',
  kind: 'EnvironmentClass',
  title: 'Environment notice',
  intro: {
    one: 'This environment is about to be deleted by the rules of its class. All its objects and volumes are deleted with it; values of Secrets cannot be restored.',
    many: 'These environments are about to be deleted by the rules of their class. With an environment all its objects and volumes are deleted; values of Secrets cannot be restored.',
  },
  keep: 'Keep it',
  component: 'environments',
  eventReason: 'EnvironmentAnnounced',
  eventType: 'dev.sojourn.environment',
}

const dayMs = 86_400_000
const maxRetryMs = 6 * 3_600_000

/** One environment in a notice. */
export interface Announced {
  readonly self: Environment
  readonly keepUrl: string | undefined
}

export interface TellPorts {
  readonly openChannel: (channel: NotificationChannel) => Channel
  readonly now: () => number
  readonly log: Logger
  readonly timeZone: string
}

/** What telling the owner came to, for the status of each environment in the notice. */
export interface Telling extends Told {
  readonly messageId: string
}

/** Sends one notice about all these environments of one owner. */
export async function tell(
  announced: readonly Announced[],
  {
    channels,
    owner,
    signal,
  }: {
    readonly channels: readonly NotificationChannel[]
    readonly owner: string | undefined
    readonly signal: AbortSignal
  },
  ports: TellPorts,
): Promise<Telling> {
  const notice = noticeOf(announced, owner, ports.timeZone)
  const opened = channels.map((channel) => ports.openChannel(channel))
  const told = channels.length === 0 ? { isTold: true } : await deliver(notice, opened, { signal, log: ports.log })
  return { ...told, messageId: notice.messageId }
}

/** The status after a notice: told, or to be retried at most six hours later. */
export function statusAfterTelling(status: EnvironmentStatus, telling: Telling, now: number): EnvironmentStatus {
  const { announcement } = status
  if (!announcement) return status
  const attempts = (announcement.attempts ?? 0) + 1
  const { retryAt: _, ...rest } = announcement
  const at = formatTime(now)
  const outcome = telling.isTold
    ? { toldAt: at }
    : { retryAt: formatTime(now + backoffDelay(attempts, { baseMs: 60_000, maxMs: maxRetryMs })) }
  const owner = status.owner === undefined ? {} : { owner: status.owner }
  return {
    ...status,
    announcement: { ...rest, ...owner, ...outcome, attempts, messageId: telling.messageId },
    ...(telling.isTold ? { lastToldAt: at } : {}),
  }
}

/** The next instant at which an owner may get a notice: one a day, whatever the number of environments. */
export function mailSlot(owned: readonly Environment[]): number {
  const times = owned.flatMap(({ status }) => parseTime(status?.lastToldAt) ?? [])
  return times.length === 0 ? 0 : Math.max(...times) + dayMs
}

function noticeOf(announced: readonly Announced[], owner: string | undefined, timeZone: string): Notice {
  const items = announced
    .map(itemOf)
    .toSorted((left, right) => left.deletionAt - right.deletionAt || (left.candidate < right.candidate ? -1 : 1))
  const marks = items.map(({ candidate, generation }) => `${candidate}@${generation}`)
  const digest = createHash('sha256')
    .update(JSON.stringify([owner, marks]))
    .digest('hex')
    .slice(0, 32)
  return {
    kind: 'notice',
    words: environmentWords,
    policy: announced[0]?.self.spec.className ?? '',
    to: addressesIn(owner ?? ''),
    items,
    part: 1,
    parts: 1,
    messageId: `<${digest}@environments.sojourn.dev>`,
    docsUrl: '',
    timeZone,
  }
}

function itemOf({ self, keepUrl }: Announced): NoticeItem {
  const { namespace = '', uid } = self.metadata
  const { announcement, lastUsedAt, lastUsedBy, urls = [], workloads } = self.status ?? {}
  const count = (workloads?.awake ?? 0) + (workloads?.asleep ?? 0)
  return {
    candidate: uid,
    generation: announcement?.generation ?? 0,
    kind: 'Environment',
    name: namespace,
    place: count === 1 ? '1 workload' : `${count} workloads`,
    reasons: [
      announcement ? dueSentences[announcement.reason] : '',
      ...(lastUsedAt ? [`its last use was ${lastUsedAt}${lastUsedBy ? ` (${lastUsedBy})` : ''}`] : []),
    ],
    deletionAt: parseTime(announcement?.date) ?? 0,
    optOutUrl: keepUrl,
    keepCommand: `sojourn keep ${namespace}`,
    resourceUrl: urls[0] ?? '',
    otherPolicies: [],
    object: { ...refOf(self), uid },
  }
}
