import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { adoptSocket, readBuffer } from '../wire/adopt-socket.ts'

const data = 0
const headers = 1
const priority = 2
const rstStream = 3
const settings = 4
const ping = 6
const windowUpdate = 8
const continuation = 9
const endStream = 0x1
const ack = 0x1
const endHeaders = 0x4
const isPadded = 0x8
const initialWindowSize = 4

const prefaceBytes = 24
const headerBytes = 9
const maxFrameBytes = 16_384
const maxWindow = 0x7fff_ffff
/** A client that makes more stream errors than this has its connection ended. */
const maxFaults = 100

/** Error codes of RFC 9113 §7. */
const errorCode = { protocol: 1, flowControl: 3, streamClosed: 5, frameSize: 6 } as const

type ErrorCode = (typeof errorCode)[keyof typeof errorCode]

/** What is known of a stream that is open. */
interface StreamState {
  /** The client has sent all of its request, or we all of the answer. */
  clientEnded: boolean
  serverEnded: boolean
  /** Bytes of answer that the client takes. */
  window: number
  /** Bytes of request that the client announced and has not sent. */
  left: number
}

/** A frame by its header. */
interface Frame {
  readonly at: number
  readonly length: number
  readonly type: number
  readonly flags: number
  readonly id: number
}

/**
 * Stands between a connection and Node's HTTP/2 server, which ends the whole connection for faults of one stream. It reads the
 * frames of both directions, but no fields, and makes stream errors of what RFC 9113 calls one: the stream is reset on both sides,
 * its siblings go on. To the server such a reset is the client's, so it counts towards the limit on resets.
 */
export class StreamGuard extends Duplex {
  readonly #socket: Socket
  readonly #streams = new Map<number, StreamState>()
  #initialWindow = 65_535
  #faults = 0
  #lastId = 0
  /** Received, but not a whole frame yet or not to be looked at before the head in front of it. */
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes of a frame already decided upon that are still to be received. */
  #passing = prefaceBytes
  #isHeld = false
  /** What follows cannot be understood; the server will say so. */
  #isBlind = false
  /** A field block is still to be continued: no other frame may come between. */
  #inFieldBlock = false
  readonly #sentHeader = Buffer.alloc(headerBytes)
  #sentHeaderBytes = 0
  /** Bytes of the frame being sent that are still to be sent. */
  #sending = 0
  /** Frames of ours that wait for the end of the frame being sent. */
  #resets: Buffer[] = []

  constructor(socket: Socket, read: Buffer) {
    super({ allowHalfOpen: false })
    this.#socket = adoptSocket(socket, {
      read: (length) => this.#receive(Buffer.from(readBuffer.subarray(0, length))),
      connected: () => {},
      drained: () => {},
      ended: () => this.push(null),
      closed: () => this.destroy(),
    })
    this.#receive(read)
  }

  /** The client has announced the length of a stream's body. */
  expectBody(id: number, length: number): void {
    const stream = this.#streams.get(id)
    if (stream) stream.left = length
  }

  override _read(): void {
    if (!this.#isHeld) this.#socket.resume()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(bytes, done)
  }

  override _writev(pieces: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(Buffer.concat(pieces.map(({ chunk }) => chunk)), done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #send(bytes: Buffer, done: (error?: Error | null) => void): void {
    this.#noteSent(bytes)
    this.#socket.write(bytes, done)
    this.#sendResets()
  }

  #receive(received: Buffer): void {
    if (this.#isBlind) return this.#pass(received)
    const bytes = this.#rest.length === 0 ? received : Buffer.concat([this.#rest, received])
    this.#rest = bytes
    if (this.#isHeld) return
    let from = 0
    let at = Math.min(this.#passing, bytes.length)
    this.#passing -= at
    while (!this.#isHeld && this.#passing === 0 && bytes.length - at >= headerBytes) {
      const frame = frameAt(bytes, at)
      this.#isBlind = frame.length > maxFrameBytes
      const end = this.#isBlind ? bytes.length : at + headerBytes + frame.length
      // Data is decided upon by its first bytes.
      if (frame.type === data ? bytes.length < at + headerBytes + 1 && frame.length > 0 : bytes.length < end) break
      const fault = this.#isBlind || this.#inFieldBlock ? undefined : this.#faultOf(frame, bytes)
      if (fault !== undefined && this.#faults++ < maxFaults) {
        this.#pass(bytes.subarray(from, at))
        from = this.#reset(frame, fault) ? at : end
      } else if (frame.type === ping && (frame.flags & ack) !== 0 && frame.id === 0) {
        // We send none, and Node ends the connection for an answer to a ping that it did not send.
        this.#pass(bytes.subarray(from, at))
        from = end
      }
      this.#follow(frame)
      at = Math.min(end, bytes.length)
      this.#passing = end - at
    }
    this.#rest = bytes.subarray(at)
    this.#pass(bytes.subarray(Math.min(from, at), at))
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0 && !this.destroyed && !this.push(bytes)) this.#socket.pause()
  }

  /** What is wrong with a frame, if that concerns its stream alone. */
  #faultOf({ at, length, type, flags, id }: Frame, bytes: Buffer): ErrorCode | undefined {
    const stream = this.#streams.get(id)
    const payload = at + headerBytes
    if (type === settings && (flags & ack) === 0) this.#noteSettings(bytes.subarray(payload, payload + length))
    if (!stream) return undefined
    if (type === data || type === headers) {
      if (stream.clientEnded) return errorCode.streamClosed
      if (type === headers) return undefined
      stream.left -= (flags & isPadded) === 0 ? length : Math.max(0, length - 1 - bytes[payload]!)
      return stream.left < 0 ? errorCode.protocol : undefined
    }
    if (type === priority) return length === 5 ? undefined : errorCode.frameSize
    if (type !== windowUpdate || length !== 4) return undefined
    const increment = bytes.readUInt32BE(payload) & maxWindow
    if (increment === 0) return errorCode.protocol
    stream.window += increment
    return stream.window > maxWindow ? errorCode.flowControl : undefined
  }

  /** Resets a stream on both sides. True when the frame must still reach the server, which needs its fields or counts its bytes. */
  #reset({ id, type }: Frame, code: ErrorCode): boolean {
    const frame = Buffer.from([0, 0, 4, rstStream, 0, 0, 0, 0, 0, 0, 0, 0, code])
    frame.writeUInt32BE(id, 5)
    this.#streams.delete(id)
    this.#pass(frame)
    this.#resets.push(frame)
    this.#sendResets()
    return type === data || type === headers
  }

  /** Learns from a frame that the server gets. */
  #follow({ type, flags, id }: Frame): void {
    if (this.#isBlind) return
    if (type === rstStream) this.#streams.delete(id)
    const isHead = type === headers && !this.#inFieldBlock
    if (isHead || type === continuation) this.#inFieldBlock = (flags & endHeaders) === 0
    if (isHead && !this.#streams.has(id) && id > this.#lastId) {
      this.#lastId = id
      this.#streams.set(id, { clientEnded: false, serverEnded: false, window: this.#initialWindow, left: Infinity })
    }
    const stream = this.#streams.get(id)
    if (stream && (type === data || isHead) && (flags & endStream) !== 0) this.#ended(id, stream, 'clientEnded')
    // The length of the body is known once the server has read the head.
    if (stream && !stream.clientEnded && (isHead || type === continuation) && !this.#inFieldBlock) this.#hold()
  }

  #hold(): void {
    this.#isHeld = true
    this.#socket.pause()
    setImmediate(() => {
      this.#isHeld = false
      this.#receive(Buffer.alloc(0))
      if (!this.#isHeld && this.readableLength < this.readableHighWaterMark) this.#socket.resume()
    })
  }

  #noteSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== initialWindowSize) continue
      const size = payload.readUInt32BE(at + 2)
      for (const stream of this.#streams.values()) stream.window += size - this.#initialWindow
      this.#initialWindow = size
    }
  }

  #ended(id: number, stream: StreamState, side: 'clientEnded' | 'serverEnded'): void {
    stream[side] = true
    if (stream.clientEnded && stream.serverEnded) this.#streams.delete(id)
  }

  /** Follows what the server sends; frames may come in pieces. */
  #noteSent(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#sending > 0) {
        const passed = Math.min(this.#sending, bytes.length - at)
        this.#sending -= passed
        at += passed
        continue
      }
      const copied = bytes.copy(this.#sentHeader, this.#sentHeaderBytes, at, at + headerBytes - this.#sentHeaderBytes)
      at += copied
      this.#sentHeaderBytes += copied
      if (this.#sentHeaderBytes < headerBytes) return
      this.#sentHeaderBytes = 0
      const { length, type, flags, id } = frameAt(this.#sentHeader, 0)
      this.#sending = length
      const stream = this.#streams.get(id)
      if (!stream) continue
      if (type === data) stream.window -= length
      if (type === rstStream) this.#streams.delete(id)
      if ((type === data || type === headers) && (flags & endStream) !== 0) this.#ended(id, stream, 'serverEnded')
    }
  }

  #sendResets(): void {
    if (this.#sending > 0 || this.#sentHeaderBytes > 0 || !this.#socket.writable) return
    for (const frame of this.#resets.splice(0)) this.#socket.write(frame)
  }
}

function frameAt(bytes: Buffer, at: number): Frame {
  return {
    at,
    length: bytes.readUIntBE(at, 3),
    type: bytes[at + 3]!,
    flags: bytes[at + 4]!,
    id: bytes.readUInt32BE(at + 5) & maxWindow,
  }
}
