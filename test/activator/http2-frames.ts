import net from 'node:net'

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const

export interface ReceivedFrame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Buffer
}

/** One frame of RFC 9113 §4.1, however wrong. */
export function frame(type: number, flags: number, id: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload)
  const header = Buffer.alloc(9)
  header.writeUIntBE(bytes.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(id, 5)
  return Buffer.concat([header, bytes])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Fields as HPACK literals, which touch no table; `indexed`: literals that are added to the table. */
export function fieldBlock(fields: readonly (readonly [string, string])[], indexed = false): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')])
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([indexed ? 0x40 : 0]), text(name), text(value)]))
}

/** A client that sends frames as they are given to it. */
export function frameClient(port: number) {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true })
  const frames: ReceivedFrame[] = []
  const watchers = new Set<() => void>()
  let rest: Buffer = Buffer.alloc(0)
  let closed = false
  const changed = () => {
    for (const watcher of watchers) watcher()
  }
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3)
      frames.push({ type: rest[3]!, flags: rest[4]!, id: rest.readUInt32BE(5), payload: rest.subarray(9, end) })
      rest = rest.subarray(end)
    }
    changed()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
    changed()
  })
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frameType.settings, 0, 0)]))
  const until = (description: string, isSo: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (isSo()) resolve()
        else if (closed) reject(new Error(`the connection ended before ${description}`))
        else return
        watchers.delete(look)
      }
      watchers.add(look)
      look()
    })
  return {
    socket,
    frames,
    send: (...sent: readonly Buffer[]) => void socket.write(Buffer.concat(sent)),
    /** Waits for the first frame of a type on a stream. */
    async frame(type: number, id: number): Promise<ReceivedFrame> {
      const isIt = (each: ReceivedFrame) => each.type === type && each.id === id
      await until(`frame ${type} of stream ${id}`, () => frames.some(isIt))
      return frames.find(isIt)!
    },
    /** Waits until the other side has closed the connection. */
    async closed(): Promise<void> {
      await until('its end', () => closed)
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}
