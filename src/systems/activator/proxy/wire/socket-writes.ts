import net, { type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { OwnedSocket } from './adopt-socket.ts'

// Up to this size Node writes a string from its stack, and what is written mostly fits into the kernel's buffer.
const smallBytes = 16_384

/** Node's undocumented write methods. They return 0, an error number, or leave the request pending. */
interface Handle {
  writeLatin1String(request: null, text: string): number | PendingWrite
  writeBuffer(request: null, bytes: Uint8Array): number | PendingWrite
}

interface PendingWrite {
  socket: OwnedSocket
  /** Keeps what is being written. */
  payload: string | Buffer
  oncomplete: (this: PendingWrite, status: number) => void
  writeStatus?: number | null
}

/** Buffer for small payloads. A socket that cannot send all of it keeps the buffer, and a new one replaces it. */
let outgoing = Buffer.allocUnsafeSlow(smallBytes)

/** Writes a payload, of one character per byte if it is a string. False when the other side cannot keep up. */
export function write(socket: Socket, payload: string | Buffer): boolean {
  const handle = handleFor(socket, payload.length)
  if (!handle) return socket.write(payload as string, 'latin1')
  const written =
    typeof payload === 'string' ? handle.writeLatin1String(null, payload) : handle.writeBuffer(null, payload)
  return written === 0 || wait(socket as OwnedSocket, payload, written)
}

/** Writes bytes that will be overwritten. */
export function writeBytes(socket: Socket, bytes: Buffer, start: number, end: number): boolean {
  const handle = handleFor(socket, end - start)
  if (!handle) return socket.write(ownBytes(bytes, start, end) as string, 'latin1')
  bytes.copy(outgoing, 0, start, end)
  const payload = outgoing.subarray(0, end - start)
  const written = handle.writeBuffer(null, payload)
  if (written === 0) return true
  outgoing = Buffer.allocUnsafeSlow(smallBytes)
  return wait(socket as OwnedSocket, payload, written)
}

/** A copy of bytes that will be overwritten, in the form that is cheapest to write. */
export function ownBytes(bytes: Buffer, start: number, end: number): string | Buffer {
  return end - start <= smallBytes ? bytes.toString('latin1', start, end) : Buffer.from(bytes.subarray(start, end))
}

/** What a small payload can be written with past the stream, which has nothing to say when nothing waits in it. */
function handleFor(socket: Socket, length: number): Handle | undefined {
  if (!writesBare || length > smallBytes || length === 0) return undefined
  if (socket.writableLength > 0 || socket.writableCorked > 0 || socket.writableEnded) return undefined
  if (socket.connecting || socket instanceof TLSSocket) return undefined
  return (socket as unknown as { readonly _handle: Handle | null })._handle ?? undefined
}

/** Handles a partial write: the rest follows when the peer has read, unless the connection breaks. */
function wait(socket: OwnedSocket, payload: string | Buffer, written: number | PendingWrite): false {
  if (typeof written === 'number') {
    socket.destroy()
    return false
  }
  written.socket = socket
  written.payload = payload
  written.oncomplete = onComplete
  if (typeof written.writeStatus === 'number') written.oncomplete(written.writeStatus)
  return false
}

function onComplete(this: PendingWrite, status: number): void {
  if (status < 0) this.socket.destroy()
  else this.socket.owner.drained()
}

/** Whether this Node's own streams write without a request object, as from 26 on: an older one would abort. */
const writesBare = ((): boolean => {
  let bare = false
  const handle = { writeLatin1String: (request: unknown) => ((bare = request === null), 0) }
  const options = { handle, readable: false, manualStart: true }
  new net.Socket(options as unknown as net.SocketConstructorOpts).write('-', 'latin1')
  return bare
})()
