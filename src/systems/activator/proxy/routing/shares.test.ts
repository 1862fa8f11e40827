import { describe, expect, it } from 'vitest'
import type { Address } from './route.ts'
import { shareOf } from './shares.ts'
import { eventually, rawClient, roundTrip, startBackend, startProxy } from '../../../../../test/activator/proxy.ts'

const pods = (count: number, limit?: number): Address[] =>
  Array.from({ length: count }, (_, index) => ({ host: `10.0.0.${index}`, port: 80, ...(limit ? { limit } : {}) }))

describe('the pods of several replicas', () => {
  it('belong to one replica each, and none is left out, where there are enough (C60)', () => {
    const shares = [0, 1, 2].map((index) => shareOf(pods(7, 5), { index, count: 3 }))
    expect(shares.map(({ length }) => length)).toEqual([3, 2, 2])
    expect(new Set(shares.flat().map(({ host }) => host)).size).toBe(7)
    expect(shares.flat().every(({ limit }) => limit === 5)).toBe(true)
  })

  it('are the same for a replica in whatever order it hears of them (C60)', () => {
    const senderIndex = { index: 1, count: 2 }
    expect(shareOf(pods(4, 1).toReversed(), senderIndex)).toEqual(shareOf(pods(4, 1), senderIndex))
  })

  it('are shared where there are too few, each with its part of the bound and never with none (C60)', () => {
    expect(shareOf(pods(2, 10), { index: 2, count: 3 }).map(({ limit }) => limit)).toEqual([3, 3])
    expect(shareOf(pods(1, 1), { index: 2, count: 3 }).map(({ limit }) => limit)).toEqual([1])
  })

  it('are everybody’s where nothing is bounded', () => {
    expect(shareOf(pods(3), { index: 1, count: 3 })).toHaveLength(3)
  })
})

describe('a pod that takes one request at a time', () => {
  const get = 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

  it('gets the next when the last has been answered (C60)', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm({ ...pod.address, limit: 1 })
    const both = [roundTrip(it.port, get), roundTrip(it.port, get)]
    await eventually(() => it.proxy.loadOf('t').waiting === 1 && pod.sockets.length === 1 && pod.received[0] !== '')
    expect(pod.received.join('').split('GET').length - 1).toBe(1)
    pod.sockets[0]?.write(answer)
    await eventually(() => pod.received.join('').split('GET').length - 1 === 2)
    pod.sockets.at(-1)?.write(answer)
    for (const text of await Promise.all(both)) expect(text).toContain('200 OK')
  })

  it('gets the next when the client of the last has left (C60)', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm({ ...pod.address, limit: 1 })
    const leaving = rawClient(it.port)
    leaving.send(get)
    await eventually(() => it.proxy.loadOf('t').busy === 1)
    using staying = rawClient(it.port)
    staying.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    leaving.socket.destroy()
    await eventually(() => pod.sockets.length === 2 && pod.received[1] !== '')
  })

  it('gets more when it may (C60)', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm({ ...pod.address, limit: 1 })
    using first = rawClient(it.port)
    using second = rawClient(it.port)
    for (const client of [first, second]) client.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    it.warm({ ...pod.address, limit: 2 })
    await eventually(() => it.proxy.loadOf('t').busy === 2)
  })
})
