import { createHash } from 'node:crypto'
import type { ObjectRef } from '../kube/object.ts'
import type { Logger } from '../runtime/observability/log.ts'

/** One resource that a notice announces. */
export interface NoticeItem {
  readonly candidate: string
  readonly generation: number
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly place: string
  /** Name, age, size and price of a cloud resource, which its id does not tell. */
  readonly about?: string | undefined
  /** Why it is marked, one clause per rule: "it is older than 30 days". */
  readonly reasons: readonly string[]
  /** The resource is not deleted before this time. */
  readonly deletionAt: number
  /** A page on which its bearer keeps the resource. Undefined where no URL is known by which people reach this server. */
  readonly optOutUrl?: string | undefined
  /** The command that keeps the resource. */
  readonly keepCommand: string
  readonly resourceUrl: string
  /** Other policies that marked it, and when each deletes it at the earliest. */
  readonly otherPolicies: readonly { readonly name: string; readonly deletionAt: number | undefined }[]
  /** When the owner was last notified of it; undefined at first. */
  readonly toldAt?: number | undefined
  /** The object itself, where it is in this cluster. */
  readonly object?: ObjectRef & { readonly uid: string }
}

/** What notices of one system say of themselves. */
export interface NoticeWords {
  /** In front of the rule's name: "the cleanup policy". */
  readonly rule: string
  readonly kind: string
  readonly title: string
  readonly intro: { readonly one: string; readonly many: string }
  readonly keep: string
  readonly component: 'janitor' | 'environments' | 'cleaner'
  readonly eventReason: string
  /** Beginning of the type of CloudEvents. */
  readonly eventType: string
}

export const cleanupWords: NoticeWords = {
  rule: 'the cleanup policy',
  kind: 'CleanupPolicy',
  title: 'Cleanup notice',
  intro: {
    one: 'A cleanup policy found that this resource seems to be no longer needed, and marked it for deletion.',
    many: 'A cleanup policy found that these resources seem to be no longer needed, and marked them for deletion.',
  },
  keep: 'Keep it',
  component: 'janitor',
  eventReason: 'CleanupScheduled',
  eventType: 'dev.sojourn.cleanup',
}

/** One message to one owner. */
export interface Notice {
  readonly kind: 'notice' | 'reminder'
  /** Defaults to the words of cleanup policies. */
  readonly words?: NoticeWords
  readonly policy: string
  /** The cluster that sends it, for people who have several. */
  readonly cluster?: string | undefined
  /** A page with everything that the policy has marked of this owner, on which its bearer can keep all of it. */
  readonly listUrl?: string | undefined
  /** Names every item in one line, for owners of very many. Defaults to false. */
  readonly isDigest?: boolean
  /** The owner's addresses; empty when no owner is known and the channel needs none. */
  readonly to: readonly string[]
  readonly items: readonly NoticeItem[]
  /** The number of this message, from 1 to `parts`. */
  readonly part: number
  readonly parts: number
  /** Stays the same when the same notice is sent again. */
  readonly messageId: string
  readonly docsUrl: string
  readonly timeZone: string
}

/** The one message of a notice that is not a janitor's. Equal identities are one notice, sent again. */
export function soleNotice(words: NoticeWords, identity: string, of: Pick<Notice, 'policy' | 'to' | 'items'>): Notice {
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 32)
  const messageId = `<${digest}@${words.component}.sojourn.dev>`
  return { kind: 'notice', words, ...of, part: 1, parts: 1, messageId, docsUrl: '', timeZone: 'UTC' }
}

/** The result of a delivery. At least one accepted recipient confirms the notice. */
export interface Delivery {
  readonly accepted: readonly string[]
  /** Recipients of copies, which confirm nothing. */
  readonly copies?: readonly string[]
  readonly rejected: readonly { readonly recipient: string; readonly error: string }[]
}

/** Who receives a channel's notices: the owner by address, a group of people, or readers of the object's Events. Nearest to the owner first. */
export const audiences = ['owner', 'group', 'readers'] as const

/** A message that announces nothing: a plain text to people. */
export interface Letter {
  /** Empty where the channel has recipients of its own. */
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
}

/** Delivers notices to people. */
export interface Channel {
  readonly name: string
  /** A channel with the audience `owner` needs an address. */
  readonly audience: (typeof audiences)[number]
  /** Rejects when the notice is not known to have arrived. */
  send(notice: Notice, signal: AbortSignal): Promise<Delivery>
  /** Absent where the channel carries notices only. Rejects when no recipient accepted the letter. */
  readonly write?: (letter: Letter, signal: AbortSignal) => Promise<void>
}

/** What telling people came to. */
export interface Told {
  readonly isTold: boolean
  readonly error?: string
}

/** Sends a notice by all channels. The ones nearest to the owner decide whether it counts. */
export async function deliver(
  notice: Notice,
  channels: readonly Channel[],
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<Told> {
  const usable = channels.filter(({ audience }) => audience !== 'owner' || notice.to.length > 0)
  const nearest = audiences.find((audience) => usable.some((channel) => channel.audience === audience))
  let isTold = false
  let error = usable.length === 0 ? 'the owner has no address that a channel can use' : undefined
  for (const channel of usable) {
    try {
      const { accepted, rejected } = await channel.send(notice, signal)
      if (channel.audience === nearest && accepted.length > 0) isTold = true
      if (accepted.length === 0) error ??= rejected[0]?.error
    } catch (failure) {
      if (signal.aborted) throw failure
      error ??= `channel ${channel.name}: ${(failure as Error).message}`.slice(0, 300)
      log.error('notice not sent', { channel: channel.name, error: failure })
    }
  }
  return { isTold, ...(error === undefined ? {} : { error }) }
}

/** `Mon, 16 Mar 2026, 10:00 (America/Los_Angeles)`: the same in every part of a notice. */
export function dateText(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  return `${format.format(at)} (${timeZone})`
}

/** The subject line: what will be deleted, and from when. */
export function subjectOf({ kind, items, part, parts, timeZone, cluster }: Notice): string {
  const [first] = items
  const what = items.length === 1 && first ? `${first.kind} ${first.name}` : `${items.length} resources`
  const earliest = Math.min(...items.map(({ deletionAt }) => deletionAt))
  const date = dateText(earliest, timeZone).replace(/, \d\d:\d\d.*$/, '')
  const numbered = parts > 1 ? ` (${part} of ${parts})` : ''
  const from = cluster === undefined ? '' : `[${cluster}] `
  return oneLine(`${from}${kind === 'reminder' ? 'Reminder: ' : ''}${what} will be deleted from ${date}${numbered}`)
}

/** The first sentences of a notice. */
export function introOf({ kind, items, words = cleanupWords }: Notice): {
  readonly what: string
  readonly unless: string
} {
  const isOne = items.length === 1
  const still = isOne ? 'this resource is still' : 'these resources are still'
  return {
    what:
      kind === 'reminder' ? `This is a reminder: ${still} marked for deletion.` : words.intro[isOne ? 'one' : 'many'],
    unless: isOne
      ? 'It will be deleted from the date below unless you act.'
      : 'They will be deleted from the dates below unless you act.',
  }
}

/** How to keep a resource: the end of a sentence that begins with "To keep it, ". */
export function howToKeep({ optOutUrl, keepCommand }: NoticeItem): string {
  return optOutUrl === undefined ? `run: ${oneLine(keepCommand)}` : `open ${optOutUrl}`
}

/** Why a resource is marked, and which other policies have marked it, one sentence each. */
export function reasonsOf({ reasons, otherPolicies, deletionAt }: NoticeItem): readonly string[] {
  const others = otherPolicies.map(({ name }) => `"${name}"`).join(', ')
  const [first] = otherPolicies
    .filter((other) => other.deletionAt !== undefined && other.deletionAt < deletionAt)
    .toSorted((left, right) => (left.deletionAt ?? 0) - (right.deletionAt ?? 0))
  const acts = first
    ? `"${first.name}" acts first, from ${dateText(first.deletionAt ?? 0, 'UTC')}`
    : 'this policy acts first'
  return [
    ...reasons.map((reason) => `Because ${reason}`),
    ...(others
      ? [`Also marked by the cleanup policy ${others}, with its own date: ${acts}. Keeping it applies to all policies`]
      : []),
  ]
}

/** Removes control characters: names are untrusted and must not break header lines. */
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
}
