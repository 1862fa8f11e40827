import { PromotionError } from '../git/promotion-error.ts'
import type { Forge } from './forge.ts'

/** A comment that is written once and then edited in place. */
export interface OwnComment {
  /** The id of the comment as it was last written; undefined before. */
  readonly id: string | undefined
  /** A text that only this comment contains. */
  readonly marker: string
  readonly text: string
}

/** Writes a comment or edits it, and returns its id; `deleted` when a person deleted it, and nothing is written then. */
export async function upsertComment(forge: Forge, number: number, { id, marker, text }: OwnComment): Promise<string> {
  // A comment whose id was lost, by a crash between the write and its record, is found by its marker.
  const known = id ?? (await forge.comments(number)).find((comment) => comment.text.includes(marker))?.id
  const body = `${text}\n\n${marker}`
  if (known === undefined) return forge.comment(number, body)
  try {
    await forge.editComment(number, known, body)
    return known
  } catch (error) {
    if (error instanceof PromotionError && error.httpStatus === 404) return 'deleted'
    throw error
  }
}
