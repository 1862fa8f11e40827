/** A parsed JSON document and its duplicate keys. */
export interface ParsedJson {
  readonly value: unknown
  /** Paths of duplicate keys, such as `spec.containers[0].name`. The last value of a key wins. */
  readonly duplicates: readonly string[]
}

/** Parses JSON text; throws SyntaxError when it is not JSON. */
export function parseJson(text: string): ParsedJson {
  const value = JSON.parse(text) as unknown
  // Fast path: a duplicate key is in the text but not in the value, so equal counts mean there is none.
  if (countColons(text) === countKeys(value)) return { value, duplicates: [] }
  return { value, duplicates: new DuplicateFinder(text).find() }
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

/** The index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let at = start
  for (;;) {
    at = text.indexOf('"', at + 1)
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return at
  }
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

/** Finds duplicate keys in valid JSON text. */
class DuplicateFinder {
  readonly #text: string
  readonly #found = new Set<string>()
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  find(): string[] {
    this.#value('')
    return [...this.#found]
  }

  #value(path: string): void {
    switch (this.#next()) {
      case '{':
        return this.#object(path)
      case '[':
        return this.#array(path)
      case '"':
        this.#at = endOfString(this.#text, this.#at) + 1
        return
      default:
        while (this.#at < this.#text.length && !',]} \t\r\n'.includes(this.#text[this.#at] ?? '')) this.#at++
    }
  }

  #object(path: string): void {
    const seen = new Set<string>()
    this.#at++
    while (this.#next() !== '}') {
      if (this.#text[this.#at] === ',') {
        this.#at++
        this.#next()
      }
      const end = endOfString(this.#text, this.#at)
      const key = JSON.parse(this.#text.slice(this.#at, end + 1)) as string
      this.#at = end + 1
      this.#next()
      this.#at++
      const keyPath = path ? `${path}.${key}` : key
      if (seen.has(key)) this.#found.add(keyPath)
      seen.add(key)
      this.#value(keyPath)
    }
    this.#at++
  }

  #array(path: string): void {
    this.#at++
    for (let index = 0; this.#next() !== ']'; index++) {
      if (this.#text[this.#at] === ',') this.#at++
      this.#value(`${path}[${index}]`)
    }
    this.#at++
  }

  /** Skips white space and returns the next character without consuming it. */
  #next(): string {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++
    return this.#text[this.#at] ?? ''
  }
}
