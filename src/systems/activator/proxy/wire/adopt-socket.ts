import net, { type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

const readBytes = 65_536

/** Options of every connection, to clients and to pods. Keep-alive ends one whose peer vanished after minutes, not hours. */
export const socketOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  allowHalfOpen: true,
} as const

/**
 * Where every socket of this thread reads into. One byte longer than any read, so that a scan can be stopped by a NUL
 * behind the last byte. Its content is valid only until the reader returns.
 */
export const readBuffer = Buffer.allocUnsafeSlow(readBytes + 1)
const readArea = readBuffer.subarray(0, readBytes)

/** Receives the events of a socket. One object per connection and no closures: ten thousand may be waiting. */
export interface SocketOwner {
  /** `length` bytes have arrived at the start of `readBuffer`. */
  read(length: number): void
  connected(): void
  drained(): void
  /** The other side will send no more. */
  ended(): void
  closed(): void
}

/** A socket with an owner. */
export interface OwnedSocket extends Socket {
  owner: SocketOwner
}

/** Undocumented fields of Node's sockets, used to read accepted sockets into one buffer if they exist. */
interface SocketInside {
  _handle: { useUserBuffer?: unknown } | null
  _server: Server | null
}

const onread = {
  buffer: readArea,
  callback(this: unknown, length: number): boolean {
    // Node calls this on the socket.
    ;(this as OwnedSocket).owner.read(length)
    return true
  },
}

/** Makes an accepted, still paused socket read into the shared buffer, or gives one that does to another owner; returns the socket to use from now on. */
export function adoptSocket(accepted: Socket, owner: SocketOwner): Socket {
  if ('owner' in accepted) {
    accepted.owner = owner
    return accepted
  }
  const inside = accepted as unknown as SocketInside
  const handle = inside._handle
  if (accepted instanceof TLSSocket || typeof handle?.useUserBuffer !== 'function') return readByEvents(accepted, owner)
  inside._handle = null
  const socket = own(
    new net.Socket({ handle, allowHalfOpen: true, onread } as unknown as net.SocketConstructorOpts),
    owner,
  )
  // The server counts its connections by the socket that it made.
  ;(socket as unknown as SocketInside)._server = inside._server
  inside._server = null
  socket.resume()
  return socket
}

/** Opens a connection that reads into the shared buffer. */
export function connectSocket(host: string, port: number, owner: SocketOwner): Socket {
  const socket = own(net.connect({ ...socketOptions, host, port, onread }), owner)
  socket.on('connect', onConnect)
  return socket
}

/** Reads by events, at the cost of one copy: for TLS, and for Node versions with other internals. */
function readByEvents(socket: Socket, owner: SocketOwner): Socket {
  own(socket, owner)
  socket.on('data', (chunk: Buffer) => {
    for (let from = 0; from < chunk.length; from += readBytes) owner.read(chunk.copy(readArea, 0, from))
  })
  socket.resume()
  return socket
}

function own(socket: Socket, owner: SocketOwner): Socket {
  ;(socket as OwnedSocket).owner = owner
  socket.on('drain', onDrain)
  socket.on('end', onEnd)
  socket.on('error', onError)
  socket.on('close', onClose)
  return socket
}

function onConnect(this: Socket): void {
  ;(this as OwnedSocket).owner.connected()
}

function onDrain(this: Socket): void {
  ;(this as OwnedSocket).owner.drained()
}

function onEnd(this: Socket): void {
  ;(this as OwnedSocket).owner.ended()
}

function onError(this: Socket): void {
  this.destroy()
}

function onClose(this: Socket): void {
  ;(this as OwnedSocket).owner.closed()
}
