import { COLON, CR, HTAB, isTargetByte, isTokenByte, isValueByte, LF, SP, spells, word } from './bytes.ts'

/** What a scan found. `incomplete` asks for more bytes; the last three end the connection. */
export type Parsed = 'complete' | 'incomplete' | 'malformed' | 'target-too-long' | 'too-large'

/** What a field means to the proxy; everything else is `other` and passes unread. */
export const fieldKind = {
  other: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  /** Hop-by-hop (RFC 9110 §7.6.1): never forwarded. */
  hop: 5,
  upgrade: 6,
  expect: 7,
  forwardedFor: 8,
  forwardedHost: 9,
  forwardedProto: 10,
  userAgent: 11,
  /** Other fields by which a proxy tells of its client: Forwarded (RFC 7239), X-Forwarded-Port. */
  forwarded: 12,
} as const

export interface HeadLimits {
  readonly headBytes: number
  readonly fields: number
  readonly targetBytes: number
}

export const defaultHeadLimits: HeadLimits = { headBytes: 16_384, fields: 100, targetBytes: 8192 }

const http1 = word('http/1.')
const maxLengthDigits = 15

/**
 * One message head, scanned strictly and in place. A single instance serves a whole thread: what it holds is valid
 * until the next scan, and all offsets point into the bytes scanned.
 */
export class Head {
  readonly #limits: HeadLimits
  /** nameStart, nameEnd, valueStart, valueEnd for each field. */
  readonly #ranges: Int32Array
  readonly kinds: Uint8Array
  /** Fields found. */
  count = 0
  start = 0
  /** Where the first field begins: just behind the start line. */
  fieldsStart = 0
  /** The first byte behind the empty line. */
  end = 0
  /** HTTP/1.`minor`. */
  minor = 1
  methodEnd = 0
  targetStart = 0
  targetEnd = 0
  /** A response's status. */
  status = 0
  /** -1 when no Content-Length was given. */
  contentLength = -1
  chunked = false
  /** Index of the Host field, or -1. */
  host = -1
  /** Index of the last User-Agent field, or -1. */
  userAgent = -1
  /** Whether every field is written `name: value` with nothing around it, so that bytes may be copied as they are. */
  clean = true
  /** Whether there are hop-by-hop fields other than Connection. */
  hasHop = false
  /** Connection fields, and the index of the last. */
  connections = 0
  connection = -1
  hasUpgrade = false
  hasExpect = false
  hasForwarded = false

  constructor(limits: HeadLimits = defaultHeadLimits) {
    this.#limits = limits
    this.#ranges = new Int32Array(limits.fields * 4)
    this.kinds = new Uint8Array(limits.fields)
  }

  /** Whether all its fields may be passed on just as they are. */
  get copyable(): boolean {
    return this.clean && !this.hasHop && !this.hasForwarded && !this.hasUpgrade && this.connections === 0
  }

  nameStart(field: number): number {
    return this.#ranges[field * 4]!
  }
  nameEnd(field: number): number {
    return this.#ranges[field * 4 + 1]!
  }
  valueStart(field: number): number {
    return this.#ranges[field * 4 + 2]!
  }
  valueEnd(field: number): number {
    return this.#ranges[field * 4 + 3]!
  }

  /** Scans a request head. Writes a NUL to `bytes[end]`, which must exist, so that no scan runs past what was read. */
  parseRequest(bytes: Uint8Array, start: number, end: number): Parsed {
    bytes[end] = 0
    this.#reset(start)
    let at = start
    while (isTokenByte[bytes[at]!]) at++
    if (at === end) return this.#short(start, end)
    if (at === start || bytes[at] !== SP) return 'malformed'
    this.methodEnd = at
    this.targetStart = ++at
    while (isTargetByte[bytes[at]!]) at++
    if (at - this.targetStart > this.#limits.targetBytes) return 'target-too-long'
    if (at === end) return this.#short(start, end)
    if (at === this.targetStart || bytes[at] !== SP) return 'malformed'
    this.targetEnd = at
    const line = this.#version(bytes, at + 1, end)
    if (line !== 'complete') return line === 'incomplete' ? this.#short(start, end) : line
    at += 9
    if (at + 1 >= end) return bytes[at] === CR || at >= end ? this.#short(start, end) : 'malformed'
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return 'malformed'
    return this.#fields(bytes, at + 2, end)
  }

  /** Scans a response head, by the same rules. */
  parseResponse(bytes: Uint8Array, start: number, end: number): Parsed {
    bytes[end] = 0
    this.#reset(start)
    const line = this.#version(bytes, start, end)
    if (line !== 'complete') return line === 'incomplete' ? this.#short(start, end) : line
    let at = start + 8
    if (at + 4 >= end) return this.#short(start, end)
    if (bytes[at] !== SP) return 'malformed'
    const status = threeDigits(bytes, at + 1)
    if (status < 100) return 'malformed'
    this.status = status
    at += 4
    if (bytes[at] === SP) {
      at++
      while (isValueByte[bytes[at]!]) at++
    } else {
      this.clean = false
    }
    if (at + 1 >= end) return bytes[at] === CR || at === end ? this.#short(start, end) : 'malformed'
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return 'malformed'
    return this.#fields(bytes, at + 2, end)
  }

  #reset(start: number): void {
    this.start = start
    this.count = 0
    this.contentLength = -1
    this.chunked = false
    this.host = -1
    this.userAgent = -1
    this.clean = true
    this.hasHop = false
    this.connections = 0
    this.connection = -1
    this.hasUpgrade = false
    this.hasExpect = false
    this.hasForwarded = false
  }

  /** More bytes are wanted: fine, unless there are already too many without an end. */
  #short(start: number, end: number): Parsed {
    return end - start >= this.#limits.headBytes ? 'too-large' : 'incomplete'
  }

  #version(bytes: Uint8Array, at: number, end: number): Parsed {
    for (let i = 0; i < http1.length; i++) {
      if (at + i >= end) return 'incomplete'
      const upper = i < 4 ? http1[i]! - 32 : http1[i]!
      if (bytes[at + i] !== upper) return 'malformed'
    }
    if (at + 7 >= end) return 'incomplete'
    this.minor = bytes[at + 7]! - 48
    return this.minor === 1 || this.minor === 0 ? 'complete' : 'malformed'
  }

  #fields(bytes: Uint8Array, from: number, end: number): Parsed {
    const ranges = this.#ranges
    const { fields: maxFields, headBytes } = this.#limits
    this.fieldsStart = from
    let at = from
    for (;;) {
      if (bytes[at] === CR) {
        if (at + 1 >= end) return this.#short(this.start, end)
        if (bytes[at + 1] !== LF) return 'malformed'
        this.end = at + 2
        break
      }
      const nameStart = at
      while (isTokenByte[bytes[at]!]) at++
      if (at === end) return this.#short(this.start, end)
      // An empty name, a space before the colon (RFC 9112 §5.1) and a folded line (§5.2) all end here.
      if (at === nameStart || bytes[at] !== COLON) return 'malformed'
      const nameEnd = at++
      while (bytes[at] === SP || bytes[at] === HTAB) at++
      const valueStart = at
      while (isValueByte[bytes[at]!]) at++
      if (at + 1 >= end) return bytes[at] === CR || at === end ? this.#short(this.start, end) : 'malformed'
      if (bytes[at] !== CR || bytes[at + 1] !== LF) return 'malformed'
      let valueEnd = at
      while (valueEnd > valueStart && (bytes[valueEnd - 1] === SP || bytes[valueEnd - 1] === HTAB)) valueEnd--
      if (valueEnd !== at || valueStart !== nameEnd + 2 || bytes[nameEnd + 1] !== SP) this.clean = false
      at += 2
      if (this.count === maxFields) return 'too-large'
      const slot = this.count * 4
      ranges[slot] = nameStart
      ranges[slot + 1] = nameEnd
      ranges[slot + 2] = valueStart
      ranges[slot + 3] = valueEnd
      if (!this.#classify(bytes, nameStart, nameEnd)) return 'malformed'
      this.count++
    }
    if (this.end - this.start > headBytes) return 'too-large'
    // RFC 9112 §6.3: with both fields a message has two lengths, and the next hop may choose the other (request smuggling).
    return this.chunked && (this.contentLength >= 0 || this.minor === 0) ? 'malformed' : 'complete'
  }

  /**
   * Notes what the field means; false when its value makes the message ambiguous: a second Host (RFC 9112 §3.2), a second or
   * malformed Content-Length (§6.2), or a Transfer-Encoding other than one `chunked` (§6.1).
   */
  #classify(bytes: Uint8Array, start: number, end: number): boolean {
    const field = this.count
    const kind = kindOf(bytes, start, end - start)
    this.kinds[field] = kind
    switch (kind) {
      case fieldKind.other:
        return true
      case fieldKind.host:
        if (this.host >= 0) return false
        this.host = field
        return true
      case fieldKind.contentLength:
        return this.contentLength < 0 && this.#length(bytes, field)
      case fieldKind.transferEncoding:
        if (this.chunked || this.valueEnd(field) - this.valueStart(field) !== chunkedWord.length) return false
        this.chunked = spells(bytes, this.valueStart(field), chunkedWord)
        return this.chunked
      case fieldKind.connection:
        this.connections++
        this.connection = field
        return true
      case fieldKind.userAgent:
        this.userAgent = field
        return true
      case fieldKind.upgrade:
        this.hasUpgrade = true
        return true
      case fieldKind.expect:
        this.hasExpect = true
        return true
      case fieldKind.forwardedFor:
      case fieldKind.forwardedHost:
      case fieldKind.forwardedProto:
      case fieldKind.forwarded:
        this.hasForwarded = true
        return true
      default:
        this.hasHop = true
        return true
    }
  }

  #length(bytes: Uint8Array, field: number): boolean {
    const end = this.valueEnd(field)
    let at = this.valueStart(field)
    if (at === end || end - at > maxLengthDigits) return false
    let length = 0
    for (; at < end; at++) {
      const digit = bytes[at]! - 48
      if (digit < 0 || digit > 9) return false
      length = length * 10 + digit
    }
    this.contentLength = length
    return true
  }
}

const chunkedWord = word('chunked')
const known: readonly (readonly [Uint8Array, number])[] = [
  [word('te'), fieldKind.hop],
  [word('host'), fieldKind.host],
  [word('expect'), fieldKind.expect],
  [word('upgrade'), fieldKind.upgrade],
  [word('connection'), fieldKind.connection],
  [word('forwarded'), fieldKind.forwarded],
  [word('keep-alive'), fieldKind.hop],
  [word('user-agent'), fieldKind.userAgent],
  [word('content-length'), fieldKind.contentLength],
  [word('x-forwarded-for'), fieldKind.forwardedFor],
  [word('proxy-connection'), fieldKind.hop],
  [word('x-forwarded-port'), fieldKind.forwarded],
  [word('x-forwarded-host'), fieldKind.forwardedHost],
  [word('x-forwarded-proto'), fieldKind.forwardedProto],
  [word('transfer-encoding'), fieldKind.transferEncoding],
  [word('proxy-authenticate'), fieldKind.hop],
  [word('proxy-authorization'), fieldKind.hop],
]
const knownByLength = Array.from({ length: 20 }, (_, length) => known.filter(([name]) => name.length === length))

/** The meaning of a field name. Length and first letter rule out most names. */
export function kindOf(bytes: Uint8Array, start: number, length: number): number {
  if (length > 19) return fieldKind.other
  const candidates = knownByLength[length]!
  for (let i = 0; i < candidates.length; i++) {
    const [name, kind] = candidates[i]!
    if ((bytes[start]! | 32) === name[0] && spells(bytes, start, name)) return kind
  }
  return fieldKind.other
}

function threeDigits(bytes: Uint8Array, at: number): number {
  const hundreds = bytes[at]! - 48
  const tens = bytes[at + 1]! - 48
  const ones = bytes[at + 2]! - 48
  if (hundreds < 1 || hundreds > 9 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return -1
  return hundreds * 100 + tens * 10 + ones
}
