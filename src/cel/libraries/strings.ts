import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { overload, type Library, type Overload } from '../functions.ts'
import { indexValue, type CelInt } from '../numbers.ts'
import { codePointIndex, lengthOf, sliceText, unitIndex } from '../text.ts'
import type { CelValue } from '../values.ts'
import { formatText } from './string-format.ts'

const outOfRange = (index: CelInt): CelError => new CelError(`index out of range: ${index}`)
const everywhere = -1

function charAt(frame: Frame, text: string, index: CelInt): CelValue {
  frame.chargeText(text.length * 8)
  const at = indexValue(index) ?? -1
  if (at < 0 || at > lengthOf(text)) return outOfRange(index)
  return sliceText(text, at, at + 1)
}

function indexOf(frame: Frame, text: string, part: string, from: CelInt = 0): CelValue {
  chargePair(frame, text, part)
  const start = indexValue(from) ?? -1
  if (start < 0 || (start > 0 && start > lengthOf(text))) return outOfRange(from)
  return codePointIndex(text, text.indexOf(part, unitIndex(text, start)))
}

function lastIndexOf(frame: Frame, text: string, part: string, upTo?: CelInt): CelValue {
  chargePair(frame, text, part)
  if (upTo === undefined) return codePointIndex(text, text.lastIndexOf(part))
  const last = indexValue(upTo) ?? -1
  if (last < 0 || last > lengthOf(text)) return outOfRange(upTo)
  return codePointIndex(text, text.lastIndexOf(part, unitIndex(text, last)))
}

function substring(frame: Frame, text: string, from: CelInt, to?: CelInt): CelValue {
  frame.chargeText(text.length * 4)
  const length = lengthOf(text)
  const start = indexValue(from) ?? -1
  const end = to === undefined ? length : (indexValue(to) ?? -1)
  if (start < 0 || start > length) return outOfRange(from)
  if (end < 0 || end > length) return outOfRange(to ?? end)
  return start > end ? new CelError(`invalid substring range: ${start} to ${end}`) : sliceText(text, start, end)
}

function replace(frame: Frame, text: string, ...[part, by, most = everywhere]: [string, string, CelInt?]): CelValue {
  const limit = indexValue(most) ?? everywhere
  const pieces = part === '' ? Array.from(text) : text.split(part)
  const count = part === '' ? pieces.length + 1 : pieces.length - 1
  const done = limit < 0 ? count : Math.min(limit, count)
  frame.charge(pieces.length)
  frame.chargeSearch(text, part)
  frame.chargeText(text.length + done * by.length)
  if (part === '') return interleaved(pieces, by, done)
  return (
    pieces.slice(0, done + 1).join(by) +
    pieces
      .slice(done + 1)
      .map((piece) => part + piece)
      .join('')
  )
}

/** The text before each of the first characters, and at the end if it is their turn. */
function interleaved(characters: readonly string[], by: string, done: number): string {
  const body = characters.map((character, index) => (index < done ? by + character : character)).join('')
  return done > characters.length ? body + by : body
}

function split(frame: Frame, text: string, separator: string, most: CelInt = everywhere): CelValue {
  frame.chargeSearch(text, separator)
  const limit = indexValue(most) ?? everywhere
  if (limit === 0) return []
  const pieces = separator === '' ? Array.from(text) : text.split(separator)
  if (pieces.length > 4) frame.charge(pieces.length)
  if (limit < 0 || pieces.length <= limit) return pieces
  return [...pieces.slice(0, limit - 1), pieces.slice(limit - 1).join(separator)]
}

function join(frame: Frame, list: readonly CelValue[], separator = ''): CelValue {
  frame.charge(list.length * 2)
  const texts = list.filter((element) => typeof element === 'string')
  if (texts.length < list.length) return new CelError('join takes a list of strings')
  frame.chargeText(texts.reduce((sum, text) => sum + text.length + separator.length, 0))
  return texts.join(separator)
}

const quoteEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

function quote(frame: Frame, text: string): string {
  frame.chargeText(text.length * 2)
  // oxlint-disable-next-line no-control-regex
  return `"${text.toWellFormed().replaceAll(/[\x07-\r\\"]/g, (char) => quoteEscapes[char] ?? char)}"`
}

function changeCase(frame: Frame, text: string, change: (part: string) => string): string {
  frame.chargeText(text.length)
  return text.replaceAll(/[A-Za-z]+/g, change)
}

function chargePair(frame: Frame, text: string, part: string): void {
  frame.chargeText(text.length * 4)
  frame.chargeSearch(text, part)
}

const overloads: readonly Overload[] = [
  overload('string.charAt(int) -> string', charAt),
  overload('string.indexOf(string) -> int', indexOf),
  overload('string.indexOf(string, int) -> int', indexOf),
  overload('string.lastIndexOf(string) -> int', lastIndexOf),
  overload('string.lastIndexOf(string, int) -> int', lastIndexOf),
  overload('string.substring(int) -> string', substring),
  overload('string.substring(int, int) -> string', substring),
  overload('string.replace(string, string) -> string', replace),
  overload('string.replace(string, string, int) -> string', replace),
  overload('string.split(string) -> list(string)', split),
  overload('string.split(string, int) -> list(string)', split),
  overload('list(string).join() -> string', join),
  overload('list(string).join(string) -> string', join),
  overload('string.lowerAscii() -> string', (frame, text: string) =>
    changeCase(frame, text, (part) => part.toLowerCase()),
  ),
  overload('string.upperAscii() -> string', (frame, text: string) =>
    changeCase(frame, text, (part) => part.toUpperCase()),
  ),
  overload('string.trim() -> string', (frame, text: string) => {
    frame.chargeText(text.length)
    return text.replace(/^\p{White_Space}+/u, '').replace(/(?<!\p{White_Space})\p{White_Space}+$/u, '')
  }),
  overload('string.reverse() -> string', (frame, text: string) => {
    frame.chargeText(text.length * 16)
    return Array.from(text).toReversed().join('')
  }),
  overload('strings.quote(string) -> string', quote),
  overload('string.format(list(dyn)) -> string', formatText),
]

/** cel-go's strings extension. */
export const stringsLibrary: Library = { name: 'strings', overloads }
