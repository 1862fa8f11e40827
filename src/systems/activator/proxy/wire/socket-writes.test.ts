import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, expect, it } from 'vitest'
import { adoptSocket, type SocketOwner } from './adopt-socket.ts'
import { write, writeBytes } from './socket-writes.ts'

const open: { destroy(): unknown }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.destroy()
})

/** Both ends of a connection: one that we write to, and one that does not read until it is told to. `next` tells what our end hears. */
async function pair(): Promise<{ ours: Socket; theirs: Socket; next: () => Promise<string> }> {
  const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1')
  open.push({ destroy: () => listener.close() })
  await once(listener, 'listening')
  const accepted = once(listener, 'connection') as Promise<[Socket]>
  const theirs = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  theirs.pause()
  theirs.on('error', () => {})
  let tell = (_: string): void => {}
  const events: Promise<string>[] = []
  const expectNext = () => events.push(new Promise((resolve) => (tell = resolve)))
  const happened = (what: string) => {
    tell(what)
    expectNext()
  }
  expectNext()
  const owner: SocketOwner = {
    read() {},
    connected() {},
    drained: () => happened('drained'),
    ended() {},
    closed: () => happened('closed'),
  }
  const ours = adoptSocket((await accepted)[0], owner)
  open.push(ours, theirs)
  return { ours, theirs, next: () => events.shift()! }
}

/** Reads until the other side has ended. */
async function readAll(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.resume()
  await once(socket, 'end')
  return Buffer.concat(pieces)
}

it('keeps bytes that had to wait, though their buffer was overwritten, and the order of all that came behind', async () => {
  const { ours, theirs, next } = await pair()
  const shared = Buffer.alloc(10_000)
  const expected: Buffer[] = []
  const send = (fill: number, payload: () => boolean): boolean => {
    shared.fill(fill)
    expected.push(Buffer.from(shared))
    return payload()
  }
  let full = 0
  for (let piece = 0; full < 30; piece++) {
    const flowing = send(piece % 251, () => writeBytes(ours, shared, 0, shared.length))
    if (!flowing) full++
  }
  send(251, () => write(ours, shared.toString('latin1')))
  const large = Buffer.alloc(100_000, 252)
  expected.push(large, large)
  write(ours, large)
  write(ours, large)
  send(253, () => writeBytes(ours, shared, 0, shared.length))
  shared.fill(0)
  ours.end()
  const received = await readAll(theirs)
  expect(await next()).toBe('drained')
  expect(received.equals(Buffer.concat(expected))).toBe(true)
})

it('writes what is corked in one go, behind what was written before', async () => {
  const { ours, theirs } = await pair()
  write(ours, 'a')
  ours.cork()
  write(ours, 'b')
  expect(ours.writableLength).toBe(1)
  ours.uncork()
  write(ours, 'c')
  ours.end()
  expect((await readAll(theirs)).toString()).toBe('abc')
})

it('closes a connection whose other side is gone, and writes no more', async () => {
  const { ours, theirs, next } = await pair()
  theirs.resetAndDestroy()
  const closed = next()
  for (let left = 1000; !ours.destroyed && left > 0; left--) {
    write(ours, 'x')
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await closed).toBe('closed')
  expect(write(ours, 'x')).toBe(false)
})
