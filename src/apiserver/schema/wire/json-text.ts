import { endOfString, maxDepth } from './depth.ts'

/** A parsed JSON document, its duplicate keys, and the integers that it changes. */
export interface ParsedJson {
  readonly value: unknown
  /** Integers beyond 2⁵³, as they are in `value`, that the text has otherwise. */
  readonly rounded: readonly number[]
  /** Paths of duplicate keys, such as `spec.containers[0].name`. The last value of a key wins. */
  readonly duplicates: readonly string[]
}

/** Parses JSON text; throws SyntaxError when it is not JSON. */
export function parseJson(text: string): ParsedJson {
  const rounded: number[] = []
  const note = (_key: string, item: unknown, { source = '' }: { readonly source?: string } = {}): unknown => {
    if (isUnsafe(item) && /^-?\d+$/.test(source) && source !== String(item)) rounded.push(item)
    return item
  }
  // A reviver takes ten times as long, and few bodies have so many digits in a row.
  const value = (/\d{16}/.test(text) ? JSON.parse(text, note) : JSON.parse(text)) as unknown
  // Fast path: a duplicate key is in the text but not in the value, so equal counts mean there is none.
  if (countColons(text) === countKeys(value)) return { value, duplicates: [], rounded }
  return { value, duplicates: duplicateKeys(text), rounded }
}

/** Whether it is an integer that neighbours are rounded to. */
export function isUnsafe(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function countColons(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x3a) count++
    else if (code === 0x22) index = endOfString(text, index)
  }
  return count
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item)
    return count
  }
  for (const key of Object.keys(value)) count += 1 + countKeys((value as Record<string, unknown>)[key])
  return count
}

function duplicateKeys(text: string): string[] {
  const walk = new JsonWalk(text)
  walk.document()
  return [...walk.duplicates]
}

/** The error that Go's decoder reports for a text that is not JSON. */
export function goJsonError(text: string | Uint8Array): string {
  try {
    // Go's scanner works on bytes, so each byte becomes one character here.
    new JsonWalk(Buffer.from(text).toString('latin1')).document()
    return 'invalid JSON'
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}

class Fault extends Error {}

/** Walks JSON text up to the first error, and collects repeated keys. Its recursion is bounded by `maxDepth`. */
class JsonWalk {
  readonly duplicates = new Set<string>()
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): void {
    this.#value('')
    this.#space()
    if (this.#at < this.#text.length) this.#fail('after top-level value')
  }

  #fail(where: string): never {
    const character = this.#text[this.#at]
    if (character === undefined) throw new Fault('unexpected end of JSON input')
    throw new Fault(`invalid character ${quoted(character)} ${where}`)
  }

  #space(): void {
    while (/^[ \t\r\n]$/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #value(path: string): void {
    this.#space()
    if (++this.#depth > maxDepth) throw new Fault('exceeded max depth')
    const character = this.#text[this.#at] ?? ''
    const literal = ['true', 'false', 'null'].find((word) => word[0] === character)
    if (character === '{') this.#object(path)
    else if (character === '[') this.#array(path)
    else if (character === '"') this.#string()
    else if (character === '-' || /^\d$/.test(character)) this.#number()
    else if (literal) this.#literal(literal)
    else this.#fail('looking for beginning of value')
    this.#depth--
  }

  #object(path: string): void {
    const seen = new Set<string>()
    this.#each('}', 'after object key:value pair', () => {
      const start = this.#at
      if (this.#text[start] !== '"') this.#fail('looking for beginning of object key string')
      this.#string()
      const key = JSON.parse(this.#text.slice(start, this.#at)) as string
      this.#space()
      if (!this.#take(':')) this.#fail('after object key')
      const keyPath = path ? `${path}.${key}` : key
      if (seen.has(key)) this.duplicates.add(keyPath)
      seen.add(key)
      this.#value(keyPath)
    })
  }

  #array(path: string): void {
    let index = 0
    this.#each(']', 'after array element', () => this.#value(`${path}[${index++}]`))
  }

  #each(end: string, where: string, item: () => void): void {
    this.#at++
    this.#space()
    if (this.#take(end)) return
    for (;;) {
      this.#space()
      item()
      this.#space()
      if (this.#take(end)) return
      if (!this.#take(',')) this.#fail(where)
    }
  }

  #string(): void {
    this.#at++
    while (!this.#take('"')) {
      const character = this.#text[this.#at]
      if (character === undefined || character < ' ') this.#fail('in string literal')
      this.#at++
      if (character === '\\') this.#escape()
    }
  }

  #escape(): void {
    const character = this.#text[this.#at] ?? ''
    if (!/^["\\/bfnrtu]$/.test(character)) this.#fail('in string escape code')
    this.#at++
    if (character !== 'u') return
    for (let digit = 0; digit < 4; digit++, this.#at++) {
      if (!/^[\da-f]$/i.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape')
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
    if (!/^\d$/.test(this.#text[this.#at] ?? '')) this.#fail(where)
    while (/^\d$/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #literal(word: string): void {
    this.#at++
    for (const expected of word.slice(1)) {
      if (!this.#take(expected)) this.#fail(`in literal ${word} (expecting '${expected}')`)
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
