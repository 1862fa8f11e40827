import { createHash } from 'node:crypto'
import { addressesIn } from '../policy/owner.ts'
import type { Notice, NoticeItem } from '../../../notices/notice.ts'

/** Something to be told, and to whom. */
export interface Told {
  readonly owner: string
  readonly item: NoticeItem
}

export interface ComposeOptions {
  readonly kind: Notice['kind']
  readonly policy: string
  readonly itemsPerMessage: number
  readonly docsUrl: string
  readonly timeZone: string
}

/** One notice per owner, or several where there is more to tell than one may hold: nothing is left out. */
export function composeNotices(told: readonly Told[], options: ComposeOptions): readonly Notice[] {
  const { kind, policy, itemsPerMessage, docsUrl, timeZone } = options
  const byOwner = Map.groupBy(told, ({ owner }) => owner)
  return [...byOwner].flatMap(([owner, things]) => {
    const items = things
      .map(({ item }) => item)
      .toSorted((left, right) => left.leavesAt - right.leavesAt || (left.candidate < right.candidate ? -1 : 1))
    const parts = Math.ceil(items.length / itemsPerMessage)
    return Array.from({ length: parts }, (_, index): Notice => {
      const slice = items.slice(index * itemsPerMessage, (index + 1) * itemsPerMessage)
      return {
        kind,
        policy,
        to: addressesIn(owner),
        items: slice,
        part: index + 1,
        parts,
        messageId: messageIdOf(kind, policy, owner, slice),
        docsUrl,
        timeZone,
      }
    })
  })
}

function messageIdOf(kind: string, policy: string, owner: string, items: readonly NoticeItem[]): string {
  const marks = items.map(({ candidate, generation }) => `${candidate}@${generation}`).toSorted()
  // A reminder is told from its notice, and from another reminder, by when its things leave and when that was last told.
  const when = kind === 'reminder' ? items.map(({ leavesAt, toldAt = 0 }) => [leavesAt, toldAt]) : []
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, policy, owner, marks, when]))
    .digest('hex')
    .slice(0, 32)
  return `<${digest}@janitor.sojourn.dev>`
}
