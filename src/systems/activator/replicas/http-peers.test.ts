import { expect, it, vi } from 'vitest'
import { systemClock } from '../../../runtime/time/clock.ts'
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts'
import { HttpPeers, peerIdentity } from './http-peers.ts'
import { servePeers } from './peer-server.ts'

const me = peerIdentity({ name: 'a', host: '127.0.0.1', port: 1 })
const other = peerIdentity({ name: 'b', host: '127.0.0.2', port: 1 })

it('is not the last one while another has said that it is there, until that one goes, too', () => {
  const membership = { members: [me], isLeader: false, look: () => Promise.resolve() }
  const peers = new HttpPeers({ identity: me, token: 'shared', membership, clock: new VirtualClock(0) })
  expect(peers.isLast).toBe(true)
  peers.announced(other)
  expect(peers.isLast).toBe(false)
  peers.retiring(other)
  expect(peers.isLast).toBe(true)
  peers.close()
})

const idle = {
  drain: () => Promise.resolve({ busy: 0, waiting: 0, idleMs: 0 }),
  release: () => {},
  listens: () => false,
  retiring: () => {},
  reported: () => ({ unknown: [], refused: [] }),
  announced: () => {},
  departed: () => {},
}

it('sends no caller to a killed replica once its address refuses connections, and still asks it', async () => {
  const desk = () => servePeers(idle, { token: 'shared', host: '127.0.0.1', port: 0 })
  const [gone, stays] = [await desk(), await desk()]
  const killed = peerIdentity({ name: 'b', host: '127.0.0.1', port: gone.port })
  const alive = peerIdentity({ name: 'c', host: 'localhost', port: stays.port })
  const identity = peerIdentity({ name: 'a', host: '127.0.0.9', port: 1 })
  const membership = { members: [identity, killed, alive], isLeader: true, look: () => Promise.resolve() }
  const peers = new HttpPeers({ identity, token: 'shared', membership, clock: systemClock })
  let changes = 0
  peers.onChange(({ lost }) => {
    expect(lost).toBe(false)
    changes++
  })
  await vi.waitFor(() => expect(peers.leading).toBe(true), 20_000)
  expect(peers.addresses).toEqual(['127.0.0.9', '127.0.0.1', 'localhost'])
  const before = changes
  await gone[Symbol.asyncDispose]()
  await vi.waitFor(() => expect(peers.addresses).toEqual(['127.0.0.9', 'localhost']), { timeout: 10_000 })
  expect(changes).toBeGreaterThan(before)
  // Its seat is not free yet: it may only be cut off, so nothing sleeps without its word.
  await expect(peers.drain('default/web')).rejects.toThrow('ECONNREFUSED')
  peers.close()
  await stays[Symbol.asyncDispose]()
})
