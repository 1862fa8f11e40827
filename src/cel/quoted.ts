import { SourceFault } from './errors.ts'

const simple: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
}
const hexLength: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 }

/** Reads a string or bytes literal whose opening quote is at `at`; `prefix` holds `r` and `b` as written before it. */
export function readQuoted(source: string, at: number, prefix: string): { value: string | Uint8Array; end: number } {
  const mark = source.startsWith(source.charAt(at).repeat(3), at) ? source.slice(at, at + 3) : source.charAt(at)
  const writer = prefix.includes('b') ? new BytesWriter() : new StringWriter()
  let here = at + mark.length
  while (!source.startsWith(mark, here)) {
    const char = source.charAt(here)
    if (!char) throw new SourceFault('unterminated string', at)
    if (mark.length === 1 && (char === '\n' || char === '\r')) throw new SourceFault('line break in string', here)
    here = char === '\\' && !prefix.includes('r') ? readEscape(source, here, writer) : readPlain(source, here, writer)
  }
  return { value: writer.finish(), end: here + mark.length }
}

interface Writer {
  text(text: string): void
  /** What `\xHH` and `\OOO` stand for: a code point in strings, one byte in bytes. */
  octet(value: number): void
  /** Whether `\u` and `\U` are allowed. */
  readonly takesCodePoints: boolean
  finish(): string | Uint8Array
}

function readPlain(source: string, at: number, writer: Writer): number {
  const text = String.fromCodePoint(source.codePointAt(at) ?? 0)
  writer.text(text)
  return at + text.length
}

function readEscape(source: string, at: number, writer: Writer): number {
  const letter = source.charAt(at + 1)
  const plain = simple[letter]
  if (plain !== undefined) {
    writer.text(plain)
    return at + 2
  }
  const octal = /^[0-3][0-7]{2}/.exec(source.slice(at + 1, at + 4))
  if (octal) {
    writer.octet(Number.parseInt(octal[0], 8))
    return at + 4
  }
  const length = hexLength[letter] ?? 0
  const digits = source.slice(at + 2, at + 2 + length)
  if (!length || digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) {
    throw new SourceFault(`invalid escape \\${letter}`, at)
  }
  writeHex(letter, Number.parseInt(digits, 16), { at, writer })
  return at + 2 + length
}

function writeHex(letter: string, code: number, { at, writer }: { at: number; writer: Writer }): void {
  if (letter === 'x' || letter === 'X') return writer.octet(code)
  const isSurrogate = code >= 0xd800 && code < 0xe000
  if (!writer.takesCodePoints) throw new SourceFault(`\\${letter} is not allowed in bytes`, at)
  if (code > 0x10ffff || isSurrogate) throw new SourceFault('invalid Unicode code point', at)
  writer.text(String.fromCodePoint(code))
}

class StringWriter implements Writer {
  readonly takesCodePoints = true
  #text = ''

  text(text: string): void {
    this.#text += text
  }

  octet(value: number): void {
    this.#text += String.fromCodePoint(value)
  }

  finish(): string {
    return this.#text
  }
}

class BytesWriter implements Writer {
  readonly takesCodePoints = false
  readonly #bytes: number[] = []

  text(text: string): void {
    this.#bytes.push(...new TextEncoder().encode(text))
  }

  octet(value: number): void {
    this.#bytes.push(value)
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes)
  }
}
