import { createHash } from 'node:crypto'
import type { Notice, NoticeItem } from '../../../notices/notice.ts'

/** One item of a notice, and the addresses of its owners. */
export interface AddressedItem {
  readonly owners: readonly string[]
  readonly item: NoticeItem
}

/** A notice, and whether it goes to one address or through the channels that need none. */
export interface ComposedNotice extends Notice {
  readonly isForAddress: boolean
}

export interface ComposeOptions extends Pick<Notice, 'kind' | 'policy' | 'docsUrl' | 'timeZone'> {
  readonly itemsPerMessage: number
  readonly cluster: string
  /** The page with everything of an owner; undefined where people cannot reach this server. */
  readonly listUrl: (owner: string, items: readonly NoticeItem[]) => string | undefined
}

/** An owner of more messages than this gets a digest, which names this many resources. */
const maxParts = 3
const digestItems = 500

/**
 * Composes one notice per address, however owners are combined, so that no combination multiplies an address's mail; and one
 * for the channels without addresses, which get every item once. Several parts when there are more items than one message holds.
 */
export function composeNotices(given: readonly AddressedItem[], options: ComposeOptions): readonly ComposedNotice[] {
  const addressed = given.flatMap(({ owners, item }) =>
    (owners.length > 0 ? owners : ['']).map((address, index) => ({
      owner: address.toLowerCase(),
      address,
      owners,
      item,
      isFirst: index === 0,
    })),
  )
  const byOwner = Map.groupBy(addressed, ({ owner }) => owner)
  return [...byOwner].flatMap(([owner, entries]) => {
    const [{ address } = { address: '' }] = entries
    const first = entries.filter(({ isFirst }) => isFirst)
    const together = [...new Set(first.flatMap(({ owners }) => owners))]
    return [
      ...(address ? partsOf(entries, { owner, to: [address], isForAddress: true }, options) : []),
      ...partsOf(first, { owner, to: together, isForAddress: false }, options),
    ]
  })
}

function partsOf(
  entries: readonly { readonly item: NoticeItem }[],
  { owner, ...recipients }: Pick<ComposedNotice, 'to' | 'isForAddress'> & { readonly owner: string },
  options: ComposeOptions,
): readonly ComposedNotice[] {
  if (entries.length === 0) return []
  const { kind, policy, docsUrl, timeZone, cluster } = options
  const items = entries
    .map(({ item }) => item)
    .toSorted((left, right) => left.deletionAt - right.deletionAt || (left.candidate < right.candidate ? -1 : 1))
  const listUrl = options.listUrl(owner, items)
  const isDigest = items.length > maxParts * options.itemsPerMessage
  const itemsPerMessage = isDigest ? digestItems : options.itemsPerMessage
  const parts = Math.ceil(items.length / itemsPerMessage)
  return Array.from({ length: parts }, (_, index) => {
    const slice = items.slice(index * itemsPerMessage, (index + 1) * itemsPerMessage)
    return {
      kind,
      policy,
      cluster,
      isDigest,
      ...(listUrl === undefined ? {} : { listUrl }),
      ...recipients,
      items: slice,
      part: index + 1,
      parts,
      messageId: messageIdOf({ kind, policy, owner, items: slice }),
      docsUrl,
      timeZone,
    }
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
