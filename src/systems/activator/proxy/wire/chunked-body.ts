import { CR, hexValue, LF } from './bytes.ts'

const maxSizeDigits = 12
const maxTrailerBytes = 8192
/** Of all extensions and padding of a body together: neither carries anything for anyone. */
const maxExtensionBytes = 4096
const TAB = 9
const SPACE = 32
const SEMICOLON = 59
const DELETE = 127
const forbiddenTrailer =
  /^(?:content-length|transfer-encoding|host|connection|te|trailer|upgrade|content-encoding|content-type|content-range|authorization|set-cookie|cookie|expect|keep-alive|proxy-.*)$/
const trailerLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/

type Phase =
  | 'size'
  | 'padding'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer'
  | 'done'
  | 'broken'

/**
 * Finds the end of a chunked body (RFC 9112 §7.1) without decoding it. Chunk extensions are ignored (§7.1.1), but no control
 * character is taken in them: what two parsers could read differently makes it `broken`.
 */
export class ChunkedBody {
  #phase: Phase = 'size'
  #size = 0
  #digits = 0
  #line = ''
  #trailerBytes = 0
  #extensionBytes = 0
  /** Start and end of each run of content in the bytes last followed. */
  readonly runs: number[] = []
  /** The fields behind the content, `name:value` each. */
  trailers: string[] = []

  get done(): boolean {
    return this.#phase === 'done'
  }

  get broken(): boolean {
    return this.#phase === 'broken'
  }

  reset(): void {
    this.#phase = 'size'
    this.#size = 0
    this.#digits = 0
    this.#line = ''
    this.#trailerBytes = 0
    this.#extensionBytes = 0
    if (this.trailers.length > 0) this.trailers = []
  }

  /** Follows the body through the bytes; answers where in them it ended, or `end` while it goes on. */
  follow(bytes: Uint8Array, start: number, end: number): number {
    this.runs.length = 0
    let at = start
    while (at < end && this.#phase !== 'done' && this.#phase !== 'broken') {
      if (this.#phase === 'data') {
        const upTo = Math.min(end, at + this.#size)
        this.runs.push(at, upTo)
        this.#size -= upTo - at
        at = upTo
        if (this.#size === 0) this.#phase = 'data-cr'
      } else {
        this.#step(bytes[at++]!)
      }
    }
    return at
  }

  #step(byte: number): void {
    switch (this.#phase) {
      case 'size':
        return this.#sizeByte(byte)
      case 'padding':
      case 'extension':
        return this.#extensionByte(byte)
      case 'size-lf':
        this.#phase = byte !== LF ? 'broken' : this.#size > 0 ? 'data' : 'trailer'
        this.#digits = 0
        return
      case 'data-cr':
        this.#phase = byte === CR ? 'data-lf' : 'broken'
        return
      case 'data-lf':
        this.#phase = byte === LF ? 'size' : 'broken'
        return
      case 'trailer':
        return this.#trailerByte(byte)
      default:
        return
    }
  }

  #sizeByte(byte: number): void {
    if (byte === CR && this.#digits > 0) {
      this.#phase = 'size-lf'
      return
    }
    if (this.#digits > 0 && (byte === SEMICOLON || byte === SPACE || byte === TAB)) {
      this.#phase = 'padding'
      return this.#extensionByte(byte)
    }
    const digit = hexValue[byte]!
    if (digit < 0 || this.#digits === maxSizeDigits) {
      this.#phase = 'broken'
      return
    }
    this.#size = this.#digits === 0 ? digit : this.#size * 16 + digit
    this.#digits++
  }

  #extensionByte(byte: number): void {
    if (byte === CR) this.#phase = 'size-lf'
    else if (++this.#extensionBytes > maxExtensionBytes || (byte < SPACE && byte !== TAB) || byte === DELETE)
      this.#phase = 'broken'
    else if (byte === SEMICOLON) this.#phase = 'extension'
    else if (this.#phase === 'padding' && byte !== SPACE && byte !== TAB) this.#phase = 'broken'
  }

  #trailerByte(byte: number): void {
    if (++this.#trailerBytes > maxTrailerBytes) {
      this.#phase = 'broken'
      return
    }
    if (byte !== LF) {
      this.#line += String.fromCharCode(byte)
      return
    }
    const line = this.#line
    this.#line = ''
    if (!line.endsWith('\r')) this.#phase = 'broken'
    else if (line === '\r') this.#phase = 'done'
    else if (isTrailer(line.slice(0, -1))) this.trailers.push(line.slice(0, -1))
    else this.#phase = 'broken'
  }
}

/** A stretch of content as one chunk. */
export function chunkOf(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
}

/** The end of a chunked body. */
export function lastChunk(trailers: readonly string[]): string {
  return `0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`
}

/** RFC 9110 §6.5.1: a trailer may add information, never change how the message is framed or routed. */
export function isTrailer(line: string): boolean {
  return trailerLine.test(line) && !forbiddenTrailer.test(line.slice(0, line.indexOf(':')).toLowerCase())
}
