import type { ObjectRef } from '../kube/object.ts'

/** One resource a notice speaks of. */
export interface NoticeItem {
  readonly candidate: string
  readonly generation: number
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly place: string
  /** Why, one sentence per rule. */
  readonly reasons: readonly string[]
  /** The date that will hold. */
  readonly leavesAt: number
  readonly optOutUrl: string
  readonly resourceUrl: string
  /** Other policies that want it gone, each with a notice and a date of its own. */
  readonly otherPolicies: readonly string[]
  /** When somebody was last told of it; undefined at first. */
  readonly toldAt?: number | undefined
  /** The object itself, where it is in this cluster. */
  readonly object?: ObjectRef & { readonly uid: string }
}

/** What is told to one owner at once. */
export interface Notice {
  readonly kind: 'notice' | 'reminder'
  readonly policy: string
  /** Addresses; empty when nobody is known and the channel needs none. */
  readonly to: readonly string[]
  readonly items: readonly NoticeItem[]
  /** This is the part-th of so many. */
  readonly part: number
  readonly parts: number
  /** The same for the same notice, however often it is sent. */
  readonly messageId: string
  readonly docsUrl: string
  readonly timeZone: string
}

/** Who got it. At least one accepted recipient makes a notice confirmed. */
export interface Delivery {
  readonly accepted: readonly string[]
  /** Who got it beside those it is meant for. */
  readonly copies?: readonly string[]
  readonly rejected: readonly { readonly recipient: string; readonly error: string }[]
}

/** Whom a channel reaches: the owner by an address, people who share a place, or whoever looks at the object. Nearest first. */
export const reaches = ['owner', 'people', 'onlookers'] as const

/** A way to tell people. Rejects when it is not known to have arrived. */
export interface Channel {
  readonly name: string
  /** One that reaches owners can do nothing without an address. */
  readonly reaches: (typeof reaches)[number]
  send(notice: Notice, signal: AbortSignal): Promise<Delivery>
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

/** The line that says it all. */
export function subjectOf({ kind, items, part, parts, timeZone }: Notice): string {
  const [first] = items
  const what = items.length === 1 && first ? `${first.kind} ${first.name}` : `${items.length} resources`
  const earliest = Math.min(...items.map(({ leavesAt }) => leavesAt))
  const date = dateText(earliest, timeZone).replace(/, \d\d:\d\d.*$/, '')
  const counted = parts > 1 ? ` (${part} of ${parts})` : ''
  return oneLine(`${kind === 'reminder' ? 'Reminder: ' : ''}${what} will be deleted from ${date}${counted}`)
}

/** Why a resource is marked, and by whom else, a sentence each. */
export function reasonsOf({ reasons, otherPolicies }: NoticeItem): readonly string[] {
  const others = otherPolicies.map((name) => `"${name}"`).join(', ')
  return [
    ...reasons.map((reason) => `Because ${reason}`),
    ...(others ? [`Also marked by ${others}, with a date of its own; keeping it counts there, too`] : []),
  ]
}

/** Names are strangers' texts: no line breaks in headers. */
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
}
