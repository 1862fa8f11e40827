/** Whether each code point is one UTF-16 unit, so that indexes are the same in both. */
export function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0xd800 && unit < 0xe000) return false
  }
  return true
}

/** Number of code points. */
export function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0xdc00 && unit < 0xe000 && at > 0 && isHigh(text.charCodeAt(at - 1))) length -= 1
  }
  return length
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** The part from one code point up to another. */
export function sliceText(text: string, start: number, end: number): string {
  return isPlain(text) ? text.slice(start, end) : Array.from(text).slice(start, end).join('')
}

/** The code point index of a UTF-16 index. */
export function codePointIndex(text: string, unit: number): number {
  return unit < 0 ? unit : lengthOf(text.slice(0, unit))
}

/** The UTF-16 index of a code point index. */
export function unitIndex(text: string, index: number): number {
  if (isPlain(text)) return index
  return Array.from(text).slice(0, index).join('').length
}
