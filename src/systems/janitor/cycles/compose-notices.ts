import { createHash } from 'node:crypto'
import { addressesIn } from '../../../notices/addresses.ts'
import type { Notice, NoticeItem } from '../../../notices/notice.ts'

/** One item of a notice, and the addresses of its owner. */
export interface AddressedItem {
  readonly owner: string
  readonly item: NoticeItem
}

export interface ComposeOptions {
  readonly kind: Notice['kind']
  readonly policy: string
  readonly itemsPerMessage: number
  readonly docsUrl: string
  readonly timeZone: string
  readonly cluster: string
  /** The page with everything of an owner; undefined where people cannot reach this server. */
  readonly listUrl: (owner: string, items: readonly NoticeItem[]) => string | undefined
}

/** An owner of more messages than this gets a digest, which names this many resources. */
const maxParts = 3
const digestItems = 500

/** Composes one notice per owner, or several parts when the owner has more items than one message holds. */
export function composeNotices(addressed: readonly AddressedItem[], options: ComposeOptions): readonly Notice[] {
  const { kind, policy, docsUrl, timeZone, cluster } = options
  const byOwner = Map.groupBy(addressed, ({ owner }) => owner)
  return [...byOwner].flatMap(([owner, entries]) => {
    const items = entries
      .map(({ item }) => item)
      .toSorted((left, right) => left.deletionAt - right.deletionAt || (left.candidate < right.candidate ? -1 : 1))
    const listUrl = options.listUrl(owner, items)
    const isDigest = listUrl !== undefined && items.length > maxParts * options.itemsPerMessage
    const itemsPerMessage = isDigest ? digestItems : options.itemsPerMessage
    const parts = Math.ceil(items.length / itemsPerMessage)
    return Array.from({ length: parts }, (_, index): Notice => {
      const slice = items.slice(index * itemsPerMessage, (index + 1) * itemsPerMessage)
      return {
        kind,
        policy,
        cluster,
        ...(listUrl === undefined ? {} : { listUrl, isDigest }),
        to: addressesIn(owner),
        items: slice,
        part: index + 1,
        parts,
        messageId: messageIdOf({ kind, policy, owner, items: slice }),
        docsUrl,
        timeZone,
      }
    })
  })
}

/** The same for the same notice, so that receivers can drop a repeated one. */
function messageIdOf(notice: Pick<Notice, 'kind' | 'policy' | 'items'> & { readonly owner: string }): string {
  const { kind, policy, owner, items } = notice
  const marks = items.map(({ candidate, generation }) => `${candidate}@${generation}`).toSorted()
  // Reminders of the same marks differ by their deletion dates and by when the owner was last notified.
  const when = kind === 'reminder' ? items.map(({ deletionAt, toldAt = 0 }) => [deletionAt, toldAt]) : []
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, policy, owner, marks, when]))
    .digest('hex')
    .slice(0, 32)
  return `<${digest}@janitor.sojourn.dev>`
}
