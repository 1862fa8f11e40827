import { expect, it } from 'vitest'
import { VirtualClock } from '../../runtime/virtual-clock.ts'
import { HttpPeers, peerIdentity } from './http-peers.ts'

const me = peerIdentity({ name: 'a', host: '127.0.0.1', port: 1 })
const other = peerIdentity({ name: 'b', host: '127.0.0.2', port: 1 })

it('is not the last one while another has said that it is there, until that one goes, too', () => {
  const membership = { members: [me], held: new Set<number>(), look: () => Promise.resolve() }
  const peers = new HttpPeers({ identity: me, token: 'shared', membership, clock: new VirtualClock(0) })
  expect(peers.isLast).toBe(true)
  peers.announced(other)
  expect(peers.isLast).toBe(false)
  peers.retiring(other)
  expect(peers.isLast).toBe(true)
  peers.close()
})
