import { maxDepth } from './depth.ts'

/** The error that Go's decoder reports for a text that is not JSON. */
export function goJsonError(text: string | Uint8Array): string {
  // Go's scanner works on bytes, so each byte becomes one character here.
  const scanner = new Scanner(Buffer.from(text).toString('latin1'))
  try {
    scanner.value()
    scanner.space()
    if (!scanner.isDone()) scanner.fail('after top-level value')
    return 'invalid JSON'
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}

class Fault extends Error {}

/** Scans JSON up to the first error. Its recursion is bounded by `maxDepth`. */
class Scanner {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  isDone(): boolean {
    return this.#at >= this.#text.length
  }

  fail(where: string): never {
    const character = this.#text[this.#at]
    if (character === undefined) throw new Fault('unexpected end of JSON input')
    throw new Fault(`invalid character ${quoted(character)} ${where}`)
  }

  space(): void {
    while (/^[ \t\r\n]$/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  value(): void {
    this.space()
    if (++this.#depth > maxDepth) throw new Fault('exceeded max depth')
    const character = this.#text[this.#at] ?? ''
    if (character === '{') this.#object()
    else if (character === '[') this.#array()
    else if (character === '"') this.#string()
    else if (character === '-' || /^\d$/.test(character)) this.#number()
    else if (character === 't') this.#literal('true')
    else if (character === 'f') this.#literal('false')
    else if (character === 'n') this.#literal('null')
    else this.fail('looking for beginning of value')
    this.#depth--
  }

  #object(): void {
    this.#at++
    this.space()
    if (this.#take('}')) return
    for (;;) {
      this.space()
      if (this.#text[this.#at] !== '"') this.fail('looking for beginning of object key string')
      this.#string()
      this.space()
      if (!this.#take(':')) this.fail('after object key')
      this.value()
      this.space()
      if (this.#take('}')) return
      if (!this.#take(',')) this.fail('after object key:value pair')
    }
  }

  #array(): void {
    this.#at++
    this.space()
    if (this.#take(']')) return
    for (;;) {
      this.value()
      this.space()
      if (this.#take(']')) return
      if (!this.#take(',')) this.fail('after array element')
    }
  }

  #string(): void {
    this.#at++
    while (!this.#take('"')) {
      const character = this.#text[this.#at]
      if (character === undefined || character < ' ') this.fail('in string literal')
      this.#at++
      if (character === '\\') this.#escape()
    }
  }

  #escape(): void {
    const character = this.#text[this.#at] ?? ''
    if (!/^["\\/bfnrtu]$/.test(character)) this.fail('in string escape code')
    this.#at++
    if (character !== 'u') return
    for (let digit = 0; digit < 4; digit++, this.#at++) {
      if (!/^[\da-f]$/i.test(this.#text[this.#at] ?? '')) this.fail('in \\u hexadecimal character escape')
    }
  }

  #number(): void {
    this.#take('-')
    if (!this.#take('0')) this.#digits('in numeric literal')
    if (this.#take('.')) this.#digits('after decimal point in numeric literal')
    if (!this.#take('e') && !this.#take('E')) return
    if (!this.#take('+')) this.#take('-')
    this.#digits('in exponent of numeric literal')
  }

  #digits(where: string): void {
    if (!/^\d$/.test(this.#text[this.#at] ?? '')) this.fail(where)
    while (/^\d$/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #literal(word: string): void {
    this.#at++
    for (const expected of word.slice(1)) {
      if (!this.#take(expected)) this.fail(`in literal ${word} (expecting '${expected}')`)
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }
}

function quoted(character: string): string {
  if (character === "'") return String.raw`'\''`
  if (character === '"') return `'"'`
  return `'${shortEscapes[character] ?? escaped(character)}'`
}

const shortEscapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** A byte as Go prints it; unprintable ones as an escape. */
function escaped(character: string): string {
  const code = character.charCodeAt(0)
  const digits = code.toString(16)
  if (code < 0x20 || code === 0x7f) return `\\x${digits.padStart(2, '0')}`
  return (code > 0x7f && code <= 0xa0) || code === 0xad ? `\\u${digits.padStart(4, '0')}` : character
}
