import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { pause, residentBytes, start } from './processes.ts'
import { wrk } from './wrk.ts'

/** Has a cold route hold this many requests at once; answers what each of them costs. */
export async function holdRequests(count: number): Promise<{ readonly count: number; readonly bytesEach: number }> {
  const port = 19_200
  const proxy = await start([process.execPath, join(import.meta.dirname, 'sojourn-proxy.ts'), String(port), ''], {
    cores: '1',
    port,
  })
  const sockets: Socket[] = []
  try {
    // Work first, so that the heap has taken the room it takes anyway.
    await wrk(port, { connections: 64, seconds: 3, core: '0', host: 'nobody.test' })
    await pause(500)
    const before = residentBytes(proxy.pid)
    await hold(port, count, sockets)
    await pause(1000)
    return { count, bytesEach: (residentBytes(proxy.pid) - before) / count }
  } finally {
    for (const socket of sockets) socket.destroy()
    await proxy.stop()
  }
}

async function hold(port: number, count: number, sockets: Socket[]): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, count - done) }, () => {
        const socket = connect({ host: '127.0.0.1', port })
        sockets.push(socket)
        socket.on('error', () => {})
        return new Promise<void>((resolve) => {
          socket.on('connect', () =>
            socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n\r\n', () => resolve()),
          )
        })
      }),
    )
  }
}
