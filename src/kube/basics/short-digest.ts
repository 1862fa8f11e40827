import { createHash } from 'node:crypto'

/** Sixteen hexadecimal digits that stand for a text, for names and to see whether it has changed. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
