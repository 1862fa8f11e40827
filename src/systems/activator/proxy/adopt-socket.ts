import net, { type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

const readBytes = 65_536

/**
 * Where every socket of this thread reads into. One byte longer than any read, so that a scan can be stopped by a NUL
 * behind the last byte. Its content is valid only until the reader returns.
 */
export const readBuffer = Buffer.allocUnsafeSlow(readBytes + 1)
const readArea = readBuffer.subarray(0, readBytes)

/** Takes bytes as they arrive: `length` of them at the start of `readBuffer`. */
export type Reader = (length: number) => void

/** What Node keeps on a socket without saying so; used to read accepted sockets into one buffer, if it is there. */
interface SocketInside {
  _handle: { useUserBuffer?: unknown } | null
  _server: Server | null
}

/** Makes an accepted, still paused socket read into the shared buffer; answers the socket to use from now on. */
export function adoptSocket(accepted: Socket, reader: Reader): Socket {
  const inside = accepted as unknown as SocketInside
  const handle = inside._handle
  if (accepted instanceof TLSSocket || typeof handle?.useUserBuffer !== 'function')
    return readByEvents(accepted, reader)
  inside._handle = null
  const socket = new net.Socket({
    handle,
    allowHalfOpen: true,
    onread: {
      buffer: readArea,
      callback: (length: number) => {
        reader(length)
        return true
      },
    },
  } as unknown as net.SocketConstructorOpts)
  // The server counts its connections by the socket that it made.
  ;(socket as unknown as SocketInside)._server = inside._server
  inside._server = null
  socket.resume()
  return socket
}

/** Opens a connection that reads into the shared buffer. */
export function connectSocket(host: string, port: number, reader: Reader): Socket {
  return net.connect({
    host,
    port,
    noDelay: true,
    allowHalfOpen: true,
    onread: {
      buffer: readArea,
      callback: (length) => {
        reader(length)
        return true
      },
    },
  })
}

/** Reads by events, a copy dearer: for TLS, and for a Node whose sockets are made otherwise. */
export function readByEvents(socket: Socket, reader: Reader): Socket {
  socket.on('data', (chunk: Buffer) => {
    for (let from = 0; from < chunk.length; from += readBytes) {
      const length = chunk.copy(readArea, 0, from)
      reader(length)
    }
  })
  socket.resume()
  return socket
}

// Up to this size Node writes a string from its stack, which costs less than a Buffer and its garbage.
const maxStringBytes = 16_384

/** A copy of bytes that will be overwritten, in the form that is cheapest to write. */
export function ownBytes(bytes: Buffer, start: number, end: number): string | Buffer {
  return end - start <= maxStringBytes ? bytes.toString('latin1', start, end) : Buffer.from(bytes.subarray(start, end))
}
