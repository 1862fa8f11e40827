import { limits as apiLimits, type Limits } from '../../../parsing/limits.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'

/** Reads the protobuf wire format. Throws RangeError for reads out of bounds. */
export class ProtobufReader {
  readonly #buffer: Buffer
  /** Offset of the next byte. Public and mutable: decoders move it past nested messages on the hot path. */
  at = 0
  #fieldsLeft: number
  #depthLeft: number

  constructor(bytes: Uint8Array, limits: Pick<Limits, 'nodes' | 'depth'> = apiLimits.apiProtobuf) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#fieldsLeft = limits.nodes
    this.#depthLeft = limits.depth
  }

  /** Reads a message inside another one; throws when they are nested too deep. */
  nested<T>(read: () => T): T {
    if (--this.#depthLeft < 0) throw new ParseRefusal('depth', 'it is nested too deep')
    const value = read()
    this.#depthLeft++
    return value
  }

  get isAtEnd(): boolean {
    return this.at >= this.#buffer.length
  }

  /** A field tag: number × 8 + wire type. */
  tag(): number {
    if (--this.#fieldsLeft < 0) throw new ParseRefusal('nodes', 'it has too many fields')
    const tag = this.varint()
    if (tag < 8 || tag > 0xffffffff) throw new RangeError('a field has an illegal number')
    return tag
  }

  /** A signed integer; beyond 2⁵³ rounded to the nearest double. */
  varint(): number {
    const buffer = this.#buffer
    const first = buffer[this.at++]
    if (first === undefined) throw new RangeError('the message is cut short')
    if (first < 0x80) return first
    let low = first & 0x7f
    let high = 0
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = buffer[this.at++]
      if (byte === undefined) throw new RangeError('the message is cut short')
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high |= bits >>> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) return high === 0 ? low >>> 0 : (high | 0) * 4_294_967_296 + (low >>> 0)
    }
    throw new RangeError('an integer is too long')
  }

  double(): number {
    const value = this.#buffer.readDoubleLE(this.at)
    this.at += 8
    return value
  }

  /** Reads the length of a nested value and returns the offset of its end. */
  enter(): number {
    const length = this.varint()
    const end = this.at + length
    if (length < 0 || end > this.#buffer.length) throw new RangeError('the message is cut short')
    return end
  }

  string(): string {
    const end = this.enter()
    const start = this.at
    this.at = end
    return end - start < 16 ? this.#shortString(start, end) : this.#buffer.toString('utf8', start, end)
  }

  bytes(): Uint8Array {
    const end = this.enter()
    const value = this.#buffer.subarray(this.at, end)
    this.at = end
    return value
  }

  base64(): string {
    const end = this.enter()
    const value = this.#buffer.toString('base64', this.at, end)
    this.at = end
    return value
  }

  /** Skips the value of an unknown field. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.varint()
        return
      case 1:
        this.at += 8
        return
      case 2:
        this.at = this.enter()
        return
      case 5:
        this.at += 4
        return
      default:
        throw new RangeError(`wire type ${tag & 7} is not supported`)
    }
  }

  /** For short ASCII strings a loop is faster than the call into native code. */
  #shortString(start: number, end: number): string {
    let text = ''
    for (let index = start; index < end; index++) {
      const byte = this.#buffer[index] ?? 0
      if (byte >= 0x80) return this.#buffer.toString('utf8', start, end)
      text += String.fromCharCode(byte)
    }
    return text
  }
}
