import { limits } from '../../../parsing/limits.ts'

/** Maximum nesting of a body: more than any real object, and safe for recursive code. */
export const maxDepth = limits.apiJson.depth

/** Whether a JSON text exceeds the maximum nesting. Scans the text, because parsing it could overflow the stack. */
export function isTextTooDeep(text: string, limit: number = maxDepth): boolean {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) index = endOfString(text, index)
    else if (code === openBrace || code === openBracket) {
      if (++depth > limit) return true
    } else if (code === closeBrace || code === closeBracket) depth--
  }
  return false
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** The index of the quote that closes the string opened at `start`; the length of the text when none does. */
export function endOfString(text: string, start: number): number {
  let at = start
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) return text.length
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at
  }
}
